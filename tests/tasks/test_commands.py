"""What fine-tuning commands share: flags, early faults, identity, devices."""

import concurrent.futures
import dataclasses
import json
import os
import shutil
import types

import numpy as np
import pytest

from albert_tf.cli.command_line import parse
from albert_tf.errors import UserError
from albert_tf.io.folder_lock import folder_lock
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.pretraining.flags import PretrainingOptions
from albert_tf.tasks import training
from albert_tf.tasks.classification.flags import ClassifierOptions
from albert_tf.tasks.classification.run import read_raw_texts
from albert_tf.tasks.commands import run
from albert_tf.tasks.multiple_choice import flags as of_race
from albert_tf.tasks.multiple_choice.flags import RaceOptions
from albert_tf.tasks.question_answering import flags as of_squad
from albert_tf.tasks.question_answering.flags import SquadOptions
from albert_tf.tasks.ranking.flags import RankingOptions
from albert_tf.tasks.similarity.flags import SimilarityOptions
from albert_tf.tasks.tagging.flags import TaggingOptions
from albert_tf.tokenization import load_tokenizer
from tests.tasks.conftest import APPLIED
from tests.tasks.conftest import FINISHED
from tests.tasks.conftest import written_flags


def test_places_on_this_machine():
    for flag, place in (("data_dir", "gs://a/b"), ("output_dir", "hf://a/b")):
        with pytest.raises(UserError, match=f"--{flag}={place} is not on a disk of"):
            run.check_steps(types.SimpleNamespace(**{flag: place}))
    told = types.SimpleNamespace(data_dir="hf://a/b", reads_examples=True)
    run.check_steps(told, reads_folder=True)
    for options_class in (
        RaceOptions,
        RankingOptions,
        SimilarityOptions,
        TaggingOptions,
    ):
        options = options_class(output_dir="out", do_eval=True)
        with pytest.raises(UserError, match="--data_dir is needed to train, evaluate"):
            options.command.check_flags(options)
    options = ClassifierOptions(output_dir="out", do_predict=True, task_name="custom")
    with pytest.raises(UserError, match="--data_dir, or --data_file, is needed to tr"):
        options.command.check_flags(options)
    options = dataclasses.replace(options, input_text="good")
    options.command.check_flags(options)


def test_what_would_be_read_after_training(flags, tmp_path, monkeypatch):
    """Is refused before anything is trained."""
    monkeypatch.chdir(tmp_path)

    def refused(message, **changes):
        before = set(tmp_path.iterdir())
        with pytest.raises(UserError, match=message):
            flags(**changes)
        assert set(tmp_path.iterdir()) == before

    path, texts = tmp_path / "data" / "test.tsv", tmp_path / "texts.txt"
    asked = {"do_train": True, "do_predict": True}
    refused("texts.txt cannot be read", input_file=texts, **asked)
    texts.write_text("")
    refused("texts.txt is empty", input_file=texts, **asked)
    changes = {"input_text": "good", "input_text_pair": "film"}
    refused("has 2 text.s., but the model takes 1", **changes, **asked)
    path.write_text(path.read_text() + "?\tgood film\n")
    for what in ("do_eval", "do_predict"):
        refused("line 22: the label '[?]' is unknown", do_train=True, **{what: True})
    path.unlink()
    refused("has no test table to predict; add it", **asked)
    # Flags that do not fit together.
    asked["do_eval"] = True
    for message, changes in (
        ("--output_dir=ram://a is not on a disk", {"output_dir": "ram://a"}),
        ("--cached_dir=ram://a is not on a disk", {"cached_dir": "ram://a"}),
        ("--input_file, not both; give one", {"input_text": "a", "input_file": "b"}),
        ("--input_text_pair needs --input_text", {"input_text_pair": "b"}),
        ("need --do_predict", {"input_text": "a", "do_predict": None}),
        ("need --do_predict", {"input_file": "a", "do_predict": None}),
        ("need one model, not --num_runs=2", {"input_text": "a", "num_runs": 2}),
        ("need one model, not --num_runs=2", {"export_dir": "a", "num_runs": 2}),
    ):
        refused(message, **{**asked, **changes})
    # The beginning of a training.
    for message, changes in (
        ("--from_scratch needs .* no .* or --init_layers", {"init_layers": "mean"}),
        ("Name the vocabulary", {"vocab_file": None}),
        ("batch size 16", {"gradient_accumulation_steps": 5}),
    ):
        with pytest.raises(UserError, match=message):
            flags(do_train=True, **changes)
        assert not {"checkpoints", "model"} & {p.name for p in tmp_path.glob("out/*")}


