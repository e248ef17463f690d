"""XLNet's models for tasks on tokens and choices."""

import numpy as np
import pytest

import albert_tf
from albert_tf.errors import UserError
from albert_tf.xlnet.heads import no_answer_mask

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


def test_a_choice_that_is_padding_has_no_chance(xlnet_config, randomised):
    model = randomised(albert_tf.XLNetForMultipleChoice(xlnet_config()))
    row = _row("left")
    choices = {name: np.stack([values, values], 1) for name, values in row.items()}
    choices["input_mask"][:, 1] = 0
    assert model(choices)[0, 1] == -1e9 < model(choices)[0, 0]
    with pytest.raises(UserError, match="2 axes, but XLNetForMultipleChoice takes"):
        model(row)
