"""Command lines that read a model: a run's folder in its place, and damaged weights."""

import json
import pkgutil

import numpy as np
import pytest

import albert_tf
from albert_tf.checkpoints import model_directory
from albert_tf.cli import commands
from albert_tf.errors import UserError
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.tokenization import load_tokenizer

# The flags of each command; "{}" stands for the model.
_READING = {
    "pretrain": "--init_checkpoint={} --input_file=texts.txt --output_dir=out "
    "--albert_config_file=config.json --max_seq_length=16 --max_predictions_per_seq=2",
    "classify": "--init_checkpoint={} --task_name=custom --data_dir=. --output_dir=out "
    "--do_train --max_seq_length=16",
    "squad": "--init_checkpoint={} --train_file=squad.json --predict_file=squad.json "
    "--output_dir=out --do_train --max_seq_length=16 --max_query_length=3",
    "race": "--init_checkpoint={} --task_name=custom --data_dir=choices "
    "--output_dir=out --do_train --max_seq_length=16 --max_qa_length=8",
    "tag": "--init_checkpoint={} --data_dir=tags --output_dir=out --do_train "
    "--max_seq_length=16 --doc_stride=4",
    "similarity": "--init_checkpoint={} --data_dir=similar --output_dir=out "
    "--do_train --max_seq_length=16",
    "fill-mask": "--model_dir={} [MASK]",
    "minimal-pairs": "--model_dir={} --input_file=pairs.tsv",
    "embed": "--model_dir={} --input_file=texts.txt --output_file=x.npy",
    "tools.inspect_layers": "--model_dir={} --output_dir=out text",
    "tools.early_exit": "--model_dir={} --eval_file=dev.tsv --output_dir=out",
    "export": "--model_dir={} --export_dir=served",
    "serve": "--model_dir={}",
    "convert": "--from={} --to=out",
    "tools.verify": "{}",
}
# They read no weights.
_OTHERS = {"compare", "count-tokens", "vocab", "data", "describe", "squad-scores"}


def _said_by(command, flags, capsys):
    """Returns the last line that a command of `albert-tf`, or a module, prints."""
    with pytest.raises(SystemExit) as ended:
        if command in commands.COMMANDS:
            commands.main(["albert-tf", command, *flags])
        else:
            pkgutil.resolve_name(f"{command}:main")([command, *flags])
    assert ended.value.code == 1
    return capsys.readouterr().err.splitlines()[-1]


def _write_inputs(folder):
    """Writes the files into a folder, which is to be the working directory."""
    (folder / "texts.txt").write_text("a text\n")
    pairs = "sentence_good\tsentence_bad\na\tb\n"
    (folder / "pairs.tsv").write_text(pairs)
    answer = {"text": "a", "answer_start": 0}
    question = {"id": "q", "question": "b", "answers": [answer]}
    paragraph = {"context": "a", "qas": [question]}
    squad = {"data": [{"title": "t", "paragraphs": [paragraph]}]}
    (folder / "squad.json").write_text(json.dumps(squad))
    for kind in ("tags", "choices", "similar"):
        (folder / kind).mkdir()
    for role in ("train", "dev"):
        line = '{"tokens": ["a", "b"], "tags": ["B-X", "O"]}\n'
        (folder / "tags" / f"{role}.jsonl").write_text(line)
        (folder / f"{role}.tsv").write_text("sentence\tlabel\na\tno\nb\tyes\n")
        line = '{"context": "a", "options": ["b", "c"], "label": 0}\n'
        (folder / "choices" / f"{role}.jsonl").write_text(line)
        (folder / "similar" / f"{role}.tsv").write_text("anchor\tpositive\na\tb\n")


def test_all_commands_are_here():
    installed = {name for name in _READING if not name.startswith("tools.")}
    assert installed | _OTHERS == commands.COMMANDS.keys()


@pytest.fixture
def run_folder(tmp_path, monkeypatch):
    """The folder k99 of a run, whose model is not read."""
    (tmp_path / "k99" / "model").mkdir(parents=True)
    for name in ("head.json", "model.weights.h5", "albert_config.json"):
        (tmp_path / "k99" / "model" / name).touch()
    (tmp_path / "k99" / "history.json").touch()
    _write_inputs(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "k99"


@pytest.mark.parametrize("command", _READING)
def test_the_folder_of_a_run_is_not_its_model(command, run_folder, capsys):
    said = _said_by(command, _READING[command].format("k99").split(), capsys)
    assert said == "error: k99 holds no model itself; did you mean k99/model?"


@pytest.mark.parametrize(
    "read",
    [
        albert_tf.Predictor,
        albert_tf.TextClassifier,
        albert_tf.AlbertModel.from_pretrained,
        load_tokenizer,
    ],
)
def test_in_python(read, run_folder):
    with pytest.raises(UserError, match=r"did you mean .*k99/model\?"):
        read(run_folder)


def test_the_first_of_several_runs(run_folder):
    run_folder.rename(run_folder.with_name("run_0"))
    with pytest.raises(UserError, match=r"did you mean .*run_0/model\?"):
        albert_tf.Predictor(run_folder.parent)


def test_a_folder_with_a_vocabulary_of_its_own(run_folder, vocabulary):
    (run_folder / "vocab.txt").write_text(vocabulary("a"))
    assert load_tokenizer(run_folder).vocab_size == 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tiny_config, vocabulary):
    """A folder with the model directory `flipped`: a byte of its weights is another."""
    folder = tmp_path_factory.mktemp("reading")
    _write_inputs(folder)
    (folder / "pieces.txt").write_text(vocabulary("abc"))
    tokenizer = load_tokenizer(folder / "pieces.txt")
    config = tiny_config(vocab_size=tokenizer.vocab_size, num_hidden_layers=1)
    config.to_json_file(folder / "config.json")
    model = AlbertForPreTraining(config)
    # The byte is one of the weights, not of the structure of the file.
    kernel = model.albert.pooler.kernel
    kernel.assign(np.full(kernel.shape, 0.7182818, "float32"))
    model.save_pretrained(folder / "flipped", tokenizer)
    weights = folder / "flipped" / "model.weights.h5"
    data = bytearray(weights.read_bytes())
    data[data.index(np.float32(0.7182818).tobytes())] ^= 1
    weights.write_bytes(data)
    for name in ("inputs", "expected"):
        np.savez(folder / "flipped" / f"{name}.npz", input_ids=np.zeros((1, 5)))
    return folder


@pytest.mark.parametrize("command", _READING)
def test_a_flipped_byte_is_refused_unless_a_flag_says(
    command, folder, capsys, monkeypatch
):
    def read_on(*_):
        raise UserError("The weights are accepted.")

    # What follows the comparison; so that the test needs no training.
    monkeypatch.setattr(model_directory, "_check_size", read_on)
    monkeypatch.chdir(folder)
    flags = _READING[command].format("flipped").split()
    said = _said_by(command, flags, capsys)
    assert (
        "flipped/model.weights.h5 is damaged: its SHA-256 differs from the one in"
        in said
    )
    said = _said_by(command, [*flags, "--noverify_checksum"], capsys)
    assert said == "error: The weights are accepted."
