"""Recordings of reading comprehension: recognised, compared, and broken ones found."""

import json

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.tasks.question_answering import answers
from albert_tf.tasks.question_answering.answers import SpanScores
from albert_tf.tasks.question_answering.answers import predict
from albert_tf.tasks.question_answering.reading.notices import Notices
from albert_tf.tasks.question_answering.reading.questions import read_paragraphs
from albert_tf.tasks.question_answering.windows import WindowSizes
from albert_tf.tasks.question_answering.windows import windows_of
from albert_tf.verify import command
from albert_tf.verify.recordings import tokenizer_of

QUESTIONS = [
    ("the cat sat on the mat.", [("q1", "cat", [("mat", 19)]), ("q2", "dog", None)]),
    (" a  dog\tran", [("q3", "tree", [("dog", 4)])]),
]
SIZES = {"max_seq_length": 10, "doc_stride": 3, "max_query_length": 3}


@pytest.fixture
def made(material, tmp_path):
    """A recording, as the official code would leave it, of our own windows."""
    (tmp_path / "spiece.model").write_bytes((material / "vocab.model").read_bytes())
    data = {"data": [{"title": "t", "paragraphs": []}]}
    for context, questions in QUESTIONS:
        qas = [
            {
                "id": identity,
                "question": text,
                "is_impossible": found is None,
                "answers": [{"text": t, "answer_start": s} for t, s in found or ()],
            }
            for identity, text, found in questions
        ]
        data["data"][0]["paragraphs"].append({"context": context, "qas": qas})
    for part in ("dev", "train"):
        (tmp_path / f"set_{part}.json").write_text(json.dumps(data))
    tokenizer = tokenizer_of(tmp_path, None, True)
    [windows] = windows_of(
        read_paragraphs(tmp_path / "set_dev.json"),
        tokenizer,
        WindowSizes(**SIZES),
        Notices(),
        is_training=True,
    )
    assert len(windows) > 3
    facts = {**SIZES, "do_lower_case": True, "dropped": []}
    facts["qids"] = [question.id for question in windows.questions]
    (tmp_path / "features_set.json").write_text(json.dumps(facts))
    np.savez(tmp_path / "features_set.npz", **recorded_arrays(windows))
    return tmp_path, windows


def recorded_arrays(windows):
    width = SIZES["max_seq_length"]
    tokens = windows.lengths - windows.first_lengths - 1
    maps = np.full((2, len(windows), width), -1)
    best = np.full((len(windows), width), -1, np.int8)
    spans = windows.padded(windows.spans, width)
    for row, (first, count) in enumerate(
        zip(windows.first_lengths, tokens, strict=True)
    ):
        inside = slice(first, first + count)
        maps[0, row, :count] = spans[row, inside, 0]
        maps[1, row, :count] = spans[row, inside, 1] - 1
        best[row, inside] = windows.padded(windows.is_max_context, width)[row, inside]
    return {
        "example_index": windows.question_index,
        "doc_span_index": windows.window_index,
        "paragraph_len": windows.lengths,
        "paragraph_start": windows.first_lengths,
        "paragraph_tokens": tokens,
        "token_is_max_context": best,
        "tok_start_to_orig_index": maps[0],
        "tok_end_to_orig_index": maps[1],
        "start_position": windows.labels[:, 0],
        "end_position": windows.labels[:, 1],
        "is_impossible": windows.labels[:, 2],
        **windows.features(width),
    }


def failed(folder):
    deviations, _ = command.verify(folder)
    return [deviation.name for deviation in deviations if not deviation.passed]


def test_windows(made, capsys):
    folder, _ = made
    command.main(["", str(folder)])
    assert "14 of 14 arrays agree" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name",
    [
        "input_ids",
        "input_mask",
        "segment_ids",
        "p_mask",
        "paragraph_len",
        "token_is_max_context",
        "start_position",
        "end_position",
        "is_impossible",
    ],
)
def test_other_windows_fail(name, made):
    folder, windows = made
    arrays = recorded_arrays(windows)
    array = arrays[name].copy()
    row = np.flatnonzero(windows.labels[:, 2] == 0)[0]
    place = (row, windows.first_lengths[row]) if array.ndim == 2 else row
    array[place] = 1 - array[place] if array[place] in (0, 1) else array[place] - 1
    np.savez(folder / "features_set.npz", **{**arrays, name: array})
    assert failed(folder) == [f"features_set/{name}"]


def test_white_space_before_a_piece_is_no_deviation(made):
    folder, windows = made
    arrays = recorded_arrays(windows)
    # The official spans begin with the space before a piece.
    arrays["tok_start_to_orig_index"][0, 1] -= 1
    np.savez(folder / "features_set.npz", **arrays)
    assert failed(folder) == []


