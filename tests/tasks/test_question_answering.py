"""run_squad: losses, answers as in the official code, and from flags to files."""

import json
import random
import types

import numpy as np
import pytest
import tensorflow as tf
from scipy.special import expit
from scipy.special import log_softmax

from albert_tf.errors import UserError
from albert_tf.optimizers.flags import OptimizerFlags
from albert_tf.tasks.question_answering import answers
from albert_tf.tasks.question_answering import run
from albert_tf.tasks.question_answering.flags import SquadOptions
from albert_tf.tasks.question_answering.objective import QuestionAnsweringObjective
from albert_tf.tasks.question_answering.questions import read_paragraphs
from albert_tf.tasks.question_answering.windows import WindowSizes
from albert_tf.tasks.question_answering.windows import windows_of
from albert_tf.tasks.registry import create_task
from tests.tasks.conftest import APPLIED
from tests.tasks.conftest import results

FEATURES = ("input_ids", "input_mask", "segment_ids")
SCORES = np.random.default_rng(4).normal(size=(2, 3, 6)).astype(np.float32)
LABELS = np.array([[2, 3, 0], [0, 0, 1], [4, 4, 0]], np.int32)
CLS = np.array([-1.5, 0.5, 2.0], np.float32)


def losses_of(version, rows, **extra):
    batch = dict.fromkeys(FEATURES, tf.ones([len(rows), 6], tf.int32))
    batch |= {"labels": tf.constant(LABELS[rows]), **extra}
    objective = QuestionAnsweringObjective(version)

    def model(features, training, dropout_seed):
        names = [*FEATURES, *["start_positions"] * (version == 2)]
        assert sorted(features) == sorted(names)
        start, end = SCORES[:, rows]
        if version == 1:
            return {"start_logits": start, "end_logits": end}
        np.testing.assert_array_equal(features["start_positions"], LABELS[rows, 0])
        return {
            "start_log_probs": tf.constant(log_softmax(start, axis=1)),
            "end_log_probs": tf.constant(log_softmax(end, axis=1)),
            "cls_logits": tf.constant(CLS[rows]),
        }

    losses, metrics = objective(model, batch, training=True, dropout_seed=None)
    assert tuple(losses) == objective.loss_terms
    assert tuple(metrics) == objective.metric_names
    weights = objective.denominators(batch)
    losses = {term: float(loss / weights[term]) for term, loss in losses.items()}
    return losses, {name: float(a / b) for name, (a, b) in metrics.items()}


@pytest.mark.parametrize("version", [1, 2])
def test_losses(version):
    losses, metrics = losses_of(version, [0, 1, 2])
    shares = log_softmax(SCORES, axis=2)
    of_sides = np.take_along_axis(shares, LABELS.T[:2, :, None], 2)
    assert losses["span"] == pytest.approx(-of_sides.mean(), rel=1e-5)
    right = SCORES.argmax(-1) == LABELS[:, :2].T
    assert metrics["span_accuracy"] == pytest.approx(right.all(0).mean())
    if version == 2:
        chosen = expit(np.where(LABELS[:, 2] == 1, CLS, -CLS))
        expected = -0.5 * np.log(chosen).mean()
        assert losses["answerable"] == pytest.approx(expected, rel=1e-5)
        assert metrics["answerable_accuracy"] == pytest.approx(2 / 3)
    # Padded rows do not count.
    found = losses_of(version, [0, 1, 2], example_weights=tf.constant([1.0, 0, 1]))
    assert found == losses_of(version, [0, 2])


def test_padding_has_no_part_in_the_loss():
    def loss(width, **options):
        mask = np.arange(width)[None] < np.array([[4], [6]])
        # Padding has scores, and high ones.
        scores = np.pad(SCORES[0, :2], [[0, 0], [0, width - 6]], constant_values=3)
        batch = dict.fromkeys(FEATURES, tf.constant(mask.astype(np.int32)))
        batch["labels"] = tf.constant(LABELS[:2])
        outputs = dict.fromkeys(("start_logits", "end_logits"), tf.constant(scores))
        objective = QuestionAnsweringObjective(1, **options)
        losses, metrics = objective(lambda *_, **__: outputs, batch, True, None)
        return float(losses["span"]), float(metrics["span_accuracy"][0])

    assert loss(8) == loss(20) == pytest.approx(loss(6), rel=1e-6)
    assert len({loss(width, counts_padding=True) for width in (6, 8, 20)}) == 3


@pytest.fixture
def windows(letters, squad):
    """Two questions on "a b c d e f", in two windows of four tokens each."""
    path = squad(("a b c d e f", [("1", "x", []), ("2", "y", [])]))
    sizes = WindowSizes(max_seq_length=8, doc_stride=2, max_query_length=1)
    [found] = windows_of(read_paragraphs(path), letters, sizes, {})
    return found  # "c" and "d" are seen best by the first window


