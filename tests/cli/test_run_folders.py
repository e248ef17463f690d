"""The output folder of a run in the place of its model: the message names the model."""

import pytest

import albert_tf
from albert_tf.cli import commands
from albert_tf.errors import UserError
from albert_tf.tokenization import load_tokenizer
from tests.cli.reading_commands import OTHERS
from tests.cli.reading_commands import READING
from tests.cli.reading_commands import run_command
from tests.cli.reading_commands import write_inputs


@pytest.fixture
def run_folder(tmp_path, monkeypatch):
    """The folder k99 of a run, whose model is not read."""
    (tmp_path / "k99" / "model").mkdir(parents=True)
    for name in ("head.json", "model.weights.h5", "albert_config.json"):
        (tmp_path / "k99" / "model" / name).touch()
    (tmp_path / "k99" / "history.json").touch()
    write_inputs(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "k99"


def test_all_commands_are_here():
    installed = {name for name in READING if not name.startswith("tools.")}
    assert installed | OTHERS == commands.COMMANDS.keys()


@pytest.mark.parametrize("command", [*READING, "describe"])
def test_commands(command, run_folder, capsys):
    flags = READING.get(command, "--albert_config_file={}").format("k99").split()
    with pytest.raises(SystemExit) as ended:
        run_command(command, flags)
    assert ended.value.code == 1
    meant = "k99 holds no model itself; did you mean k99/model?"
    if command == "describe":
        meant = "k99 is a folder; did you mean k99/model/albert_config.json?"
    assert capsys.readouterr().err.splitlines()[-1] == f"error: {meant}"


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
