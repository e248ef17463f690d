"""Recordings of Hugging Face's RoBERTa, and of XLNet with heads."""

import numpy as np
import pytest

from tools import verify

_FOLDERS = {
    "roberta/masked_lm": 64,
    "roberta/question_answering": 46,
    "roberta/sequence_classification": 46,
    "xlnet_heads/multiple_choice": 42,
    "xlnet_heads/token_classification": 40,
    "xlnet_heads/question_answering_simple": 41,
    "xlnet_heads/question_answering": 66,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", _FOLDERS)
def test_stored_outputs_of_hugging_face(name, shared, capsys):
    verify.main(["", str(shared(f"fixtures/{name}"))])
    agree = f"{_FOLDERS[name]} of {_FOLDERS[name]} arrays agree"
    assert agree in capsys.readouterr().out


def test_a_gradient_that_is_zero_but_for_rounding():
    limit = verify._limit("grad/classifier.bias", np.float32([-3e-8]), 0.036)
    assert 4.5e-8 < limit < 1e-6
    assert verify._limit("grad/other", np.float32([1e-5]), 0.036) < 1e-7
