"""--noverify_checksum: a flipped byte is refused without it and accepted with it."""

import numpy as np
import pytest

from albert_tf.checkpoints import model_directory
from albert_tf.cli import commands
from albert_tf.errors import UserError
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.tokenization import load_tokenizer
from tests.cli.reading_commands import READING
from tests.cli.reading_commands import run_command
from tests.cli.reading_commands import write_inputs


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tiny_config, vocabulary):
    """A folder with the model directory `flipped`: a byte of its weights is another."""
    folder = tmp_path_factory.mktemp("reading")
    write_inputs(folder)
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


def said_by(command, flags, capsys):
    with pytest.raises(SystemExit) as ended:
        run_command(command, flags)
    assert ended.value.code == 1
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("command", READING)
def test_every_command_that_reads_models(command, folder, capsys, monkeypatch):
    def read_on(*_):
        raise UserError("The weights are accepted.")

    # What follows the comparison; so that the test needs no training.
    monkeypatch.setattr(model_directory, "_check_size", read_on)
    monkeypatch.chdir(folder)
    flags = READING[command].format("flipped").split()
    said = said_by(command, flags, capsys)
    assert (
        "flipped/model.weights.h5 is damaged: its SHA-256 differs from the one in"
        in said
    )
    said = said_by(command, [*flags, "--noverify_checksum"], capsys)
    assert said == "error: The weights are accepted."


def test_the_byte_is_read(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    flags = ["--from=flipped", f"--to={tmp_path}", "--noverify_checksum"]
    commands.main(["albert-tf", "convert", *flags])
    converted = AlbertForPreTraining.from_pretrained(tmp_path)
    kernel = np.array(converted.albert.pooler.kernel)
    assert np.sum(kernel != np.float32(0.7182818)) == 1
