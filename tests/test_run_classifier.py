"""run_classifier from flags to files, on a task that a tiny model learns."""

import json
import random
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from albert_tf import command_line
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.models.sequence_classification import AlbertForSequenceClassification
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.classifier_options import ClassifierOptions
from albert_tf.tasks.repeated_runs import run_repeatedly
from albert_tf.tokenization import load_tokenizer

_OTHER_WORDS = ["the", "a", "film", "plot", "was", "is", "and", "very", "not", "it"]
_PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", *_OTHER_WORDS]


@pytest.fixture
def flags(tmp_path):
    """Runs the command with flags; the defaults are a complete tiny task."""
    vocab = tmp_path / "vocab.txt"
    vocab.write_text("\n".join(_PIECES) + "\n")
    config = tmp_path / "tiny.json"
    AlbertConfig(
        vocab_size=len(_PIECES),
        embedding_size=8,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
    ).to_json_file(config)
    data = tmp_path / "data"
    data.mkdir()
    for name, rows in (("train", 64), ("dev", 20), ("test", 20)):
        _write_table(data / f"{name}.tsv", rows, seed=rows + len(name))
    defaults = {
        "task_name": "custom",
        "data_dir": data,
        "output_dir": tmp_path / "out",
        "from_scratch": True,
        "albert_config_file": config,
        "vocab_file": vocab,
        "max_seq_length": 16,
        "train_batch_size": 16,
        "train_step": 60,
        "save_checkpoints_steps": 30,
        "learning_rate": 5e-3,
        "use_xla": False,
    }

    def run(**changes):
        values = {k: v for k, v in {**defaults, **changes}.items() if v is not None}
        argv = ["run_classifier.py", *(f"--{k}={v}" for k, v in values.items())]
        run_repeatedly(command_line.parse(ClassifierOptions, argv))
        return tmp_path / "out"

    return run


def _write_table(path, rows, seed):
    """`good` or `bad` among other words decides the label."""
    chance = random.Random(seed)
    lines = ["label\tsentence"]
    for _ in range(rows):
        label = chance.choice(["good", "bad"])
        words = chance.choices(_OTHER_WORDS, k=5)
        words.insert(chance.randrange(5), label)
        lines.append(f"{'yes' if label == 'good' else 'no'}\t{' '.join(words)}")
    path.write_text("\n".join(lines) + "\n")


def _results(out):
    lines = (out / "eval_results.txt").read_text().splitlines()
    return {key: float(value) for key, value in (line.split(" = ") for line in lines)}


def test_train_evaluate_predict_and_run_again(flags, capsys):
    out = flags(do_train=True, do_eval=True, do_predict=True)
    results = _results(out)
    assert results["eval_accuracy"] == 1.0
    assert results["test_accuracy"] == 1.0
    assert results["majority_accuracy"] < 0.8
    assert results["last_step"] == 60
    assert len((out / "test_results.tsv").read_text().splitlines()) == 20
    submission = (out / "submit_results.tsv").read_text().splitlines()
    table = (out.parent / "data" / "test.tsv").read_text().splitlines()
    expected = [f"{i}\t{row.split()[0]}" for i, row in enumerate(table[1:])]
    assert submission == ["index\tprediction", *expected]
    assert (out / "dev_errors.tsv").read_text().count("\n") == 1
    info = json.loads((out / "model" / "training_info.json").read_text())
    assert info["task"]["labels"] == ["no", "yes"]

    model = AlbertForSequenceClassification.from_pretrained(out / "model")
    assert model.num_labels == 2
    before = {path: path.stat().st_mtime_ns for path in out.glob("model/*")}
    flags(do_train=True, do_eval=True, do_predict=True)  # finished: nothing to train
    assert {path: path.stat().st_mtime_ns for path in out.glob("model/*")} == before
    assert _results(out) == results

    capsys.readouterr()
    lines = out.parent / "lines.txt"
    lines.write_text("the film was good\nit is bad\n")
    for text in ({"input_text": "the film was good"}, {"input_file": lines}):
        flags(do_predict=True, task_name=None, data_dir=None, **text)
        printed = capsys.readouterr().out.splitlines()
        assert printed[0].startswith("yes\t0.9")
        assert printed[0].endswith("\tthe film was good")
        assert printed[1:] == [] or printed[1].startswith("no\t0.9")
    assert (out / "predictions.tsv").read_text().count("\n") == 2

    flags(export_dir=out.parent / "served")
    assert (out.parent / "served" / "1" / "saved_model.pb").exists()