def test_version_1_by_hand(windows):
    start, end = np.full((2, 4, 8), -9, np.float32)
    start[0, 3], end[0, 4] = 2, 1  # "a b": 3
    start[0, 1] = 99  # a token of the question is no answer
    end[1, 7] = 99  # nor is [SEP]
    start[1, 3] = 98  # "c" is not scored here, where the first window sees it better
    start[1, 6], end[1, 6] = 1, 0.5  # "f"
    start[2, 5], end[2, 3] = 5, 5  # an end before the start
    scores = answers.beams_of_logits(start, end, n_best_size=3)
    first, second = answers.predict(windows, scores, n_best_size=2, max_answer_length=2)
    assert first.candidates == [
        answers.Candidate("a b", 0, 3, 2.0, 1.0),
        answers.Candidate("f", 10, 11, 1.0, 0.5),
    ]
    assert first.answer() == "a b"
    assert first.probabilities() == pytest.approx([0.81757448, 0.18242552])
    assert second.question_id == "2"
    # Of equal logits those of the first tokens are taken, which are no answers; what
    # is left begins at "c" with 5 and ends with -9.
    assert second.candidates == [answers.Candidate("empty", 0, 0, 0.0, 0.0)]
    # Padding takes no rank, however high its scores are.
    scores = np.float32([[1, 2, 3, 9, 9], [5, 4, 3, 2, 9]])
    lengths = np.array([3, 4])
    starts, _, ends, *_ = answers.beams_of_logits(scores, scores, 2, lengths=lengths)
    assert starts.numpy()[:, :, 0].tolist() == [[2, 1], [0, 1]]
    assert ends.numpy()[:, 0].tolist() == [[2, 1], [0, 1]]


def test_version_2_by_hand(windows):
    none = [0] * 4
    outputs = {
        "start_top_index": np.array([[3, 0], [6, 4], [3, 4], [3, 3]]),
        "start_top_log_probs": np.float32([[-1, -2], [-1, -2], [-3, -4], [-5, -6]]),
        "end_top_index": np.array([[3, 4, 3, 4], [6, 5, 6, 4], [2, 7, 7, 2], [2] * 4]),
        "end_top_log_probs": np.float32([[-1, -2, 0, 0], [-1, 0, -2, 0], none, none]),
        "cls_logits": np.float32([3, 1.5, -2, 4]),
    }
    first, second = answers.predict(windows, answers.beams_of_outputs(outputs), 20, 30)
    # "[CLS] …" is none, and "e d" neither; of equal scores the first window leads.
    assert first.candidates == [
        answers.Candidate("a", 0, 1, -1.0, -1.0),
        answers.Candidate("f", 10, 11, -1.0, -1.0),
        answers.Candidate("d", 6, 7, -2.0, 0.0),
        answers.Candidate("a b", 0, 3, -1.0, -2.0),
        answers.Candidate("d e f", 6, 11, -2.0, -2.0),
    ]
    assert (first.null_odds, second.null_odds) == (1.5, -2)
    assert (first.answer(1.6), first.answer(1.5)) == ("a", "")
    assert second.candidates == [answers.Candidate("", 0, 0, -1e6, -1e6)]
    assert second.candidates[0].score == -2e6
    # Odds are no negative zeros.
    outputs["cls_logits"] = np.float32([-0.0, 2, 1, 0.5])
    found = answers.predict(windows, answers.beams_of_outputs(outputs), 20, 30)
    assert json.dumps([own.null_odds for own in found]) == "[0.0, 0.5]"


@pytest.mark.parametrize("name", ["v1_as_v1", "edge_as_v1", "v2_as_v2", "edge_as_v2"])
def test_official_answers(name, recorded, shared, tmp_path):
    folder = shared(f"fixtures/official_squad/answers_{name}")
    inputs = dict(np.load(folder / "inputs.npz"))
    facts = json.loads((folder / "metrics.json").read_text())
    best, longest = facts["n_best_size"], facts["max_answer_length"]
    if name.endswith("v1"):
        sides = inputs["start_log_prob"], inputs["end_log_prob"]
        scores, count = answers.beams_of_logits(*sides, best), 2
    else:
        scores, count = answers.beams_of_outputs(inputs), 4
    found = answers.predict(recorded(name.partition("_")[0]), scores, best, longest)
    answers.write_answers(tmp_path, found)
    if count == 4:
        without = tmp_path / "predictions_without_threshold.json"
        (tmp_path / "predictions.json").rename(without)
        threshold = facts["evaluate_v2"]["null_score_diff_threshold"]
        answers.write_answers(tmp_path, found, threshold)
    for file in tmp_path.iterdir():
        assert file.read_bytes() == (folder / file.name).read_bytes(), file.name
    assert len(list(tmp_path.iterdir())) == count


