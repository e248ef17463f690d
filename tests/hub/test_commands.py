"""Each command takes the name of a model where it takes a directory."""

import dataclasses
import json
from unittest import mock

import pytest

from albert_tf.cli import command_line
from albert_tf.errors import UserError
from albert_tf.hub import names
from albert_tf.hub.names import local_directory
from albert_tf.hub.names import with_local_models
from albert_tf.pretraining import run
from albert_tf.pretraining.flags import PretrainingOptions
from albert_tf.pretraining.settings import resolve
from albert_tf.tasks.classification.flags import ClassifierOptions
from albert_tf.tasks.classification.run import check_flags
from albert_tf.tasks.classification.run import read_tables
from albert_tf.tasks.commands.flags import TaskOptions
from albert_tf.tasks.multiple_choice import run as multiple_choice
from albert_tf.tasks.multiple_choice.flags import RaceOptions

NAME = "hf://albert/tiny"


def test_pretraining_starts_from_what_was_downloaded(published, flags, monkeypatch):
    prepare = mock.Mock(side_effect=KeyboardInterrupt)
    monkeypatch.setattr(run, "_prepare", prepare)
    argv = flags(init_checkpoint=NAME)
    options = resolve(command_line.parse(PretrainingOptions, ["run", *argv]))
    with pytest.raises(KeyboardInterrupt):
        run.pretrain(options)
    (local,) = prepare.call_args.args
    assert local.init_checkpoint == local_directory(NAME)
    assert "model.safetensors" in published.downloads()


def test_what_a_task_starts_from_is_found_at_the_top(published):
    start = with_local_models(TaskOptions(output_dir="out", vocab_file=NAME))
    assert "model.safetensors" not in published.downloads()
    folder = local_directory(NAME, weights=False)
    assert start == TaskOptions(output_dir="out", vocab_file=folder)
    start = with_local_models(TaskOptions(output_dir="out", init_checkpoint=NAME))
    assert "model.safetensors" in published.downloads()
    assert start == TaskOptions(output_dir="out", init_checkpoint=folder)


@pytest.fixture
def tables(hub, tmp_path):
    """Publishes texts by name of file as "someone/moods"; returns flags for them."""
    names._tables.cache_clear()

    def publish(name="someone/moods", revision="main", **files):
        folder = tmp_path / name.replace("/", "-")
        folder.mkdir()
        for kind, text in files.items():
            (folder / kind.replace("_", ".")).write_text(text)
        hub.add(name, folder, revision)
        return {"task_name": "custom", "output_dir": str(tmp_path / "out")}

    return publish


def test_tables_by_name(hub, tables):
    row = '{"text": "a", "label": "x"}\n'
    files = {"train_jsonl": row * 2, "dev_jsonl": row, "train_parquet": "not needed"}
    options = ClassifierOptions(
        **tables(revision="v1", **files),
        data_dir="hf://someone/moods@v1",
        text_column="text",
        labels="x,y",
        do_train=True,
    )
    check_flags(options)
    _, found = read_tables(with_local_models(options), None, predict=False)
    assert hub.downloads() == ["dev.jsonl", "train.jsonl"]
    assert found["train"].texts == ["a", "a"]
    tables("nyu-mll/glue", train_parquet="not needed")
    other = dataclasses.replace(options, data_dir="hf://nyu-mll/glue", task_name="rte")
    message = (
        r"^hf://nyu-mll/glue holds no table that albert_tf reads \(\.tsv, \.csv, "
        r"\.jsonl, \.ndjson, \.jsonlines\).*files are at https://gluebenchmark\.com"
    )
    with pytest.raises(UserError, match=message):
        with_local_models(other)
    with pytest.raises(UserError, match="hf://no/such does not exist"):
        with_local_models(dataclasses.replace(other, data_dir="hf://no/such"))


def test_questions_by_name(tables):
    question = {"context": "a", "question": "b", "options": ["c", "d"], "label": 1}
    flags = tables(dev_jsonl=json.dumps(question))
    options = RaceOptions(**flags, data_dir="hf://someone/moods", do_eval=True)
    multiple_choice.check_flags(options)
    _, questions = multiple_choice._read_folder(with_local_models(options))
    assert len(questions["dev"]) == 1
