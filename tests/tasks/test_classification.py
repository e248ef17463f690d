"""run_classifier: what flags build, losses, early answers, from flags to files."""

import collections
import dataclasses
import json
import math
import shutil

import numpy as np
import pytest
import sklearn.metrics
import tensorflow as tf
from matplotlib.figure import Figure
from scipy.special import log_softmax
from scipy.special import softmax

from albert_tf.config import AlbertConfig
from albert_tf.display import plots
from albert_tf.errors import UserError
from albert_tf.exit_rule import ExitRule
from albert_tf.models.albert import AlbertModel
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.flags import EarlyExitFlags
from albert_tf.objectives.base import EXAMPLE_WEIGHTS
from albert_tf.optimizers.adam import LAMB
from albert_tf.serving import export as serving_export
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.classification import run
from albert_tf.tasks.classification import text_task
from albert_tf.tasks.classification.glue import glue_task
from albert_tf.tasks.classification.report import ClassificationReport
from albert_tf.tasks.classification.text_task import write_errors
from albert_tf.tasks.commands.flags import StartFlags
from albert_tf.tasks.examples import Table
from albert_tf.tasks.prediction import early_scores
from albert_tf.tasks.prediction import exit_layers
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.task import Prepared
from albert_tf.tasks.tokenized_examples import TokenizedExamples
from albert_tf.tokenization import load_tokenizer
from tests.tasks.conftest import FINISHED
from tests.tasks.conftest import results


@pytest.mark.slow
def test_what_flags_build(built, tmp_path, caplog):
    plain = built()
    assert "bad rows left out" not in caplog.text
    path = tmp_path / "data" / "train.tsv"
    path.write_text(path.read_text() + "yes\t\n")
    assert (plain.model.compute_dtype, plain.width) == ("float32", None)
    assert (plain.options.use_xla, plain.options.seed) == (False, 12345)
    assert plain.options.best_metric == "accuracy"
    changes = {
        "optimizer": "lamb",
        "random_seed": 1,
        "albert_dropout_prob": 0.5,
        "mixed_precision": "bfloat16",
        "pad_to_max_length": True,
        "keep_checkpoint_max": 2,
        "early_stopping_patience": 3,
        "cached_dir": tmp_path / "cached",
        "best_metric": "calibration_error",
    }
    found = built(**changes, use_xla=True, train_step=7, skip_bad_rows=True)
    assert "train.tsv: 1 bad rows left out, 64 kept." in caplog.text
    model, options = found.model, found.options
    assert isinstance(found.optimizer, LAMB)
    assert (model.compute_dtype, found.width) == ("bfloat16", 16)
    assert model.config.hidden_dropout_prob == 0.5
    assert (options.use_xla, options.seed) == (True, 1)
    assert options.num_train_steps == 7
    assert (options.keep_checkpoint_max, options.patience) == (2, 3)
    best = options.best_metric, options.lower_is_better
    assert best == ("calibration_error", True)
    assert len(list((tmp_path / "cached").glob("*.npz"))) == 2
    first, second = (own.classifier.output_weights for own in (plain.model, model))
    assert np.abs(first.numpy() - second.numpy()).max() > 1e-3
    loop = {"depth_loop": True, "rematerialize": True}
    changes = {"freeze_encoder": True, "num_train_epochs": 1.5, "best_metric": "auc"}
    found = built(**loop, **changes, use_xla=None, skip_bad_rows=True)
    assert found.model.execution == loop
    assert not found.options.use_xla  # the default does not compile on a CPU
    assert not found.options.lower_is_better
    assert found.options.num_train_steps == 6  # of 64 rows
    names = [variable.path for variable in found.model.trainable_variables]
    assert len(names) == 2 and all("classifier" in name for name in names)


def test_balanced_weights_reach_the_batches(built, tmp_path):
    table = (tmp_path / "data" / "train.tsv").read_text().splitlines()[1:]
    counts = collections.Counter(line.split()[0] for line in table)
    expected = [len(table) / (2 * counts[label]) for label in ("no", "yes")]
    batch = next(iter(built(class_weight="balanced").batches))
    weights = np.take(expected, batch["labels"])
    np.testing.assert_allclose(batch["example_weights"], weights, rtol=1e-6)
    assert len(set(weights)) == 2


