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

# Of each way to read a model one command, with its flags; "{}" stands for the model.
_READING = {
    "pretrain": "--init_checkpoint={} --input_file=texts.txt --output_dir=out "
    "--albert_config_file=config.json --max_seq_length=16 --max_predictions_per_seq=2",
    "classify": "--init_checkpoint={} --task_name=custom --data_dir=. --output_dir=out "
    "--do_train --max_seq_length=16",
    "search": "--model_dir={} --index_dir=index --corpus_file=texts.txt",
    "fill-mask": "--model_dir={} [MASK]",
    "embed": "--model_dir={} --input_file=texts.txt --output_file=x.npy",
    "tools.inspect_layers": "--model_dir={} --output_dir=out text",
    "export": "--model_dir={} --export_dir=served",
    "serve": "--model_dir={}",
    "convert": "--from={} --to=out",
    "upload": "--model_dir={} --repo=owner/name",
    "tools.verify": "{}",
}


def test_the_folder_of_several_runs_is_no_model(tmp_path, vocabulary):
    (tmp_path / "run_0" / "model").mkdir(parents=True)
    for name in ("head.json", "model.weights.h5", "albert_config.json"):
        (tmp_path / "run_0" / "model" / name).touch()
    (tmp_path / "run_0" / "history.json").touch()
    for read in (albert_tf.Predictor, albert_tf.AlbertModel.from_pretrained):
        with pytest.raises(UserError, match=r"did you mean .*run_0/model\?"):
            read(tmp_path)
    (tmp_path / "vocab.txt").write_text(vocabulary("a"))  # of its own
    assert load_tokenizer(tmp_path).vocab_size == 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tiny_config, vocabulary):
    """A folder with the model directory `flipped`: a byte of its weights is another."""
    folder = tmp_path_factory.mktemp("reading")
    (folder / "texts.txt").write_text("a text\n")
    for role in ("train", "dev"):
        (folder / f"{role}.tsv").write_text("sentence\tlabel\na\tno\nb\tyes\n")
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
    monkeypatch.setenv("HF_TOKEN", "hf_secret")  # asked for before weights are read
    monkeypatch.chdir(folder)
    flags = _READING[command].format("flipped").split()

    def said(*others):
        with pytest.raises(SystemExit) as ended:
            if command in commands.COMMANDS:
                commands.main(["albert-tf", command, *flags, *others])
            else:
                pkgutil.resolve_name(f"{command}:main")([command, *flags, *others])
        assert ended.value.code == 1
        return capsys.readouterr().err.splitlines()[-1]

    message = "flipped/model.weights.h5 is damaged: its SHA-256 differs from the one"
    assert message in said()
    assert said("--noverify_checksum") == "error: The weights are accepted."