@pytest.mark.slow
def test_raw_text_is_read_once_and_scores_are_kept(
    flags, saved_model, tmp_path, monkeypatch, capsys
):
    path = tmp_path / "pipe.txt"
    path.write_text("good film\n")

    def read_from_pipe(*arguments):
        texts = read_raw_texts(*arguments)
        path.unlink()
        return texts

    name = "albert_tf.tasks.classification.run.read_raw_texts"
    monkeypatch.setattr(name, read_from_pipe)
    start = {**APPLIED, "init_checkpoint": saved_model("classification")}
    flags(do_eval=True, do_predict=True, input_file=path, **start)
    assert "good film" in capsys.readouterr().out
    # Scores are kept when something fails after them.
    out = tmp_path / "other"
    (out / "dev_errors.tsv").mkdir(parents=True)
    with pytest.raises(OSError, match="dev_errors.tsv"):
        flags(do_eval=True, output_dir=out, **start)
    assert "eval_accuracy = " in (out / "eval_results.txt").read_text()


def test_a_typed_flag_replaces_its_like_of_a_recipe(tmp_path):
    path = tmp_path / "recipe.json"
    for options_class, recipe, typed, value in (
        (TaggingOptions, "num_train_epochs", "train_step", 1),
        (TaggingOptions, "warmup_proportion", "warmup_step", 0),
        (SquadOptions, "train_step", "num_train_epochs", 1),
        (SquadOptions, "warmup_step", "warmup_proportion", 0),
        (SquadOptions, "spm_model_file", "vocab_file", "a.txt"),
        (PretrainingOptions, "spm_model_file", "vocab_file", "a.txt"),
        (ClassifierOptions, "data_dir", "data_file", "a.txt"),
        (ClassifierOptions, "task_name", "data_file", "a.txt"),
        (ClassifierOptions, "data_file", "data_dir", "a.txt"),
    ):
        path.write_text(json.dumps({recipe: value or 1}))
        flags = ["command", f"--config={path}", "--output_dir=out"]
        if options_class is PretrainingOptions:
            flags += ["--input_file=data", "--albert_config_file=config.json"]
        assert getattr(parse(options_class, flags), recipe) == (value or 1)
        found = parse(options_class, [*flags, f"--{typed}={value}"])
        assert (getattr(found, typed), getattr(found, recipe)) == (value, None)


def test_what_options_ask_for():
    def options(**flags):
        return ClassifierOptions(**{"output_dir": "out", **flags})

    assert options(do_train=True).needed_roles == ["train", "dev"]
    assert options(do_eval=True, do_predict=True).needed_roles == ["dev", "test"]
    assert options().cache_dir == os.path.join("out", "cache")
    assert options(cached_dir="kept").cache_dir == "kept"
    for asked in ({"input_text": ""}, {"input_file": "a.txt"}):
        assert options(**asked).asks_raw_text  # an empty text is one
    assert not options(input_file="").asks_raw_text


def _read(path, data, pair=False):
    path.write_bytes(data)
    return read_raw_texts(ClassifierOptions(output_dir="", input_file=str(path)), pair)


