"""Command lines that read a model: a run's folder in its place, and damaged weights."""

import pkgutil

import numpy as np
import pytest

import albert_tf
from albert_tf.checkpoints import model_directory
from albert_tf.cli import commands
from albert_tf.errors import UserError
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.tokenization import load_tokenizer
from tests.corpus import write_squad

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
    "rank": "--init_checkpoint={} --data_dir=ranked --output_dir=out --do_train "
    "--max_seq_length=16",
    "mine": "--model_dir={} --pairs=similar/train.tsv --output_file=x.jsonl",
    "search": "--model_dir={} --index_dir=index --corpus_file=texts.txt",
    "fill-mask": "--model_dir={} [MASK]",
    "minimal-pairs": "--model_dir={} --input_file=pairs.tsv",
    "embed": "--model_dir={} --input_file=texts.txt --output_file=x.npy",
    "tools.inspect_layers": "--model_dir={} --output_dir=out text",
    "tools.early_exit": "--model_dir={} --eval_file=dev.tsv --output_dir=out",
    "export": "--model_dir={} --export_dir=served",
    "serve": "--model_dir={}",
    "convert": "--from={} --to=out",
    "upload": "--model_dir={} --repo=owner/name",
    "tools.verify": "{}",
}
# They read no weights.
_OTHERS = {"compare", "count-tokens", "vocab", "data", "describe", "models"}
_OTHERS |= {"squad-scores"}


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
    (folder / "pairs.tsv").write_text("sentence_good\tsentence_bad\na\tb\n")
    write_squad(folder, ("a", [("q", "b", [("a", 0)])]))
    for kind in ("tags", "choices", "similar", "ranked"):
        (folder / kind).mkdir()
    for role in ("train", "dev"):
        line = '{"tokens": ["a", "b"], "tags": ["B-X", "O"]}\n'
        (folder / "tags" / f"{role}.jsonl").write_text(line)
        (folder / f"{role}.tsv").write_text("sentence\tlabel\na\tno\nb\tyes\n")
        line = '{"context": "a", "options": ["b", "c"], "label": 0}\n'
        (folder / "choices" / f"{role}.jsonl").write_text(line)
        (folder / "similar" / f"{role}.tsv").write_text("anchor\tpositive\na\tb\n")
        lines = "query\ttext\tlabel\na\tb\t1\na\tc\t0\n"
        (folder / "ranked" / f"{role}.tsv").write_text(lines)


def test_all_commands_are_here():
    installed = {name for name in _READING if not name.startswith("tools.")}
    assert installed | _OTHERS == commands.COMMANDS.keys()


@pytest.fixture(autouse=True)
def token(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")  # asked for before weights are read


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


def test_in_python_nor_is_that_of_several_runs(run_folder, vocabulary):
    run_folder.rename(run_folder.with_name("run_0"))
    for read in (albert_tf.Predictor, albert_tf.AlbertModel.from_pretrained):
        with pytest.raises(UserError, match=r"did you mean .*run_0/model\?"):
            read(run_folder.parent)
    (run_folder.parent / "vocab.txt").write_text(vocabulary("a"))  # of its own
    assert load_tokenizer(run_folder.parent).vocab_size == 6


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
    message = "flipped/model.weights.h5 is damaged: its SHA-256 differs from the one"
    assert message in _said_by(command, flags, capsys)
    said = _said_by(command, [*flags, "--noverify_checksum"], capsys)
    assert said == "error: The weights are accepted."