def test_labels_columns_and_bad_rows_by_flag(asked, tmp_path):
    path = tmp_path / "data" / "train.tsv"
    path.write_text(path.read_text() + "ugly\ta film\n")
    task, examples = asked(run, do_train=True, labels="yes, no", skip_bad_rows=True)
    assert (task.kind, task.labels) == ("single_label", ("yes", "no"))
    assert examples["train"].num_skipped == 1
    for role in ("train", "dev"):
        table = "label\tsentence\tother\ngood|film\ta\tb\n"
        (tmp_path / "data" / f"{role}.tsv").write_text(table)
    several = {"label_kind": "multi_label", "text_pair_column": "other"}
    task, examples = asked(run, do_train=True, **several)
    assert (task.kind, task.labels) == ("multi_label", ("film", "good"))
    assert task.pair is True
    assert (examples["dev"].texts, examples["dev"].text_pairs) == (["a"], ["b"])


_QUERY = "bert/encoder/transformer/group_%d/inner_group_0/attention_1/self/query/kernel"


@pytest.fixture
def started(flags, tmp_path):
    """The config, the tokenizer, and what starts a model of a task from a folder."""
    config = AlbertConfig.from_json_file(tmp_path / "tiny.json")
    tokenizer = load_tokenizer(tmp_path / "vocab.txt")

    def start(folder, **flags):
        flags |= {"init_checkpoint": str(folder), "max_seq_length": 16}
        return StartFlags(**flags).start.model(create_task("regression", "t"))

    return config, tokenizer, start


def test_a_new_head_does_not_depend_on_the_form_of_the_checkpoint(started, tmp_path):
    config, tokenizer, start = started
    encoder, heads = AlbertModel(config), []
    for name in ("model_directory", "huggingface"):
        encoder.save_pretrained(tmp_path / name, tokenizer, format=name)
        heads.append(start(tmp_path / name)[0].classifier.output_weights.numpy())
    np.testing.assert_array_equal(*heads)
    encoder.save_pretrained(tmp_path / "tf1", format="tf1")
    for name in ("albert_config.json", "SHA256SUMS"):
        (tmp_path / "tf1" / name).unlink()
    with pytest.raises(
        UserError, match="No albert_config.json lies beside .*tf1.*; na"
    ):
        start(tmp_path / "tf1", vocab_file=str(tmp_path / "vocab.txt"))


@pytest.mark.slow
def test_layers_may_be_others_than_the_checkpoints(started, tmp_path):
    config, tokenizer, start = started
    layers = {"num_hidden_layers": 2, "parameter_sharing": "none"}
    two = AlbertModel(dataclasses.replace(config, **layers))
    two.save_pretrained(tmp_path / "two", tokenizer)
    shared = dataclasses.replace(config, num_hidden_layers=2, depth_adapter_rank=1)
    shared.to_json_file(tmp_path / "shared.json")
    own = {"albert_config_file": str(tmp_path / "shared.json")}
    with pytest.raises(UserError, match="two holds tensors that the model has"):
        start(tmp_path / "two", **own)
    for rule, share in (("first", 0), ("mean", 0.5)):
        model, _ = start(tmp_path / "two", init_layers=rule, **own)
        assert model.config == shared
        found, old = model.official_variables(), two.official_variables()
        expected = (1 - share) * old[_QUERY % 0] + share * old[_QUERY % 1]
        np.testing.assert_allclose(found[_QUERY % 0], expected, atol=1e-6)
    with pytest.raises(UserError, match="--init_layers needs --albert_config_file"):
        start(tmp_path / "two", init_layers="mean")