_WORDS = [f"{a}{b}" for a in "bdfgklmn" for b in "aeiou"]
_PIECES = ["after", "?", *_WORDS]


def paragraphs(count, impossible=False, answered=True):
    """Paragraphs of words, each with two questions: which word is after this one?"""
    chance = random.Random(3)
    found = []
    for number in range(count):
        words = chance.sample(_WORDS, 8)
        context, asked = " ".join(words), []
        for place in chance.sample(range(7), 2):
            answer = words[place + 1]
            answers = [(answer, context.index(answer))] if answered else []
            asked.append((f"{number}-{place}", f"after {words[place]} ?", answers))
        if impossible:
            missing = next(word for word in _WORDS if word not in words)
            asked[1] = (f"{number}-none", f"after {missing} ?", None)
        found.append((context, asked))
    return found


@pytest.fixture
def flags(tmp_path, squad, tiny_model, command):
    """Runs the command with flags; the defaults are a complete tiny task."""
    data = squad(*paragraphs(32))
    sizes = {"embedding_size": 32, "hidden_size": 32, "intermediate_size": 64}
    return command(
        SquadOptions,
        train_file=data,
        predict_file=data,
        **tiny_model(_PIECES, num_hidden_layers=2, **sizes),
        max_seq_length=12,
        doc_stride=3,
        max_query_length=4,
        train_batch_size=32,
        num_train_epochs=200,
        save_checkpoints_steps=1000,
        learning_rate=3e-3,
        albert_dropout_prob=0,
    )


def read(path):
    return json.loads(path.read_text())


@pytest.mark.slow
def test_learned_by_heart_and_found_again(flags, squad, tmp_path):
    out = flags(do_train=True, do_predict=True)
    scores = results(out)
    assert scores["exact_match"] >= 95
    # 64 questions in batches of 32; each has two windows or more.
    assert scores["global_step"] == scores["last_step"] == 2 * 200
    answers = read(out / "predictions.json")
    asked = [question for _, questions in paragraphs(32) for question in questions]
    gold = {identity: given[0][0] for identity, _, given in asked}
    right = sum(answers[identity] == gold[identity] for identity in gold)
    assert right == round(scores["exact_match"] * 0.64)
    assert gold.keys() == answers.keys()
    assert gold.keys() == read(out / "nbest_predictions.json").keys()
    assert not (out / "null_odds.json").exists()
    assert (out / "dev_errors.html").exists()
    # The windows are those of training, whatever the flags say.
    test = squad(*paragraphs(32, answered=False), name="test.json")
    model = {**APPLIED, "init_checkpoint": out / "model", "doc_stride": 1}
    other = tmp_path / "other"
    flags(do_predict=True, predict_file=test, output_dir=other, **model)
    assert read(other / "predictions.json") == answers
    assert not (other / "eval_results.txt").exists()


@pytest.mark.parametrize(
    ("changes", "steps", "warmup"),
    [
        ({"num_train_epochs": 1.5}, 3, 0),
        ({"num_train_epochs": 5, "warmup_proportion": 0.5}, 10, 5),
        ({"train_step": 4, "warmup_proportion": 0.3}, 4, 1),
        ({"train_step": 4, "warmup_step": 3}, 4, 3),
    ],
)
def test_steps(flags, monkeypatch, changes, steps, warmup):
    def create(self, num_train_steps, num_warmup_steps, **kwargs):
        raise KeyboardInterrupt(num_train_steps, num_warmup_steps)

    monkeypatch.setattr(OptimizerFlags, "create", create)
    with pytest.raises(KeyboardInterrupt) as made:
        flags(do_train=True, **changes)
    assert made.value.args == (steps, warmup)


def options(train_file, predict_file=None, **changes):
    files = {"train_file": train_file, "predict_file": predict_file or train_file}
    values = {"do_train": True, "output_dir": "out", **files, **changes}
    return SquadOptions(**values)