def test_best_checkpoint_is_kept_not_the_last(flags):
    out = flags(do_train=True, train_step=40, save_checkpoints_steps=10)
    history = json.loads((out / "history.json").read_text())
    assert [entry["step"] for entry in history] == [10, 20, 30, 40]
    best = max(history, key=lambda entry: entry["accuracy"])  # the first of equals
    info = json.loads((out / "model" / "training_info.json").read_text())
    assert (info["step"], info["dev"]["accuracy"]) == (best["step"], best["accuracy"])


def test_epochs_count_in_place_of_steps(flags):
    out = flags(do_train=True, num_train_epochs=1.5)
    assert json.loads((out / "history.json").read_text())[-1]["step"] == 6


def test_early_stopping(flags):
    changes = {"train_step": 60, "save_checkpoints_steps": 5, "learning_rate": 1e-9}
    out = flags(do_train=True, early_stopping_patience=2, **changes)
    history = json.loads((out / "history.json").read_text())
    # The third evaluation after the start is the second that brought nothing better.
    assert [entry["step"] for entry in history] == [5, 10]
    info = json.loads((out / "model" / "training_info.json").read_text())
    assert info["step"] == 5


def test_several_runs_report_median_and_spread(flags):
    changes = {"train_step": 5, "save_checkpoints_steps": 5, "num_runs": 3}
    out = flags(do_train=True, do_eval=True, **changes)
    runs = json.loads((out / "runs.json").read_text())
    assert [run["random_seed"] for run in runs] == [12345, 12346, 12347]
    losses = sorted(run["eval_loss"] for run in runs)
    assert len(set(losses)) == 3
    results = _results(out)
    assert [results[f"eval_loss_{k}"] for k in ("min", "median", "max")] == losses
    with pytest.raises(UserError, match="--num_runs needs --do_train and --do_eval"):
        flags(do_train=True, **changes)


def test_encoder_of_a_checkpoint_is_taken_over(flags, tmp_path):
    config = AlbertConfig.from_json_file(tmp_path / "tiny.json")
    encoder = AlbertModel(config)
    encoder.save_pretrained(tmp_path / "pretrained")
    out = flags(
        do_train=True,
        from_scratch=None,
        albert_config_file=None,
        init_checkpoint=tmp_path / "pretrained",
        albert_dropout_prob=0.1,
        learning_rate=0.0,
        train_step=1,
    )
    model = AlbertForSequenceClassification.from_pretrained(out / "model")
    assert model.config.hidden_dropout_prob == 0.1
    for ours, theirs in zip(model.albert.weights, encoder.weights, strict=True):
        if "seed" not in ours.path:
            assert (ours.numpy() == theirs.numpy()).all()


def test_frozen_encoder_stays_and_the_head_learns(flags, tmp_path):
    config = AlbertConfig.from_json_file(tmp_path / "tiny.json")
    encoder = AlbertModel(config)
    encoder.save_pretrained(tmp_path / "pretrained")
    shared = {"do_train": True, "from_scratch": None, "freeze_encoder": True}
    shared |= {"init_checkpoint": tmp_path / "pretrained", "albert_config_file": None}
    heads = []
    for steps in (1, 5):
        flags(train_step=steps, output_dir=tmp_path / str(steps), **shared)
        out = tmp_path / str(steps) / "model"
        model = AlbertForSequenceClassification.from_pretrained(out)
        for name, weights in encoder.official_variables().items():
            ours = model.albert.official_variables()[name]
            np.testing.assert_array_equal(ours, weights)
        heads.append(model.classifier.output_weights.numpy())
    assert not np.array_equal(*heads)
    both = f"{tmp_path}/1/model,{tmp_path}/5/model"
    target = tmp_path / "served"
    export(ExportOptions(model_dir=both, export_dir=str(target)))
    assert {"1_label", "5_label"} < set(Predictor(target)(["good film"]))