def test_every_line_is_a_text_or_a_pair(tmp_path):
    data = "\ufefffirst\rstill first\r\nsecond\n\n\n".encode()
    expected = (["first\rstill first", "second", "", ""], None)
    assert _read(tmp_path / "a.txt", data) == expected
    for name in ("a.csv", "a.ndjson", "a.JSONL"):
        with pytest.raises(UserError, match=f"={tmp_path}/{name} is a table, expected"):
            _read(tmp_path / name, b'{"text": "fine"}\n')
    assert _read(tmp_path / "a.tsv", b"a\tb\n", pair=True) == (["a"], ["b"])
    with pytest.raises(UserError, match="Text 2 of .* has 1 text.s., but .* takes 2"):
        _read(tmp_path / "a.tsv", b"a\tb\na\n", pair=True)
    # Of a model that does not tell, the flags do.
    for given, expected in (
        ({"input_text": "a"}, (["a"], None)),
        ({"input_text": "a", "input_text_pair": ""}, (["a"], [""])),
    ):
        assert (
            read_raw_texts(ClassifierOptions(output_dir="", **given), None) == expected
        )


_SQUAD = """
run_squad.py --albert_config_file=albert_config.json --output_dir=out
--train_file=train.json --predict_file=dev.json --train_feature_file=train.tf
--predict_feature_file=dev.tf --predict_feature_left_file=dev.pkl
--init_checkpoint=model.ckpt --spm_model_file=30k-clean.model --do_lower_case
--max_seq_length=384 --doc_stride=128 --max_query_length=64 --do_train=true
--do_predict=true --train_batch_size=48 --predict_batch_size=8 --learning_rate=5e-5
--num_train_epochs=2.0 --warmup_proportion=.1 --save_checkpoints_steps=5000
--n_best_size=20 --max_answer_length=30
--use_einsum=true --start_n_top=5 --end_n_top=5 --dropout_prob=0.1
"""
_RACE = """
run_race.py --albert_config_file=albert_config.json --output_dir=out
--train_file=train.tf_record --eval_file=eval.tf_record --predict_file=test.tf_record
--data_dir=data --init_checkpoint=model.ckpt --spm_model_file=30k-clean.model
--max_seq_length=512 --max_qa_length=128 --do_train --do_eval --train_batch_size=32
--eval_batch_size=8 --learning_rate=1e-5 --train_step=12000 --warmup_step=1000
--save_checkpoints_steps=100 --num_keep_checkpoint=5 --use_tpu=false
"""


def test_the_official_command_lines():
    """Those of the README, but for names of scripts and files."""
    options = parse(SquadOptions, _SQUAD.split(), of_squad._IGNORED)
    defaults = parse(SquadOptions, ["run_squad.py", "--output_dir=out"])
    changed = dict(vars(options).items() - vars(defaults).items())
    # The others name files or say what to do, or are the official defaults: without
    # --do_lower_case the vocabulary decides, and ALBERT's are lowered.
    files = {n for n in changed if n.endswith(("_file", "_checkpoint", "_steps"))}
    given = {"learning_rate", "train_batch_size", "num_train_epochs"}
    assert changed.keys() - files - {"do_train", "do_predict", "do_lower_case"} <= given
    for name in ("init_checkpoint", "albert_hub_module_handle"):
        argv = _RACE.replace("init_checkpoint", name).split()
        options = parse(RaceOptions, argv, of_race._IGNORED)
        assert options.do_train and options.do_eval
        assert options.init_checkpoint == "model.ckpt"


@pytest.mark.slow
def test_what_has_changed_is_refused(flags, finished, tmp_path):
    """Tables, files whose names are the same, and flags."""
    names = ("data/train.tsv", "data/dev.tsv", "tiny.json", "vocab.txt")
    train, dev, config, vocab = (tmp_path / name for name in names)
    digest = "The digest of .*{}.tsv is .*, but the run in .*out.* has "
    hidden_act = "hidden_act of the model's configuration is relu, but the run in .* ha"
    # The run is finished: without a refusal it would train nothing and say nothing.
    for path, old, new, message in (
        (train, "\nno\t", "\nyes\t", digest.format("train")),
        (dev, " film", " film very", digest.format("dev")),
        (config, '"gelu"', '"relu"', hidden_act),
        (vocab, "good\nbad", "bad\ngood", "The vocabulary's fingerprint is .*, but"),
    ):
        before = path.read_text()
        assert old in before
        path.write_text(before.replace(old, new, 1))
        with pytest.raises(UserError, match=message):
            flags(**FINISHED)
        path.write_text(before)
    with pytest.raises(UserError, match="--learning_rate is 0.1, .* has 0.005;"):
        flags(**FINISHED, learning_rate=0.1)
    earlier = finished / "flags.json"  # as version 0.1.0 stored them
    earlier.write_text('{"learning_rate": 0.1}')
    with pytest.raises(UserError, match="--learning_rate is 0.005, but .* has 0.1;"):
        flags(**FINISHED)
    earlier.unlink()
    flags(**FINISHED, eval_batch_size=3, data_dir=tmp_path / "data" / ".." / "data")


