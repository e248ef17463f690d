"""Faults that fine-tuning finds before it trains; results that a fault leaves."""

import json
import os

import pytest

from albert_tf.cli.command_line import parse
from albert_tf.errors import UserError
from albert_tf.pretraining.flags import PretrainingOptions
from albert_tf.tasks.classification.flags import ClassifierOptions
from albert_tf.tasks.classification.run import read_raw_texts
from albert_tf.tasks.question_answering.flags import SquadOptions
from albert_tf.tasks.tagging.flags import TaggingOptions
from tests.tasks.conftest import APPLIED


@pytest.fixture
def refused(flags, tmp_path, monkeypatch):
    """Runs with flags that must be refused before anything is trained."""

    def run(message, **changes):
        monkeypatch.chdir(tmp_path)
        before = set(tmp_path.iterdir())
        with pytest.raises(UserError, match=message):
            flags(**changes)
        assert set(tmp_path.iterdir()) == before

    return run


def test_what_would_be_read_after_training(refused, tmp_path):
    path, texts = tmp_path / "data" / "test.tsv", tmp_path / "texts.txt"
    asked = {"do_train": True, "do_predict": True}
    refused("texts.txt cannot be read", input_file=texts, **asked)
    texts.write_text("")
    refused("texts.txt is empty", input_file=texts, **asked)
    changes = {"input_text": "good", "input_text_pair": "film"}
    refused("has 2 text.s., but the model takes 1", **changes, **asked)
    path.write_text(path.read_text() + "?\tgood film\n")
    message = "test.tsv, line 22: the label '[?]' is unknown"
    for what in ("do_eval", "do_predict"):
        refused(message, do_train=True, **{what: True})
    path.unlink()
    refused("has no test table to predict; add it", **asked)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"output_dir": "ram://a"}, "--output_dir=ram://a is not on a disk"),
        ({"cached_dir": "ram://a"}, "--cached_dir=ram://a is not on a disk"),
        ({"input_text": "a", "input_file": "b"}, "--input_file, not both; give one"),
        ({"input_text_pair": "b"}, "--input_text_pair needs --input_text"),
        ({"input_text": "a", "do_predict": None}, "need --do_predict"),
        ({"input_file": "a", "do_predict": None}, "need --do_predict"),
        ({"input_text": "a", "num_runs": 2}, "need one model, not --num_runs=2"),
        ({"export_dir": "a", "num_runs": 2}, "need one model, not --num_runs=2"),
    ],
)
def test_flags_that_do_not_fit_together(refused, changes, message):
    shared = {"do_train": True, "do_eval": True, "do_predict": True}
    refused(message, **{**shared, **changes})


@pytest.mark.slow
def test_raw_text_is_read_once(flags, saved_model, tmp_path, monkeypatch, capsys):
    path = tmp_path / "pipe.txt"
    path.write_text("good film\n")

    def read_from_pipe(*arguments):
        texts = read_raw_texts(*arguments)
        path.unlink()
        return texts

    monkeypatch.setattr(
        "albert_tf.tasks.classification.run.read_raw_texts", read_from_pipe
    )
    asked = {"do_eval": True, "do_predict": True, "input_file": path}
    flags(**asked, **APPLIED, init_checkpoint=saved_model("classification"))
    assert "good film" in capsys.readouterr().out


@pytest.mark.slow
def test_scores_are_kept_when_something_fails_after_them(flags, saved_model, tmp_path):
    (tmp_path / "out" / "dev_errors.tsv").mkdir(parents=True)
    with pytest.raises(OSError, match="dev_errors.tsv"):
        flags(do_eval=True, **APPLIED, init_checkpoint=saved_model("classification"))
    written = (tmp_path / "out" / "eval_results.txt").read_text()
    assert "eval_accuracy = " in written


def test_steps_say_what_is_read():
    def roles(**steps):
        return ClassifierOptions(output_dir="out", **steps).needed_roles

    assert roles(do_train=True) == ["train", "dev"]
    assert roles(do_eval=True, do_predict=True) == ["dev", "test"]


@pytest.mark.parametrize(
    ("options_class", "recipe", "typed", "value"),
    [
        (TaggingOptions, "num_train_epochs", "train_step", 1),
        (TaggingOptions, "warmup_proportion", "warmup_step", 0),
        (SquadOptions, "train_step", "num_train_epochs", 1),
        (SquadOptions, "warmup_step", "warmup_proportion", 0),
        (SquadOptions, "spm_model_file", "vocab_file", "a.txt"),
        (PretrainingOptions, "spm_model_file", "vocab_file", "a.txt"),
        (ClassifierOptions, "data_dir", "data_file", "a.txt"),
        (ClassifierOptions, "task_name", "data_file", "a.txt"),
        (ClassifierOptions, "data_file", "data_dir", "a.txt"),
    ],
)
def test_a_typed_flag_replaces_its_like_of_a_recipe(
    options_class, recipe, typed, value, tmp_path
):
    (tmp_path / "recipe.json").write_text(json.dumps({recipe: value or 1}))
    flags = [f"--config={tmp_path / 'recipe.json'}", "--output_dir=out"]
    if options_class is PretrainingOptions:
        flags += ["--input_file=data", "--albert_config_file=config.json"]
    kept = parse(options_class, ["command", *flags])
    assert getattr(kept, recipe) == (value or 1)
    found = parse(options_class, ["command", *flags, f"--{typed}={value}"])
    assert (getattr(found, typed), getattr(found, recipe)) == (value, None)


def test_tokenized_data_lies_in_its_own_folder():
    assert ClassifierOptions(output_dir="out").cache_dir == os.path.join("out", "cache")
    assert ClassifierOptions(output_dir="out", cached_dir="kept").cache_dir == "kept"


def test_an_empty_text_is_one():
    for asked in ({"input_text": ""}, {"input_file": "a.txt"}):
        assert ClassifierOptions(output_dir="", **asked).asks_raw_text
    assert not ClassifierOptions(output_dir="", input_file="").asks_raw_text


def _read(path, data, pair=False):
    path.write_bytes(data)
    options = ClassifierOptions(output_dir="", input_file=str(path))
    return read_raw_texts(options, pair)


def test_every_line_is_a_text(tmp_path):
    data = "\ufefffirst\rstill first\r\nsecond\n\n\n".encode()
    expected = (["first\rstill first", "second", "", ""], None)
    assert _read(tmp_path / "a.txt", data) == expected
    for name in ("a.csv", "a.ndjson", "a.JSONL"):
        with pytest.raises(UserError, match=f"={tmp_path}/{name} is a table, expected"):
            _read(tmp_path / name, b'{"text": "fine"}\n')


def test_pairs_are_separated_by_a_tab(tmp_path):
    assert _read(tmp_path / "a.tsv", b"a\tb\n", pair=True) == (["a"], ["b"])
    with pytest.raises(
        UserError, match="Text 2 of .*a.tsv has 1 text.s., but .* takes 2"
    ):
        _read(tmp_path / "a.tsv", b"a\tb\na\n", pair=True)