def test_a_vocabulary_that_does_not_fit_is_an_error(flags, started, tmp_path):
    config, tokenizer, start = started
    known = (tmp_path / "vocab.txt").read_text().split()
    other, reordered = tmp_path / "other.txt", tmp_path / "reordered.txt"
    other.write_text("\n".join([*known, "more"]) + "\n")
    with pytest.raises(UserError, match="has 18 pieces, but the model has 17"):
        flags(do_train=True, vocab_file=other)
    reordered.write_text("\n".join([*known[:5], *reversed(known[5:])]) + "\n")
    AlbertModel(config).save_pretrained(tmp_path / "pretrained", tokenizer)
    named = {"init_checkpoint": tmp_path / "pretrained", "vocab_file": reordered}
    with pytest.raises(UserError, match="reordered.txt is not the vocabulary"):
        flags(do_train=True, from_scratch=None, **named)
    _, found = start(tmp_path / "pretrained")  # brings its own
    assert found.fingerprint() == tokenizer.fingerprint()
    # Only a new model may have room for more pieces than a file has.
    other.write_text("\n".join(known[:-1]) + "\n")
    AlbertModel(config).save_pretrained(tmp_path / "tf1", format="tf1")
    with pytest.raises(UserError, match="has 16 pieces, but the model has 17"):
        start(tmp_path / "tf1", vocab_file=str(other))
    new = {"from_scratch": True, "vocab_file": str(other), "max_seq_length": 32}
    new["albert_config_file"] = str(tmp_path / "tiny.json")
    model, found = StartFlags(**new).start.model(create_task("regression", "t"))
    assert (model.config.vocab_size, found.vocab_size) == (17, 16)
    longer = StartFlags(**{**new, "max_seq_length": 33}).start
    with pytest.raises(UserError, match="=33 is more than the model's 32 positions"):
        longer.model(create_task("regression", "t"))


_OF_LOSSES = np.random.default_rng(5).normal(size=(4, 3)).astype(np.float32)
_LABELS_OF_LOSSES = {
    "single_label": np.array([0, 2, 1, 1], np.int32),
    "multi_label": np.array([[0, 1, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]], np.int32),
    "regression": np.array([0.5, 2.0, -1.0, 3.0], np.float32),
}


def _task(kind):
    labels = () if kind == "regression" else ("a", "b", "c")
    return create_task(kind, "t", labels=labels)


def _losses(kind, rows, **extra):
    logits = _OF_LOSSES[:, :1] if kind == "regression" else _OF_LOSSES
    names = ("input_ids", "input_mask", "segment_ids")
    batch = dict.fromkeys(names, tf.ones([len(rows), 2], tf.int32))
    batch |= {"labels": tf.constant(_LABELS_OF_LOSSES[kind][rows]), **extra}
    objective = _task(kind).objective()

    def model(features, training, dropout_seed):
        assert sorted(features) == sorted(names)
        return tf.constant(logits[rows])

    losses, metrics = objective(model, batch, training=True, dropout_seed=None)
    weight = objective.denominators(batch)["classification"]
    assert set(metrics) == set(objective.metric_names)
    metrics = {name: [float(x) for x in sums] for name, sums in metrics.items()}
    return float(losses["classification"] / weight), metrics, logits


@pytest.mark.parametrize("kind", sorted(_LABELS_OF_LOSSES))
def test_losses_equal_those_of_the_evaluation_and_padded_rows_do_not_count(kind):
    loss, metrics, logits = _losses(kind, [0, 1, 2, 3])
    tokens = TokenizedExamples(None, None, None, None, _LABELS_OF_LOSSES[kind])
    expected = _task(kind).score(Prepared(None, tokens), logits)
    assert loss == pytest.approx(expected["loss"], rel=1e-5)
    if kind != "regression":
        right, rows = metrics["accuracy"]
        assert right / rows == expected["accuracy"]
    found = _losses(kind, [0, 1, 2], example_weights=tf.constant([1.0, 1.0, 0.0]))[:2]
    loss, metrics, _ = _losses(kind, [0, 1])
    assert found == (pytest.approx(loss), metrics)


_TASK = create_task("single_label", "t", labels=("no", "yes"), pair=True)
_LOGITS = np.array([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0], [1.0, 0.5]])
_TABLE = Table(
    "t.tsv",
    ["a", "b\tc", "d", "e"],
    ["p", "q", "r", "s"],
    np.array([0, 0, 1, 0], np.int32),
    np.array([0, 1, 3, 4]),
)


def _prepared(table):
    return Prepared(table, TokenizedExamples(None, None, None, None, table.labels))