def test_flags_are_settings_of_the_task(squad, flags):
    of_both = {
        "doc_stride": 3,
        "max_query_length": 4,
        "n_best_size": 5,
        "max_answer_length": 6,
    }
    of_second = {"start_n_top": 2, "end_n_top": 3}
    changes = {**of_both, **of_second, "dropout_prob": 0.25}
    first, second = (
        run.read_files(options(squad(*paragraphs(2, impossible)), **changes), None)[0]
        for impossible in (False, True)
    )
    assert (first.kind, second.kind) == ("squad_v1", "squad_v2")
    assert of_both.items() <= first.to_dict().items()
    assert of_both.items() <= second.to_dict().items()
    assert of_second.items() <= second.model_arguments().items()
    assert second.head_dropout_prob == 0.25
    # A served model gives the best three answers, if it compares so many.
    few = create_task("squad_v1", "squad", n_best_size=2)
    for task, limits in ((first, (5, 6, 3)), (few, (2, 30, 2))):
        assert task.string_answers(None, None)._limits == limits
    threshold = {"null_score_diff_threshold": 1.0}
    for changes, message in (
        ({"version": 1, **threshold}, "is for --version=2"),
        (threshold, "is for SQuAD 2.0"),
        ({"version": 2, "max_seq_length": 5, "start_n_top": 7}, "is less than start"),
        ({"train_file": None}, "--do_train needs --train_file"),
        ({"predict_file": None}, "--predict_file is needed to predict and to score"),
    ):
        with pytest.raises(UserError, match=message):
            flags(do_train=True, **{"train_file": squad(*paragraphs(2)), **changes})


def test_a_threshold_is_a_flags_or_that_of_training(squad):
    tuned = create_task("squad_v2", "squad", doc_stride=3)
    test = squad(*paragraphs(2, answered=False), name="test.json")
    dev = squad(*paragraphs(2, impossible=True), name="dev.json")

    def threshold(file, facts=None, **changes):
        opened = types.SimpleNamespace(path="model", facts={"dev": facts or {}})
        changes |= {"do_train": False, "do_predict": True}
        task, examples = run.read_files(options(file, **changes), (opened, tuned))
        assert [*examples] == ["test" if file == test else "dev"]
        return task.null_score_diff_threshold

    name = "null_score_diff_threshold"
    assert threshold(test, {name: 1.5}) == 1.5
    assert threshold(test, {name: 1.5}, **{name: 0.0}) == 0.0
    assert threshold(dev, {name: 1.5}) is None  # the best is chosen
    with pytest.raises(UserError, match="test.json has no answers and model knows no"):
        threshold(test)
    with pytest.raises(UserError, match="fine-tuned for squad_v2, but the task squad"):
        threshold(squad(*paragraphs(2)), version=1)


def test_files_that_do_not_fit_and_bad_rows(squad):
    right, wrong = ("ba", "after ba ?", [("be", 3)]), ("be", "after be ?", [("bi", 0)])
    data = squad(("ba be bi", [right, wrong]), name="bad.json")
    _, examples = run.read_files(options(data, skip_bad_rows=True), None)
    assert [q.id for q in examples["train"].questions] == ["ba"]
    assert examples["train"].num_skipped == 1
    data = squad(("ba be bi", [wrong]), name="bad.json")
    with pytest.raises(UserError, match="bad.json holds no usable question"):
        run.read_files(options(data, skip_bad_rows=True), None)
    good = squad(*paragraphs(1))
    partly = squad(("ba be", [right, ("b", "after be ?", [])]), name="partly.json")
    with pytest.raises(UserError, match="partly.json: there is no answer.* in 1 q"):
        run.read_files(options(good, partly), None)
    test = squad(*paragraphs(2, answered=False), name="test.json")
    for step in ({}, {"do_train": False, "do_eval": True}):
        with pytest.raises(UserError, match="test.json has no answers, and cannot be"):
            run.read_files(options(good, test, **step), None)


@pytest.mark.slow
def test_a_head_of_questions_says_enough(opened, command, squad, tmp_path, caplog):
    caplog.set_level("INFO", "absl")
    served = opened("question_answering")
    served.model.save_pretrained(tmp_path / "theirs", served.tokenizer, format="tf1")
    context = "a film , not good . it is a bad one . was the plot good ?"
    data = squad((context, [("1", "is it good ?", [("bad", 28)])]))
    asked = {"do_predict": True, "n_best_size": 6, "max_answer_length": 4}
    files = {"predict_file": data, "output_dir": tmp_path / "out"}
    run = command(SquadOptions, **files, **asked)

    def answers(model, max_seq_length=20, doc_stride=5, max_query_length=6):
        sizes = {"max_seq_length": max_seq_length, "doc_stride": doc_stride}
        out = run(init_checkpoint=model, max_query_length=max_query_length, **sizes)
        return read(out / "nbest_predictions.json")["1"]

    found = answers(tmp_path / "theirs")
    # What training recorded, no flag changes; of theirs only the flags can tell.
    assert answers(served.folder, 12, 1, 3) == found
    assert (
        f"{served.folder} is applied with its own max_seq_length=20 (not 12), "
        "doc_stride=5 (not 1), max_query_length=6 (not 3)."
    ) in caplog.text
    assert answers(tmp_path / "theirs", 12, 1, 3) != found
    assert "theirs is applied with its own" not in caplog.text
