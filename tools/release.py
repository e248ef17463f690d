"""Builds and checks a release, and installs and runs it on every available Python.

  python -m tools.release --output_dir=dist

`make release` runs it. It builds the source archive and the wheel of the committed tree
into --output_dir. A fresh environment for each Python of --pythons gets the wheel and
follows a short path through the commands, from text to a served answer; one more gets
the source archive, and one the oldest packages that pyproject.toml allows
(constraints/oldest.txt). The licences of all that was installed are listed. Nothing is
uploaded. make installs what this needs: `pip install -e '.[release]'`.
"""

import dataclasses
import pathlib
import shutil
import subprocess
import sys
import tempfile

from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.errors import UserError

_ROOT = pathlib.Path(__file__).parents[1]
_TEXT = "The cat sat on the mat.\nIt was warm there.\n\nThe dog ran to the park.\n\n"
_SHAPE = (
    '{"vocab_size": 30, "embedding_size": 8, "hidden_size": 16, '
    '"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, '
    '"max_position_embeddings": 32}'
)
_ANSWER = """
import albert_tf
classifier = albert_tf.TextClassifier("pretrained", max_length=16)
classifier.fit(["a fine film", "dull"], ["glad", "sad"])
classifier.save_pretrained("tuned")
assert albert_tf.Predictor("tuned")("a fine plot")["label"] in ("glad", "sad")
"""
_PATH = (
    "albert-tf --version",
    "albert-tf describe --albert_config_file=albert/base_v2",
    "albert-tf vocab --input_file=text.txt --output_prefix=mine --vocab_size=30",
    "albert-tf data --input_file=text.txt --spm_model_file=mine.model "
    "--output_file=data.tfrecord --max_seq_length=16",
    "albert-tf pretrain --input_file=data.tfrecord --spm_model_file=mine.model "
    "--albert_config_file=shape.json --output_dir=pretrained --train_batch_size=2 "
    "--num_train_steps=2 --use_xla=false",
    "python answer.py",
    "albert-tf export --model_dir=tuned --export_dir=served",
)


@dataclasses.dataclass(frozen=True)
class Options:
    """Place of the release, and the Pythons that try it."""

    output_dir: str = option("Empty or new folder for the built files.", "dist")
    pythons: str = option(
        "Comma-separated interpreters; those that are not there are told and left out.",
        "python3.10,python3.11,python3.12,python3.13",
    )


def release(options):
    """Builds, checks, installs and runs; prints a line for each as it is done.

    Raises:
        UserError: something is not committed, the folder holds files, no interpreter
            is there, or a step fails.
    """
    folder = pathlib.Path(options.output_dir).absolute()
    if folder.exists() and any(folder.iterdir()):
        raise UserError(f"--output_dir={options.output_dir} holds files; remove them.")
    if _call(["git", "status", "--porcelain"], _ROOT).strip():
        raise UserError("Some changes are not committed; a release is of a commit.")
    # The oldest first: newer ones have no wheels of the oldest packages.
    found = sorted(filter(_runs, options.pythons.split(",")), key=_version)
    if not found:
        raise UserError(f"--pythons={options.pythons}: none of them runs here.")
    done = []
    with tempfile.TemporaryDirectory() as place:
        archive, wheel = _build(pathlib.Path(place), folder)
        done += [f"built {archive.name}", f"built {wheel.name} from it"]
        oldest = ["--constraint", str(_ROOT / "constraints" / "oldest.txt")]
        trials = [
            *((python, [wheel]) for python in found),
            (found[0], [archive]),
            (found[0], [wheel, *oldest]),
        ]
        for number, (python, installed) in enumerate(trials):
            trial = pathlib.Path(place, str(number))
            done.append(_trial(trial, python, installed))
            print(done[-1], flush=True)
            if number < len(trials) - 1:
                shutil.rmtree(trial)
        print(_licences(trial))
    print("\n".join([*done, f"Nothing was uploaded; the files are in {folder}."]))


def _build(place, folder):
    """Builds the committed tree; returns the source archive and its wheel."""
    source = place / "source"
    _call(["git", "clone", "--quiet", _ROOT, source], place)
    _call([sys.executable, "-m", "build", "--outdir", folder, source], place)
    (archive,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    _call([sys.executable, "-m", "twine", "check", "--strict", archive, wheel], place)
    return archive, wheel


def _trial(place, python, installed):
    """Installs into a fresh environment and follows the path; returns a line on it."""
    _call([python, "-m", "venv", place], _ROOT)
    programs = place / "bin"
    pip = [programs / "python", "-m", "pip", "--quiet", "--disable-pip-version-check"]
    _call([*pip, "install", *installed], place)
    work = place / "work"
    work.mkdir()
    (work / "text.txt").write_text(_TEXT * 40)
    (work / "shape.json").write_text(_SHAPE)
    (work / "answer.py").write_text(_ANSWER)
    for line in _PATH:
        program, *arguments = line.split()
        _call([programs / program, *arguments], work)
    names = ("tensorflow", "keras", "numpy")
    versions = "import importlib.metadata as m; " + "; ".join(
        f"print('{name}', m.version('{name}'))" for name in names
    )
    found = _call([programs / "python", "-c", versions], work).split("\n")
    packages = " ".join(pathlib.Path(item).name for item in map(str, installed))
    return f"{python}: {packages}: {', '.join(filter(None, found))}: the path runs"


def _licences(place):
    """Returns a table of the installed packages and their licences."""
    command = [sys.executable, "-m", "piplicenses", "--python", place / "bin/python"]
    return _call([*command, "--order=license", "--format=plain-vertical"], place)


def _runs(python):
    """Returns whether an interpreter exists; prints a line if it does not."""
    path = shutil.which(python)
    works = path and subprocess.run([path, "-c", ""], capture_output=True).returncode
    if works != 0:
        print(f"{python} is not there, and left out.")
    return works == 0


def _version(python):
    """Returns the version of an interpreter, a number that orders them."""
    return int(_call([python, "-c", "import sys; print(sys.hexversion)"], _ROOT))


def _call(command, folder):
    """Runs a command; returns its output.

    Raises:
        UserError: it fails.
    """
    command = list(map(str, command))
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
        raise UserError(f"{' '.join(command)} ended with status {done.returncode}.")
    return done.stdout


if __name__ == "__main__":
    run(Options, release)