def test_score_has_the_metrics_the_loss_and_the_majority():
    scores = _TASK.score(_prepared(_TABLE), _LOGITS)
    assert (scores["accuracy"], scores["majority_accuracy"]) == (0.5, 0.75)
    own = {"labels": ("0", "1"), "metrics": ("matthew_corr",)}
    task = create_task("single_label", "cola", **own)
    names = {"matthew_corr", *task.also_scored, "majority_accuracy"}
    assert set(task.score(_prepared(_TABLE), _LOGITS)) == names
    right = _TASK.probabilities(_LOGITS)[np.arange(4), _TABLE.labels]
    assert scores["loss"] == pytest.approx(-np.log(right).mean())


def test_result_files(tmp_path, monkeypatch):
    pictures = []
    monkeypatch.setattr(text_task, "write_plot", lambda path, *_: pictures.append(path))
    prepared = _prepared(dataclasses.replace(_TABLE, submission="named"))
    _TASK.write_predicted(tmp_path / "new", "", prepared, _LOGITS)
    lines = (tmp_path / "new" / "test_results.tsv").read_text().splitlines()
    assert lines[0] == "row\tno\tyes"
    assert [line.split("\t")[0] for line in lines[1:]] == ["0", "1", "3", "4"]
    first = list(map(float, lines[1].split("\t")[1:]))
    np.testing.assert_allclose(first, [0.880797, 0.119203], rtol=1e-5)
    for name in ("submit_results", "named"):
        assert (tmp_path / "new" / f"{name}.tsv").read_text() == (
            "index\tprediction\n0\tno\n1\tyes\n3\tno\n4\tno\n"
        )
    _TASK.write_scored(tmp_path, "dev", prepared, _LOGITS)
    assert (tmp_path / "dev_errors.tsv").read_text() == (
        "row\tlabel\tprediction\ttext\ttext_pair\n"
        "1\tno\tyes\tb c\tq\n3\tyes\tno\td\tr\n"
    )
    report = json.loads((tmp_path / "dev_class_scores.json").read_text())
    assert report["confusion"] == [[2, 1], [1, 0]]
    assert report["classes"]["no"]["support"] == 3
    assert pictures == [tmp_path / "dev_confusion.png"]
    assert not list(tmp_path.glob("*.tmp*"))


def test_a_label_applies_above_its_threshold():
    task, logits = _task("multi_label"), np.array([[0.0, 1e-6, -1e-6]])
    assert task.predictions(logits).tolist() == [[0, 1, 0]]
    labels = tf.constant([[0, 1, 0], [1, 1, 0]])
    right = task.right(tf.constant(np.repeat(logits, 2, axis=0)), labels)
    assert right.numpy().tolist() == [1, 0]
    own = dataclasses.replace(task, thresholds=(0.5, 0.25, 0.75))
    assert own.predictions(np.array([[0.0, 0.0, 0.0]])).tolist() == [[0, 1, 0]]
    assert "thresholds" not in task.to_dict()
    assert own.to_dict()["thresholds"] == own.thresholds
    shares = tf.constant([[0.5, 0.51, 0.25], [0.75, 0.25, 0.76]])
    for one, expected in (
        (task, [[b"", b"b", b""], [b"a", b"", b"c"]]),
        (own, [[b"", b"b", b""], [b"a", b"", b"c"]]),
    ):
        assert one.named(shares)["labels"].numpy().tolist() == expected


def test_each_label_of_several_has_scores_of_its_own(tmp_path):
    """As scikit-learn's, also for a label that nobody has and one never predicted."""
    rng = np.random.default_rng(0)
    labels = (rng.random((30, 4)) < [0.5, 0.3, 0.0, 0.6]).astype(np.int32)
    logits = rng.normal(size=(30, 4)) - [0, 0, 0, 9]
    task = create_task("multi_label", "t", labels=tuple("abcd"))
    table = Table("t.tsv", ["a"] * 30, None, labels, np.arange(30))
    task.write_scored(tmp_path, "dev", _prepared(table), logits)
    errors = (tmp_path / "dev_errors.tsv").read_text()
    assert errors.startswith("row\tlabel\tprediction\ttext\n")  # and no pair
    assert "\ta|b\t" in errors
    report = json.loads((tmp_path / "dev_class_scores.json").read_text())
    expected = sklearn.metrics.multilabel_confusion_matrix(labels, logits > 0)
    np.testing.assert_array_equal(report["confusion"], expected)
    scores = sklearn.metrics.precision_recall_fscore_support
    columns = scores(labels, logits > 0, average=None, zero_division=0)
    names = ("precision", "recall", "f1", "support")
    for name, column in zip(names, columns, strict=True):
        found = [report["classes"][label][name] for label in "abcd"]
        np.testing.assert_allclose(found, column)


