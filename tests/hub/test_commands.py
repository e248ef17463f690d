"""Each command takes the name of a model where it takes a directory."""

import dataclasses
import json
from unittest import mock

import numpy as np
import pytest

import albert_tf
from albert_tf.errors import UserError
from albert_tf.hub.names import local_directory

NAME = "hf://albert/tiny"


def test_convert(published, tmp_path, capsys):
    from albert_tf.commands import convert

    convert.main(["convert", f"--from={NAME}", f"--to={tmp_path / 'ours'}"])
    model = albert_tf.AlbertForPreTraining.from_pretrained(tmp_path / "ours")
    table = model.albert.embeddings.word_embeddings
    theirs = albert_tf.AlbertModel.from_pretrained(published.folder)
    np.testing.assert_array_equal(table, theirs.embeddings.word_embeddings)
    assert albert_tf.load_tokenizer(tmp_path / "ours").vocab_size == 36


def test_pretraining_starts_from_what_was_downloaded(published, flags, monkeypatch):
    from albert_tf.cli import command_line
    from albert_tf.pretraining import run
    from albert_tf.pretraining.flags import PretrainingOptions
    from albert_tf.pretraining.settings import resolve

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
    from albert_tf.hub.names import with_local_models
    from albert_tf.tasks.commands.flags import TaskOptions

    start = with_local_models(TaskOptions(output_dir="out", vocab_file=NAME))
    assert "model.safetensors" not in published.downloads()
    folder = local_directory(NAME, weights=False)
    assert start == TaskOptions(output_dir="out", vocab_file=folder)
    start = with_local_models(TaskOptions(output_dir="out", init_checkpoint=NAME))
    assert "model.safetensors" in published.downloads()
    assert start == TaskOptions(output_dir="out", init_checkpoint=folder)


def test_tables_by_name(hub, tmp_path):
    from albert_tf.hub import names
    from albert_tf.hub.names import with_local_models
    from albert_tf.tasks.classification.flags import ClassifierOptions
    from albert_tf.tasks.classification.run import check_flags
    from albert_tf.tasks.classification.run import read_tables

    names._tables.cache_clear()
    folder = tmp_path / "data"
    folder.mkdir()
    for name, rows in (("train", 2), ("dev", 1)):
        (folder / f"{name}.jsonl").write_text('{"text": "a", "label": "x"}\n' * rows)
    (folder / "train.parquet").write_bytes(b"not needed")
    hub.add("someone/moods", folder, revision="v1")
    options = ClassifierOptions(
        task_name="custom",
        data_dir="hf://someone/moods@v1",
        text_column="text",
        labels="x,y",
        output_dir=str(tmp_path / "out"),
        do_train=True,
    )
    check_flags(options)
    _, tables = read_tables(with_local_models(options), None, predict=False)
    assert hub.downloads() == ["dev.jsonl", "train.jsonl"]
    assert tables["train"].texts == ["a", "a"]

    (parquet := tmp_path / "parquet").mkdir()
    (parquet / "train.parquet").write_bytes(b"not needed")
    hub.add("nyu-mll/glue", parquet)
    other = dataclasses.replace(options, data_dir="hf://nyu-mll/glue", task_name="rte")
    message = (
        r"^hf://nyu-mll/glue holds no table that albert_tf reads \(\.tsv, \.csv, "
        r"\.jsonl, \.ndjson, \.jsonlines\).*files are at https://gluebenchmark\.com"
    )
    with pytest.raises(UserError, match=message):
        with_local_models(other)
    with pytest.raises(UserError, match="hf://no/such does not exist"):
        with_local_models(dataclasses.replace(other, data_dir="hf://no/such"))


def test_questions_by_name(hub, tmp_path):
    from albert_tf.hub import names
    from albert_tf.hub.names import with_local_models
    from albert_tf.tasks.multiple_choice import run
    from albert_tf.tasks.multiple_choice.flags import RaceOptions

    names._tables.cache_clear()
    (folder := tmp_path / "data").mkdir()
    question = {"context": "a", "question": "b", "options": ["c", "d"], "label": 1}
    (folder / "dev.jsonl").write_text(json.dumps(question))
    hub.add("someone/questions", folder)
    options = RaceOptions(
        task_name="custom",
        data_dir="hf://someone/questions",
        output_dir=str(tmp_path / "out"),
        do_eval=True,
    )
    run.check_flags(options)
    _, questions = run._read_folder(with_local_models(options))
    assert len(questions["dev"]) == 1


def test_a_bare_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, message in (
        ("albert/albert-base-v2", r"write hf://albert/albert-base-v2 or https://stora"),
        ("albert_xlarge_zh", r"write https://storage\S+_xlarge_zh\.tar\.gz"),
    ):
        with pytest.raises(UserError, match=message):
            local_directory(name)
        (tmp_path / name).mkdir(parents=True)
        assert local_directory(name) == name
    assert local_directory(None) is None