@pytest.mark.slow
def test_a_start_is_known_by_its_weights(flags, finished, tmp_path):
    """The folder may move, and be named in another way."""
    run = {**FINISHED, **APPLIED, "train_step": 2, "output_dir": tmp_path / "second"}
    shutil.copytree(finished / "model", tmp_path / "start")
    flags(**run, init_checkpoint=tmp_path / "start")
    moved = (tmp_path / "start").rename(tmp_path / "moved")
    flags(**run, init_checkpoint=moved, do_eval=True)
    other = AlbertForSequenceClassification.from_pretrained(moved)
    other.official_variables()["output_bias"].assign([1.0, 2.0])
    other.save_pretrained(tmp_path / "other", load_tokenizer(moved))
    with pytest.raises(UserError, match="weights of --init_checkpoint is .*, but th"):
        flags(**run, init_checkpoint=tmp_path / "other")


@pytest.mark.parametrize("run", [FINISHED, {"do_eval": True}])
def test_two_runs_do_not_write_into_one_folder(run, flags, tmp_path):
    (tmp_path / "out").mkdir()
    with (
        folder_lock(tmp_path / "out"),
        concurrent.futures.ThreadPoolExecutor() as other_thread,
        pytest.raises(UserError, match="out is in use by process .*; wait until that"),
    ):
        other_thread.submit(flags, **run).result()


@pytest.mark.slow
@pytest.mark.usefixtures("graphs_optimized")  # as the workers' are
def test_two_workers_equal_two_devices(
    flags, defaults, workers, two_replicas, monkeypatch, tmp_path
):
    several = {"do_train": True, "do_eval": True, "do_predict": True, "train_step": 2}
    with monkeypatch.context() as patch:
        patch.setattr(run, "strategy_from", lambda _: two_replicas)
        flags(output_dir=tmp_path / "mirrored", **several)
    asked = {**defaults, **several, "distribution_strategy": "multi_worker"}
    with workers("run_classifier.py", written_flags(asked)) as (processes, logs):
        pass
    assert [p.returncode for p in processes] == [0, 0], logs[0].read_text()
    found, expected = (
        AlbertForSequenceClassification.from_pretrained(tmp_path / name / "model")
        for name in ("out", "mirrored")
    )
    expected = expected.official_variables()
    for name, value in found.official_variables().items():
        if "key/bias" not in name:  # its gradient is rounding noise
            np.testing.assert_allclose(value, expected[name], atol=1e-6, err_msg=name)
    for name in ("eval_results.txt", "submit_results.tsv"):
        found, one = ((tmp_path / d / name).read_text() for d in ("out", "mirrored"))
        assert found == one
    assert ["eval_accuracy" in log.read_text() for log in logs] == [True, False]


def test_a_worker_that_does_not_write_reports_nothing(flags, monkeypatch, tmp_path):
    monkeypatch.setattr(run.FineTuning, "run", lambda *arguments: False)
    flags(do_train=True, do_eval=True, train_step=1, num_runs=2)
    assert not list(tmp_path.glob("out/**/eval_results.txt"))
    assert not (tmp_path / "out" / "runs.json").exists()


def test_on_a_tpu_every_batch_has_the_full_length(built, monkeypatch):
    assert built().width is None
    monkeypatch.setattr(training, "is_tpu", lambda strategy: True)
    assert built().width == 16