def test_regression_is_written_as_a_number(tmp_path):
    task = create_task("regression", "sts-b")
    task.write_predicted(tmp_path, "", _prepared(_TABLE), _LOGITS[:, :1])
    lines = (tmp_path / "submit_results.tsv").read_text().splitlines()
    assert lines[1] == "0\t2.000"
    lines = (tmp_path / "test_results.tsv").read_text().splitlines()
    assert lines[:2] == ["row\tscore", "0\t2.0"]
    # The largest errors come first.
    labels = np.array([1.0, 2.0, 3.0], np.float32)
    table = Table("t.tsv", ["a", "b", "c"], ["p", "q", "r"], labels, np.arange(3))
    write_errors(tmp_path / "w.tsv", task, table, np.array([1.1, 4.0, 2.5]))
    assert (tmp_path / "w.tsv").read_text() == (
        "row\tlabel\tprediction\ttext\ttext_pair\n"
        "1\t2.000\t4.000\tb\tq\n2\t3.000\t2.500\tc\tr\n0\t1.000\t1.100\ta\tp\n"
    )


@pytest.mark.pictures
def test_a_count_is_seen_on_its_share(tmp_path, monkeypatch):
    figures = []

    def figure_of(**settings):
        figures.append(Figure(**settings))
        return figures[-1]

    def drawn(confusion):
        """The sides in inches, the counts and the axes."""
        names = ["no", "$no$ \\", *map(str, range(2, len(confusion)))]
        path = tmp_path / "confusion.png"
        text_task.write_confusion_plot(path, names, np.array(confusion))
        axes = figures[-1].axes[0]
        texts = [(text.get_text(), text.get_color()) for text in axes.texts]
        return figures[-1].get_size_inches().tolist(), texts, axes

    monkeypatch.setattr(plots, "Figure", figure_of)
    sides, texts, axes = drawn([[1097, 3], [1, 1]])
    assert sides == [pytest.approx(5.2), 4.2]
    counts = [("1,097", "white"), ("3", "black"), ("1", "black"), ("1", "black")]
    assert texts == counts
    [image] = axes.images
    assert (*image.get_clim(), image.get_cmap().name) == (0.0, 1.0, "Oranges")
    assert [path.name for path in tmp_path.iterdir()] == ["confusion.png"]
    scores = {"precision": 1.0, "recall": 1.0, "f1": 1.0, "support": 1}
    classes = dict.fromkeys(("no", "yes"), scores)
    ClassificationReport(1.0, classes, np.eye(2, dtype=int)).save(tmp_path / "r.png")
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")
    # Many labels have no counts.
    monkeypatch.setattr(Figure, "savefig", lambda *args, **kwargs: None)
    for labels, side, count in ((30, 21, 30), (36, 24, 0)):
        sides, texts, _ = drawn(np.eye(labels, dtype=int).tolist())
        assert (sides, len(texts)) == ([side + 1, side], count)


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_converted")
def test_train_evaluate_predict_and_run_again(flags, capsys, monkeypatch):
    asked = {
        "do_train": True,
        "do_eval": True,
        "do_predict": True,
        "random_seed": 2,
        "train_step": 120,
        "save_checkpoints_steps": 120,
    }
    out = flags(**asked)
    scores = results(out)
    assert scores["eval_accuracy"] == scores["test_accuracy"] == 1.0
    assert scores["majority_accuracy"] < 0.8 and scores["last_step"] == 120
    assert len((out / "test_results.tsv").read_text().splitlines()) == 21
    assert len((out / "submit_results.tsv").read_text().splitlines()) == 21
    assert (out / "dev_errors.tsv").read_text().count("\n") == 1
    info = json.loads((out / "model" / "training_info.json").read_text())
    assert "labels" not in info["task"]  # they are in head.json
    assert info["versions"]["tensorflow"] == tf.__version__
    model = AlbertForSequenceClassification.from_pretrained(out / "model")
    assert model.labels == ("no", "yes")
    before = {path: path.stat().st_mtime_ns for path in out.glob("model/*")}
    flags(**asked)  # finished: nothing to train
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert results(out) == scores
    capsys.readouterr()
    lines = out.parent / "lines.txt"
    lines.write_text("the film was good\nit is bad\n")
    flags(do_predict=True, task_name=None, data_dir=None, input_file=lines)
    first, second = capsys.readouterr().out.splitlines()[:2]
    assert first.startswith("yes\t0.9") and first.endswith("\tthe film was good")
    assert second.startswith("no\t0.9")
    assert (out / "predictions.tsv").read_text().count("\n") == 2
    exported = []
    monkeypatch.setattr(serving_export, "export", exported.append)
    flags(export_dir=out.parent / "served")
    folders = [(asked.model_dir, asked.export_dir) for asked in exported]
    assert folders == [(str(out / "model"), str(out.parent / "served"))]