def test_better_and_worse_spans(made):
    folder, windows = made
    arrays = recorded_arrays(windows)
    # "cat" is recorded as "cat sat", which is not that piece.
    arrays["tok_end_to_orig_index"][0, 1] += 4
    np.savez(folder / "features_set.npz", **arrays)
    deviations, _ = command.verify(folder)
    noted = {d.name: d.note for d in deviations if d.note}
    assert noted["features_set/tok_end_to_orig_index"] == "better than recorded: 1"
    assert failed(folder) == []
    # The same piece, but of the other "the": that is a deviation.
    arrays = recorded_arrays(windows)
    ends = arrays["tok_end_to_orig_index"][0]
    token = np.flatnonzero(ends >= arrays["tok_start_to_orig_index"][0])[0]
    assert ends[token] < 3
    arrays["tok_start_to_orig_index"][0, token] += 15
    ends[token] += 15
    np.savez(folder / "features_set.npz", **arrays)
    assert failed(folder) == [
        "features_set/tok_start_to_orig_index",
        "features_set/tok_end_to_orig_index",
    ]


def test_a_missing_window_fails(made):
    folder, windows = made
    arrays = {name: array[:-1] for name, array in recorded_arrays(windows).items()}
    np.savez(folder / "features_set.npz", **arrays)
    assert failed(folder) == ["features_set/windows"]


def add_answers(folder, windows, version):
    """A recording of answers to random scores; returns its folder."""
    rng = np.random.default_rng(version)
    shape = (len(windows), SIZES["max_seq_length"])
    inner = folder / f"answers_set_as_v{version}"
    inner.mkdir()
    facts = {"n_best_size": 4, "max_answer_length": 3}
    if version == 1:
        inputs = {
            name: rng.normal(size=shape).astype("float32")
            for name in ("start_log_prob", "end_log_prob")
        }
        scores = SpanScores.of_logits(*inputs.values(), 4)
    else:
        inputs = {
            "start_top_log_probs": rng.normal(size=(len(windows), 2)),
            "start_top_index": rng.integers(0, 9, (len(windows), 2)),
            "end_top_log_probs": rng.normal(size=(len(windows), 6)),
            "end_top_index": rng.integers(0, 9, (len(windows), 6)),
            "cls_logits": rng.normal(size=len(windows)),
        }
        scores = SpanScores.of_beams(inputs)
        facts["evaluate_v2"] = {"null_score_diff_threshold": 0.25}
    found = predict(windows, scores, 4, 3)
    threshold = None if version == 1 else 0.25
    answers.write_predictions(inner / "predictions.json", found, threshold)
    answers.write_n_best(inner / "nbest_predictions.json", found)
    np.savez(inner / "inputs.npz", **inputs)
    (inner / "metrics.json").write_text(json.dumps(facts))
    return inner


@pytest.mark.parametrize("version", [1, 2])
def test_answers(version, made):
    folder, windows = made
    inner = add_answers(folder, windows, version)
    deviations, _ = command.verify(inner)
    names = [d.name for d in deviations if d.passed]
    assert names[:2] == ["predictions.json", "nbest_predictions.json"]
    # Together with the windows, too.
    deviations, _ = command.verify(folder)
    assert f"{inner.name}/predictions.json" in [d.name for d in deviations]
    path = inner / "nbest_predictions.json"
    values = json.loads(path.read_text())
    values["q3"][0]["probability"] += 1e-16 + np.spacing(values["q3"][0]["probability"])
    path.write_text(json.dumps(values))
    assert "nbest_predictions.json" in failed(inner)
    (inner / "predictions.json").write_text(json.dumps({"q1": "cat", "more": ""}))
    assert failed(inner)[0] == "predictions.json"


def test_scores_of_other_windows(made):
    folder, windows = made
    inner = add_answers(folder, windows, 1)
    inputs = {n: a[1:] for n, a in np.load(inner / "inputs.npz").items()}
    np.savez(inner / "inputs.npz", **inputs)
    with pytest.raises(UserError, match="has scores of"):
        command.verify(inner)


def test_windows_without_a_vocabulary(made):
    folder, _ = made
    (folder / "spiece.model").rename(folder / "vocabulary")
    with pytest.raises(UserError, match="name it with --spm_model_file"):
        command.verify(folder)
    deviations, _ = command.verify(folder, folder / "vocabulary")
    assert all(deviation.passed for deviation in deviations)


def test_official_recordings(shared, capsys):
    command.main(["", str(shared("fixtures/official_squad"))])
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "162 of 162 arrays agree"
    noted = {line.split()[0]: line[-25:].strip() for line in lines if "better" in line}
    assert noted == {
        "features_edge/tok_start_to_orig_index": "better than recorded: 37",
        "features_edge/tok_end_to_orig_index": "better than recorded: 37",
        "features_edge/start_position": "better than recorded: 1",
        "features_edge/end_position": "better than recorded: 1",
        "features_edge/is_impossible": "better than recorded: 1",
    }