def test_warm_start_replaces_a_head_of_another_size(flags, tmp_path):
    config = AlbertConfig.from_json_file(tmp_path / "tiny.json")
    AlbertForSequenceClassification(config, num_labels=3).save_pretrained(
        tmp_path / "mnli"
    )
    out = flags(
        do_train=True,
        from_scratch=None,
        albert_config_file=None,
        init_checkpoint=tmp_path / "mnli",
        train_step=1,
    )
    model = AlbertForSequenceClassification.from_pretrained(out / "model")
    assert model.num_labels == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"do_train": None}, "Nothing to do"),
        ({"from_scratch": None}, "--init_checkpoint is empty"),
        ({"from_scratch": None, "init_checkpoint": "/nowhere"}, "/nowhere"),
        ({"init_checkpoint": "/nowhere"}, "--from_scratch needs"),
        ({"albert_config_file": None}, "--from_scratch needs"),
        ({"vocab_file": None}, "Name the vocabulary"),
        ({"task_name": None}, "--task_name is needed"),
        ({"max_seq_length": 64}, "more than the model's 32 positions"),
        ({"train_batch_size": 15, "gradient_accumulation_steps": 2}, "batch size 15"),
        ({"text_column": "words"}, "train.tsv has no column 'words'"),
    ],
)
def test_mistakes_are_one_clear_error(flags, tmp_path, changes, message):
    with pytest.raises(UserError, match=message):
        flags(**{"do_train": True, **changes})
    assert not (tmp_path / "out" / "checkpoints").exists()
    assert not (tmp_path / "out" / "model").exists()


def test_a_vocabulary_that_does_not_fit_is_an_error(flags, tmp_path):
    other, reordered = tmp_path / "other.txt", tmp_path / "reordered.txt"
    other.write_text("\n".join([*_PIECES, "more"]) + "\n")
    with pytest.raises(UserError, match="vocabulary has 18 pieces, but the model 17"):
        flags(do_train=True, vocab_file=other)
    reordered.write_text("\n".join([*_PIECES[:5], *reversed(_PIECES[5:])]) + "\n")
    config = AlbertConfig.from_json_file(tmp_path / "tiny.json")
    tokenizer = load_tokenizer(tmp_path / "vocab.txt")
    AlbertModel(config).save_pretrained(tmp_path / "pretrained", tokenizer)
    with pytest.raises(UserError, match="reordered.txt is not the vocabulary"):
        flags(
            do_train=True,
            from_scratch=None,
            init_checkpoint=tmp_path / "pretrained",
            vocab_file=reordered,
        )
    out = flags(  # the checkpoint brings its own
        do_train=True,
        from_scratch=None,
        init_checkpoint=tmp_path / "pretrained",
        vocab_file=None,
        train_step=1,
    )
    found = load_tokenizer(out / "model")
    assert found.fingerprint() == tokenizer.fingerprint()


def test_official_tf1_prefix_is_a_starting_point(flags, shared, tmp_path):
    prefix = shared("fixtures/official_tf1_adamw/model.ckpt-0.index").with_suffix("")
    pieces = [*_PIECES, *(f"word{i}" for i in range(500 - len(_PIECES)))]
    (tmp_path / "large.txt").write_text("\n".join(pieces) + "\n")
    out = flags(
        do_train=True,
        from_scratch=None,
        albert_config_file=None,
        init_checkpoint=prefix,
        vocab_file=tmp_path / "large.txt",
        train_step=1,
        learning_rate=0.0,
    )
    model = AlbertForSequenceClassification.from_pretrained(out / "model")
    expected = tf.train.load_variable(str(prefix), "bert/embeddings/word_embeddings")
    np.testing.assert_array_equal(model.albert.embeddings.word_embeddings, expected)


def test_a_run_is_not_continued_with_other_flags(flags):
    flags(do_train=True, train_step=2)
    with pytest.raises(UserError, match="holds a run with --learning_rate=0.005"):
        flags(do_train=True, train_step=2, learning_rate=0.1)


def test_evaluation_without_a_model_is_an_error(flags):
    with pytest.raises(UserError, match="hold no fine-tuned model"):
        flags(do_eval=True)


def test_command_prints_one_sentence_and_fails(project, tmp_path):
    command = [sys.executable, "run_classifier.py", f"--output_dir={tmp_path}"]
    done = subprocess.run(
        command, cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("error: Nothing to do")