@pytest.mark.slow
def test_the_same_command_finishes_a_saving_that_was_interrupted(flags, finished):
    model = finished / "model"
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    (model / ".ready").mkdir()
    for name in ("head.json", "model.weights.h5", "SHA256SUMS"):
        (model / name).rename(model / ".ready" / name)
    with pytest.raises(UserError, match="out/model holds files of a saving that was"):
        flags(do_eval=True)
    assert not (model / "head.json").exists()
    flags(**FINISHED, do_eval=True)
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
    # A best model that is gone is missed.
    shutil.rmtree(model)
    for asked in ({"do_train": True}, {**FINISHED, "do_eval": True}):
        with pytest.raises(UserError, match="out/model, the best model of .*, is gone"):
            flags(**asked)


@pytest.mark.slow
def test_several_runs_report_median_and_spread(flags, monkeypatch, caplog):
    """The spread of runs with NaN is NaN."""
    caplog.set_level("INFO", "absl")
    scores = iter([(1.0, 2.0), (float("nan"), 1.0), (0.0, 4.0)])

    def scored(options):
        pearson, loss = next(scores)
        return {"pearson": pearson, "loss": loss, "seed": options.random_seed}

    monkeypatch.setattr(run, "train_and_apply", scored)
    last_seed = 2**32 - 1
    changes = {"random_seed": last_seed, "num_runs": 3, "do_train": True}
    out = flags(do_eval=True, **changes)
    runs = json.loads((out / "runs.json").read_text())
    assert [one["random_seed"] for one in runs] == [last_seed, 0, 1]
    found, kinds = results(out), ("min", "median", "max")
    assert all(math.isnan(found[f"pearson_{kind}"]) for kind in kinds)
    assert [found[f"loss_{kind}"] for kind in kinds] == [1, 2, 4]
    assert "loss_median = 2.0" in caplog.text and "loss_min" not in caplog.text
    assert [found[f"seed_{kind}"] for kind in kinds] == [0, 1, last_seed]
    with pytest.raises(UserError, match="--num_runs needs --do_train and --do_eval"):
        flags(**changes)


@pytest.mark.slow
def test_a_pair_of_texts_is_predicted_and_no_single_text(flags, saved_task):
    start = saved_task(create_task("regression", "custom", pair=True))
    pair = {"input_text": "good film", "input_text_pair": "bad"}
    out = flags(do_predict=True, init_checkpoint=start, **pair)
    number, *found = (out / "predictions.tsv").read_text().strip().split("\t")
    assert found == [*pair.values()]
    model = AlbertForSequenceClassification.from_pretrained(start)
    expected = model(load_tokenizer(start)(*([text] for text in found)))
    assert float(number) == pytest.approx(float(expected[0, 0]), abs=1e-4)
    both = [create_task("regression", "t", pair=pair) for pair in (True, False)]
    for own, asked in (both, both[::-1]):
        own.check_fits("tuned", own)
        message = "pairs of texts, but" if own.pair else "single texts, but"
        with pytest.raises(UserError, match=f"tuned takes {message} the task t has "):
            own.check_fits("tuned", asked)


