"""From a command line, and perhaps a JSON file, to a frozen dataclass."""

import dataclasses
import os
import subprocess
import sys

import pytest

from albert_tf.cli import command_line
from albert_tf.cli.command_line import altered
from albert_tf.cli.command_line import group_of
from albert_tf.cli.command_line import option
from albert_tf.errors import UserError

GO_ON = "To continue, run: python run_x.py '--input_file=a b*'\n"


@dataclasses.dataclass(frozen=True)
class Options:
    """Options of a command."""

    input_file: str = option("What to read.", aliases=("input", "text"))
    steps: int = option("How many.", 10, minimum=1, replaces=("scale",))
    rate: float | None = option("How fast.", None, minimum=0, maximum=1)
    verbose: bool = option("How loud.", False)
    optimizer: str = option("Which.", "lamb", ("adamw", "lamb"))
    scale: float = option("How large.", 1.0)
    name: str | None = option("How it is called.", None)


@dataclasses.dataclass(frozen=True, kw_only=True)
class MoreOptions(Options):
    """Options of a command with a group."""

    rate: float | None = altered(Options, "rate", default=0.5, help="How quick.")
    depth: int = option("How deep.", 1)


def parse(flags, ignored=(), made=Options):
    return command_line.parse(made, ["command", *flags.split()], ignored)


@pytest.fixture
def recipe(tmp_path):
    """Writes a JSON file; returns the flag that names it."""

    def write(text):
        (tmp_path / "recipe.json").write_text(text)
        return f"--config={tmp_path / 'recipe.json'} "

    return write


def test_flags_fill_the_dataclass():
    options = parse("--input_file=a,b --steps=3 --rate 1e-3 --verbose")
    assert options == Options("a,b", 3, 1e-3, True, "lamb")
    assert parse("-text a --noverbose") == parse("--input=a") == Options("a")
    ignored = {"pad_id": "0", "master": None}  # by official scripts
    flags = "--input_file=a --pad_id=0 --master=x"
    assert parse(flags, ignored) == Options("a")
    with pytest.raises(UserError, match="pad_id"):
        parse(flags)
    for rate in (0, 1):  # the least and the most
        assert parse(f"--text=a --rate={rate} --steps=1") == Options("a", 1, rate)


def test_the_config_file_lies_under_the_flags(recipe):
    config = recipe('{"//": "a", "text": "a", "steps": 7, "rate": 1, "//": "b"}')
    assert parse(f"{config} --steps=8") == Options("a", 8, 1, False, "lamb")
    config = recipe('{"input_file": "a", "scale": 2}')
    assert parse(config).scale == 2
    assert parse(f"{config} --steps=8").scale == 1  # which means the same
    assert parse(f"{config} --steps=8 --scale=3").scale == 3


@pytest.mark.parametrize(
    ("flags", "config", "message"),
    [
        ("", '{"steps": 3, "rate": 0.1, "rate": 0.2}', "sets 'rate' twice in one obj"),
        ("", '{"steps": true}', "sets 'steps' to True; expected a whole number."),
        ("", '{"rate": false}', "sets 'rate' to False; expected a number."),
        ("", '{"verbose": 1}', "sets 'verbose' to 1; expected true or false."),
        ("", '{"scale": NaN}', "--scale=nan: expected a finite number"),
        ("", '{"text": "b", "input_file": "b"}', "'text' and 'input_file', which are"),
        ("--steps", "{}", "Missing value for flag --steps; --help explains the flags."),
        ("--rate=1.5", "{}", "--rate=1.5: expected at least 0 and at most 1."),
        ("--rate=-0.1", "{}", "--rate=-0.1: expected at least 0 and at most 1."),
        ("--rate=nan", "{}", "--rate=nan: expected at least 0 and at most 1."),
        ("--steps=0", "{}", "--steps=0: expected at least 1."),
        ("--scale=inf", "{}", "--scale=inf: expected a finite number."),
        ("--optimizer=x", "{}", "--optimizer=x: expected one of adamw, lamb."),
        ("--text=b", "{}", "--text is another name of --input_file; give"),
    ],
)
def test_mistakes_are_one_sentence(flags, config, message, recipe):
    with pytest.raises(UserError) as error:
        parse(f"--input_file=a {recipe(config)} {flags}")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("error", "status", "printed"),
    [
        (UserError("The file x is empty."), 1, "error: The file x is empty.\n"),
        (
            UserError("steps=3 exceeds rate=1; --steps=3 or x.steps=2 or 'steps=1'."),
            1,
            "error: --steps=3 exceeds --rate=1; --steps=3 or x.steps=2 or 'steps=1'.\n",
        ),
        (FileExistsError(17, "File exists", "out"), 1, "error: out: File exists.\n"),
        (OSError(28, "No space left"), 1, "error: No space left.\n"),
        (KeyboardInterrupt(), 130, f"\ninterrupted\n{GO_ON}"),
        (SystemExit(143), 143, GO_ON),
        (SystemExit(3), 3, ""),
        (OSError("which the system did not raise"), None, ""),
    ],
)
def test_run_turns_errors_into_a_status(capsys, monkeypatch, error, status, printed):
    monkeypatch.setattr(sys, "orig_argv", ["python", "run_x.py", "--input_file=a b*"])

    def command(options):
        raise error

    with pytest.raises(SystemExit if status else type(error)) as stop:
        command_line.run(Options, command, argv=["command", "--input_file=a"])
    assert getattr(stop.value, "code", None) == status
    assert capsys.readouterr().err == printed


_PRINTS = """
import logging, sys
from albert_tf.cli import command_line
from tests.cli.test_command_line import Options

def command(options):
    for path in sys.argv[1:]:
        for level in (logging.INFO, logging.WARNING):
            record = ("absl", level, path, 1, "%s %s", (level, path), None)
            logging.getLogger("absl").handle(logging.LogRecord(*record))
    print("caf\\xe9 \\u4e2d")
    raise command_line.UserError("caf\\xe9")

command_line.run(Options, command, argv=["x", "--input_file=a"])
"""


def test_what_a_terminal_gets(project):
    """Our own information, warnings of all, and escapes for letters that it lacks."""
    theirs, *ours = paths = (
        "/x/site-packages/y.py",
        "/x/albert_tf/y.py",
        "/x/site-packages/albert_tf/y.py",
    )
    done = subprocess.run(
        [sys.executable, "-c", _PRINTS, *paths],
        cwd=project,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    *logged, error = done.stderr.decode("ascii").splitlines()
    own = [f"{level} {path}" for path in ours for level in (20, 30)]
    shown = [line.split(maxsplit=1)[1] for line in logged]
    assert shown == [f"30 {theirs}", *own]
    assert done.stdout == b"caf\\xe9 \\u4e2d\n"
    assert (error, done.returncode) == ("error: caf\\xe9", 1)


def test_a_group_is_taken_out_of_options():
    options = parse("--input=a --depth=2", made=MoreOptions)
    assert options.depth == 2
    assert group_of(Options, options) == Options("a", rate=0.5)
    with pytest.raises(UserError, match="--rate=2.0: expected .* at most 1"):
        parse("--input=a --rate=2", made=MoreOptions)
