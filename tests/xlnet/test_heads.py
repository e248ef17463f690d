"""XLNet's models for tasks on tokens and choices."""

import numpy as np
import pytest

import albert_tf
from albert_tf.errors import UserError
from albert_tf.xlnet.heads import no_answer_mask
from tests.models.heads.answer_beams_reference import Reference

# text [SEP] question [SEP] [CLS], padded on either side; the text has two tokens.
_SEGMENTS = {"left": [[3, 3, 0, 0, 0, 1, 1, 2]], "right": [[0, 0, 0, 1, 1, 2, 3, 3]]}
_IDS = {"left": [[5, 5, 9, 8, 4, 7, 4, 3]], "right": [[9, 8, 4, 7, 4, 3, 5, 5]]}
_NO_ANSWER = {"left": [[1, 1, 0, 0, 1, 1, 1, 0]], "right": [[0, 0, 1, 1, 1, 0, 1, 1]]}


def _row(side):
    segments = np.array(_SEGMENTS[side], "int32")
    mask = (segments < 3).astype("int32")
    return {
        "input_ids": np.array(_IDS[side], "int32"),
        "input_mask": mask,
        "segment_ids": segments,
    }


@pytest.mark.parametrize("side", _SEGMENTS)
def test_answers_may_lie_in_the_text_and_at_the_last_token(side):
    row = _row(side)
    found = no_answer_mask(row["input_mask"], row["segment_ids"])
    np.testing.assert_array_equal(found, _NO_ANSWER[side])
    # An unpadded row without a question.
    np.testing.assert_array_equal(
        no_answer_mask(np.ones((1, 4)), np.array([[0, 0, 1, 2]])), [[0, 1, 1, 0]]
    )


@pytest.fixture
def reader(xlnet_config, randomised):
    config = xlnet_config(mem_len=4, bi_data=True)  # of pretraining
    return randomised(
        albert_tf.XLNetForQuestionAnswering(config, start_n_top=2, end_n_top=2)
    )


@pytest.mark.parametrize("side", _SEGMENTS)
def test_the_beams(reader, side):
    row, p_mask = _row(side), np.array(_NO_ANSWER[side])
    none = np.array([np.flatnonzero(row["input_mask"][0])[-1]])
    reference = Reference(reader, row, p_mask, none)
    start = np.array([np.flatnonzero(row["input_mask"][0])[1]], "int32")
    outputs = reader({**row, "start_positions": start})
    expected = {
        "start_log_probs": reference.starts,
        "end_log_probs": reference.ends(start),
        "cls_logits": reference.answer(start),  # not of the expected start
    }
    for name, values in expected.items():
        np.testing.assert_allclose(outputs[name], values, rtol=1e-5, atol=1e-5)
    outputs = reader(row)
    np.testing.assert_allclose(outputs["cls_logits"], reference.answer(), atol=1e-5)
    top = np.argsort(-reference.starts, kind="stable")[:, :2]
    np.testing.assert_array_equal(outputs["start_top_index"], top)
    for k in range(2):
        best = np.argsort(-reference.ends(top[:, k]), kind="stable")[:, :2]
        found = outputs["end_top_index"][:, 2 * k : 2 * k + 2]
        np.testing.assert_array_equal(found, best)
    with pytest.raises(UserError, match="XLNetForQuestionAnswering needs p_mask or s"):
        reader({"input_ids": row["input_ids"]})
    with pytest.raises(UserError, match="predicts no tokens; leave target_positions"):
        reader({**row, "target_positions": start[None]})


def test_logits_are_linear_in_the_content_stream(xlnet_config, randomised):
    row = _row("left")
    spans = randomised(albert_tf.XLNetForQuestionAnsweringSimple(xlnet_config()))
    tags = randomised(albert_tf.XLNetForTokenClassification(xlnet_config(), 3))
    for model, layer in ((spans, spans.span_head), (tags, tags.classifier)):
        hidden = model.transformer(row)["sequence_output"].numpy()
        expected = hidden @ layer.kernel.numpy() + layer.bias.numpy()
        found = model(row)
        if isinstance(found, dict):
            found = np.stack([found["start_logits"], found["end_logits"]], axis=-1)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    texts = albert_tf.XLNetForSequenceClassification(xlnet_config(), num_labels=3)
    dense, last = randomised(texts).summary_dense, texts.classifier
    state = texts.transformer(row)["sequence_output"][:, -1]  # of the last token
    summary = np.tanh(state @ dense.kernel.value + dense.bias)
    expected = summary @ last.kernel.value + last.bias
    np.testing.assert_allclose(texts(row), expected, atol=1e-5)


def test_a_choice_has_the_score_of_its_row(xlnet_config, randomised):
    model = randomised(albert_tf.XLNetForMultipleChoice(xlnet_config()))
    rows = [_row("left"), _row("left")]
    rows[1]["input_ids"] = rows[1]["input_ids"] + 1
    choices = {name: np.stack([row[name] for row in rows], 1) for name in rows[0]}
    scores = model(choices).numpy()
    assert scores.shape == (1, 2)
    for place, row in enumerate(rows):
        summary = model.summarize(model.transformer(row)["sequence_output"][:, -1])
        expected = model.classifier(summary)[0, 0]
        np.testing.assert_allclose(scores[0, place], expected, rtol=1e-5)
    choices["input_mask"][:, 1] = 0
    assert model(choices)[0, 1] == -1e9
    with pytest.raises(UserError, match="2 axes, but XLNetForMultipleChoice takes"):
        model(rows[0])