def test_an_evaluation_scores_the_test_table_too(asked, tmp_path):
    _, examples = asked(run, do_train=True, do_eval=True)
    assert list(examples) == ["train", "dev", "test"]
    (tmp_path / "data" / "test.tsv").write_text("sentence\ngood film\n")
    _, examples = asked(run, do_train=True, do_eval=True)
    assert list(examples) == ["train", "dev"]
    _, examples = asked(run, do_train=True, do_predict=True)
    assert (list(examples), examples["test"].labels) == (["train", "dev", "test"], None)


@pytest.mark.slow
def test_a_model_is_applied_where_there_is_no_training_table(
    flags, asked, saved_task, tmp_path
):
    task = create_task("multi_label", "custom", labels=("b", "a"))
    data = tmp_path / "new"
    data.mkdir()
    (data / "test.csv").write_text("sentence\ngood film\nbad\n")
    changes = {"data_dir": data, "init_checkpoint": saved_task(task)}
    with pytest.raises(UserError, match="has no dev.tsv"):
        flags(do_predict=True, do_eval=True, **changes)
    (data / "dev.csv").write_text("sentence,label\ngood,a\nbad,a|b\n")
    out = flags(do_eval=True, do_predict=True, **changes)
    lines = (out / "submit_results.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines] == ["index", "0", "1"]
    assert "f1" in results(out)
    flags(do_predict=True, input_text="good", **{**changes, "data_dir": None})
    [own] = Predictor(changes["init_checkpoint"])(["good"])
    assert (out / "predictions.tsv").read_text() == "|".join(own["labels"]) + "\tgood\n"
    with pytest.raises(UserError, match="single texts, but .* --text_pair_column"):
        flags(do_eval=True, text_pair_column="sentence", **changes)
    told, examples = asked(run, do_eval=True, **changes)
    assert told.labels == ("b", "a")
    assert examples["dev"].labels.tolist() == [[0, 1], [1, 1]]


@pytest.mark.slow
def test_the_diagnostic_set(flags, saved_task, tmp_path):
    folder, task = tmp_path / "AX", glue_task("ax")
    folder.mkdir()
    (folder / "diagnostic.tsv").write_text("sentence1\tsentence2\n" + "a\tfilm\n" * 3)
    asked = {"task_name": "ax", "data_dir": tmp_path}
    with pytest.raises(UserError, match="has no training set"):
        flags(do_train=True, **asked)
    asked |= {"init_checkpoint": saved_task(task), "do_eval": True}
    with pytest.raises(UserError, match="no table with labels .* diagnostic-full.tsv"):
        flags(**asked)
    rows = [f"good\tfilm\t{label}" for label in task.labels]
    table = "\n".join(["Premise\tHypothesis\tLabel", *rows]) + "\n"
    (folder / "diagnostic-full.tsv").write_text(table)
    out = flags(**asked, do_predict=True)
    assert {"full_matthew_corr", "full_accuracy"} <= results(out).keys()
    lines = (out / "AX.tsv").read_text().splitlines()
    index, predicted = zip(*(line.split("\t") for line in lines), strict=True)
    assert index == ("index", "0", "1", "2")
    assert {*predicted[1:]} <= {*task.labels}


_LABELS = _LABELS_OF_LOSSES["single_label"]
_OUTPUTS = np.random.default_rng(5).normal(size=(4, 3, 3)).astype(np.float32)


def _with_exits(**flags):
    exits, labels = EarlyExitFlags(early_exit=True, **flags), ("a", "b", "c")
    return create_task("single_label", "t", labels=labels, early_exit=exits)


def _cross_entropy(logits, shares):
    return -(shares * log_softmax(logits, axis=1)).sum(-1).mean()


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_the_loss_weighs_layers_by_depth(share):
    objective = _with_exits(early_exit_distillation=share).objective()
    ones = tf.ones([4, 2], tf.int32)
    batch = dict.fromkeys(("input_ids", "input_mask", "segment_ids"), ones)
    batch["labels"] = tf.constant(_LABELS)
    # A row of padding does not count.
    batch[EXAMPLE_WEIGHTS] = tf.constant([1.0, 1.0, 0.0, 1.0])
    outputs, labels = (np.delete(values, 2, axis=0) for values in (_OUTPUTS, _LABELS))

    def model(features, training, dropout_seed, all_layers):
        assert all_layers
        return tf.constant(_OUTPUTS)

    losses, metrics = objective(model, batch, training=True, dropout_seed=None)
    teacher, expected = softmax(outputs[:, 2], axis=1), 0
    entropy = _cross_entropy(outputs[:, 2], teacher)
    for layer in range(3):
        own = _cross_entropy(outputs[:, layer], np.eye(3)[labels])
        own += share * (_cross_entropy(outputs[:, layer], teacher) - entropy)
        expected += own * (layer + 1) / 6
    assert float(losses["classification"] / 3) == pytest.approx(expected, rel=1e-5)
    right, rows = metrics["accuracy"]
    assert float(right / rows) == np.mean(outputs[:, 2].argmax(-1) == labels)


def test_the_last_head_learns_from_labels_alone():
    """However much the earlier ones learn of it."""
    found = []
    for share in (0.0, 1.0):
        term = _with_exits(early_exit_distillation=share).objective().terms[0]
        logits = tf.constant(_OUTPUTS)
        batch = {"labels": tf.constant(_LABELS), "input_ids": tf.ones([4, 2])}
        with tf.GradientTape() as tape:
            tape.watch(logits)
            loss, _ = term.sums(logits, batch)
        found.append(tape.gradient(loss, logits).numpy())
    np.testing.assert_allclose(found[0][:, -1], found[1][:, -1], atol=1e-7)
    assert np.abs(found[0] - found[1])[:, :-1].min() > 1e-4


def test_early_answers_have_scores_of_their_own():
    tokens = TokenizedExamples(None, None, None, None, _LABELS)
    rule = ExitRule("probability", 0.5)
    layers = exit_layers(_OUTPUTS, rule, "single_label")
    sure = softmax(_OUTPUTS, axis=2).max(-1) > 0.5
    expected = [next((i for i in range(2) if row[i]), 2) + 1 for row in sure]
    assert layers.tolist() == expected and len(set(expected)) > 1
    prepared = Prepared(None, tokens)
    scores = early_scores(_with_exits(), prepared, _OUTPUTS, rule, "single_label")
    early = _OUTPUTS[np.arange(4), layers - 1]
    assert scores["exit_accuracy"] == np.mean(early.argmax(-1) == _LABELS)
    assert scores["exit_layer"] == np.mean(expected)
    # The task of a model says nothing of its heads.
    assert "early_exit" not in _with_exits().to_dict()
    arguments = _with_exits(exit_heads="shared", exit_threshold=2.0).model_arguments()
    assert arguments["exit_heads"] == "shared"
    assert arguments["exit_rule"] == ExitRule("patience", 2)


@pytest.mark.slow
def test_a_model_with_exits_is_trained_scored_and_loaded(flags, tmp_path):
    path = tmp_path / "tiny.json"
    values = {**json.loads(path.read_text()), "num_hidden_layers": 4}
    path.write_text(json.dumps(values))
    exits = {"early_exit": True, "exit_heads": "per_layer", "exit_threshold": 1}
    out = flags(do_train=True, **exits)
    history = json.loads((out / "history.json").read_text())
    assert history[-1]["exit_layer"] <= 4
    model = AlbertForSequenceClassification.from_pretrained(out / "model")
    assert model.exit_heads == "per_layer"
    assert model.exit_rule == ExitRule("patience", 1)
    # Without --do_train the model says how it leaves.
    flags(do_eval=True)
    scores = results(out)
    assert scores["eval_accuracy"] == 1.0
    assert scores["exit_accuracy"] > 0.8
    assert 2 <= scores["exit_layer"] < 4
