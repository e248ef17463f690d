"""Each command takes the name of a model where it takes a directory."""

import dataclasses
import json

import numpy as np
import pytest

import albert_tf
from albert_tf.errors import UserError
from albert_tf.hub.names import local_directory

NAME = "hf://albert/tiny"


def expected_table(published):
    model = albert_tf.AlbertModel.from_pretrained(published.folder)
    return np.array(model.embeddings.word_embeddings)


def test_convert(published, tmp_path, capsys):
    from albert_tf.commands import convert

    convert.main(["convert", f"--from={NAME}", f"--to={tmp_path / 'ours'}"])
    model = albert_tf.AlbertForPreTraining.from_pretrained(tmp_path / "ours")
    table = model.albert.embeddings.word_embeddings
    np.testing.assert_array_equal(table, expected_table(published))
    assert albert_tf.load_tokenizer(tmp_path / "ours").vocab_size == 36


@pytest.mark.slow
def test_pretraining(published, material, flags):
    from albert_tf.cli import command_line
    from albert_tf.pretraining.flags import PretrainingOptions
    from albert_tf.pretraining.run import pretrain
    from albert_tf.pretraining.settings import resolve

    model = albert_tf.AlbertModel.from_pretrained(published.folder)
    model.config.to_json_file(published.folder / "albert_config.json")
    # As the vocabulary's file alone, of which the data are made.
    settings = published.folder / "tokenizer_config.json"
    settings.write_text('{"joins_quotes": false}')
    published.add(NAME.removeprefix("hf://"), published.folder)
    argv = flags(
        init_checkpoint=NAME,
        albert_config_file=published.folder / "albert_config.json",
        num_train_steps=1,
        num_warmup_steps=0,
        iterations_per_loop=1,
        learning_rate=0,
        output_dir=material / "from_the_hub",
    )
    options = command_line.parse(PretrainingOptions, ["run", *argv])
    pretrain(resolve(options))
    trained = albert_tf.AlbertForPreTraining.from_pretrained(options.output_dir)
    table = trained.albert.embeddings.word_embeddings
    np.testing.assert_allclose(table, expected_table(published), atol=1e-6)


@pytest.mark.nightly
def test_classification_and_export(published, tmp_path):
    from albert_tf.serving.export import ExportOptions
    from albert_tf.serving.export import export
    from albert_tf.tasks.classification.flags import ClassifierOptions
    from albert_tf.tasks.commands.run import run_repeatedly

    data = tmp_path / "data"
    data.mkdir()
    for name in ("train", "dev"):
        (data / f"{name}.tsv").write_text(
            "sentence\tlabel\n" + "the cat sat\tyes\nthe dog ran\tno\n" * 8
        )
    options = ClassifierOptions(
        task_name="custom",
        data_dir=str(data),
        output_dir=str(tmp_path / "run"),
        init_checkpoint=NAME,
        max_seq_length=12,
        train_batch_size=8,
        train_step=1,
        warmup_step=0,
        learning_rate=0.0,
        do_train=True,
        do_eval=True,
    )
    run_repeatedly(options)
    model_dir = tmp_path / "run" / "model"
    trained = albert_tf.AlbertForSequenceClassification.from_pretrained(model_dir)
    table = trained.albert.embeddings.word_embeddings
    np.testing.assert_allclose(table, expected_table(published), atol=1e-6)
    info = json.loads((model_dir / "training_info.json").read_text())
    assert info["init_checkpoint"] == local_directory(NAME)  # with its commit
    published.add("albert/tuned", model_dir)
    target = export(ExportOptions("hf://albert/tuned", str(tmp_path / "export")))
    assert (target / "saved_model.pb").exists()


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


@pytest.mark.parametrize("name", ["albert-base-v2", "albert/albert-base-v2"])
def test_a_bare_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    message = (
        rf"^There is no directory {name} on this machine; to download the released "
        r"model, write hf://albert/albert-base-v2 or https://storage\S+base_v2\.tar\.gz"
    )
    for load in (albert_tf.AlbertModel.from_pretrained, albert_tf.load_tokenizer):
        with pytest.raises(UserError, match=message):
            load(name)
    (tmp_path / name).mkdir(parents=True)
    assert local_directory(name) == name
    assert local_directory(None) is None


def test_a_bare_name_in_chinese():
    with pytest.raises(UserError, match=r"write https://storage\S+_xlarge_zh\.tar\.gz"):
        local_directory("albert_xlarge_zh")
