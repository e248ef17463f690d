"""Frequent tokens are predicted less often: the law, and its way from a text."""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.tokenization import load_tokenizer
from data_pipeline import count_tokens
from data_pipeline.create_pretraining_data import create_pretraining_data
from data_pipeline.input_pipeline import pretraining_dataset
from data_pipeline.sequences.masking import mask_tokens
from data_pipeline.sequences.masking_options import MaskingOptions

_COUNTS = (0, 0, 0, 0, 0, 1, 8, 64, 0)
_OPTIONS = MaskingOptions(
    vocab_size=9,
    mask_id=4,
    cls_id=2,
    sep_id=3,
    pad_id=0,
    max_predictions_per_seq=1,
    ngram=1,
    mask_smoothing=2 / 3,
    token_counts=_COUNTS,
)


def first_choices(text, word_starts, rows=20_000, **changes):
    """Counts how often each place of a text is the predicted one, as shares."""
    ids = np.tile([2, *text, 3], (rows, 1)).astype(np.int32)
    starts = np.tile([False, *word_starts, False], (rows, 1))
    options = dataclasses.replace(_OPTIONS, **changes)
    out = mask_tokens(tf.constant(ids), tf.constant(starts), options, (1, 2))
    places = out["masked_lm_positions"].numpy()[:, 0] - 1
    return np.bincount(places, minlength=len(text)) / rows


def test_words_are_chosen_by_their_weights():
    # 1, 8 and 64 to the power of -2/3, and a token that never occurs counts once.
    weights = np.array([1, 1 / 4, 1 / 16, 1])
    shares = first_choices([5, 6, 7, 8], [True] * 4)
    np.testing.assert_allclose(shares, weights / weights.sum(), atol=0.01)
    alike = first_choices([5, 6, 7, 8], [True] * 4, mask_smoothing=0.0)
    np.testing.assert_allclose(alike, 1 / 4, atol=0.01)


def test_a_word_has_the_mean_weight_of_its_tokens():
    many = {"max_predictions_per_seq": 2, "masked_lm_prob": 0.4}
    shares = first_choices([5, 7, 6, 6], [True, False, True, False], **many)
    weights = np.array([(1 + 1 / 16) / 2, 1 / 4])
    np.testing.assert_allclose(shares[::2], weights / weights.sum(), atol=0.01)
    assert not shares[1::2].any()


@pytest.fixture
def counts_file(tmp_path, corpus_file, model_file):
    path = tmp_path / "corpus.counts"
    count_tokens.count_tokens(
        count_tokens.CountTokensOptions(
            input_file=str(corpus_file),
            output_file=str(path),
            spm_model_file=model_file,
        )
    )
    return path


@pytest.fixture
def make(make_options, tmp_path, counts_file):
    """Makes records with smoothed masks."""

    def data(name="data", **changes):
        values = {
            "output_file": str(tmp_path / name / "x.tfrecord"),
            "dupe_factor": 1,
            "ngram": 1,
            "do_whole_word_mask": False,
            "mask_smoothing": 0.7,
            "token_counts_file": str(counts_file),
        }
        create_pretraining_data(make_options(**{**values, **changes}))
        return tmp_path / name

    return data


def mean_count(folder, model_file, counts):
    """Computes the mean log of the counts of the tokens to predict."""
    tokenizer = load_tokenizer(model_file)
    dataset = pretraining_dataset(str(folder), tokenizer, 8, 32, 5, 1, False)
    logs = [
        np.log1p(counts[batch["masked_lm_ids"].numpy()])[batch["masked_lm_weights"] > 0]
        for batch in dataset
    ]
    return np.concatenate(logs).mean()


@pytest.mark.parametrize("masking", ["static", "dynamic"])
def test_smoothed_masks_predict_rarer_tokens(make, model_file, counts_file, masking):
    counts = np.array(json.loads(counts_file.read_text())["counts"])
    smoothed = mean_count(make(masking=masking), model_file, counts)
    plain = make("plain", masking=masking, mask_smoothing=0.0, token_counts_file=None)
    alike = mean_count(plain, model_file, counts)
    assert smoothed < alike - 0.05


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"token_counts_file": None}, "need each other; pass both"),
        ({"mask_smoothing": 0.0}, "need each other; pass both"),
    ],
)
def test_what_does_not_fit_is_refused(make, changes, message, tmp_path):
    with pytest.raises(UserError, match=message):
        make(**changes)
    assert not (tmp_path / "data").exists()


def test_counts_of_another_vocabulary_are_refused(make, counts_file, tmp_path):
    found = json.loads(counts_file.read_text())
    counts_file.write_text(json.dumps({**found, "tokenizer": "another"}))
    with pytest.raises(UserError, match="does not count the tokens of this vocabulary"):
        make()
    counts_file.write_text(json.dumps({**found, "counts": [-1]}))
    with pytest.raises(UserError, match="does not count the tokens of this vocabulary"):
        make()
    assert not (tmp_path / "data").exists()
