"""Frequent tokens are predicted less often: the law, and its way from a text."""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from data_pipeline import count_tokens
from data_pipeline.create_pretraining_data import create_pretraining_data
from data_pipeline.input_pipeline import pretraining_dataset
from data_pipeline.sequences.masking import mask_tokens
from data_pipeline.sequences.masking_options import MaskingOptions

_SMOOTHING = {"mask_smoothing": 2 / 3, "token_counts": (0, 0, 0, 0, 0, 1, 8, 64, 0)}
_OPTIONS = MaskingOptions(
    9, 4, 2, 3, 0, max_predictions_per_seq=1, ngram=1, **_SMOOTHING
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


@pytest.fixture(scope="module")
def counts_file(tmp_path_factory, corpus_file, model_file):
    path = tmp_path_factory.mktemp("counts") / "corpus.counts"
    flags = {"input_file": corpus_file, "output_file": path}
    flags["spm_model_file"] = model_file
    count_tokens.main(["count_tokens", *(f"--{k}={v}" for k, v in flags.items())])
    return path


def test_the_tokens_of_a_corpus_are_counted(counts_file, corpus_file, tokenizer):
    found = json.loads(counts_file.read_text())
    ids, _ = tokenizer.encode_flat(corpus_file.read_text().splitlines())
    expected = np.bincount(ids, minlength=tokenizer.vocab_size)
    assert found["counts"] == expected.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("masking", ["static", "dynamic"])
def test_smoothed_masks_predict_rarer_tokens(made, tokenizer, counts_file, masking):
    counts = np.array(json.loads(counts_file.read_text())["counts"])

    def mean_log_count(**changes):
        single = {"masking": masking, "ngram": 1, "do_whole_word_mask": False}
        folder = str(made(**single, **changes))
        batches = pretraining_dataset(folder, tokenizer, 8, 32, 5, 1, False)
        logs = (
            np.log1p(counts[b["masked_lm_ids"]])[b["masked_lm_weights"] > 0]
            for b in batches.as_numpy_iterator()
        )
        return np.concatenate([*logs]).mean()

    smoothed = {"mask_smoothing": 0.7, "token_counts_file": str(counts_file)}
    assert mean_log_count(**smoothed) < mean_log_count() - 0.05


@pytest.mark.parametrize("changes", [{"tokenizer": "another"}, {"counts": [-1]}])
def test_counts_of_another_vocabulary_are_refused(
    changes, counts_file, make_options, tmp_path
):
    found = json.loads(counts_file.read_text())
    path = tmp_path / "other.counts"
    path.write_text(json.dumps({**found, **changes}))
    options = make_options(mask_smoothing=0.7, token_counts_file=str(path))
    with pytest.raises(UserError, match="does not count the tokens of this vocabulary"):
        create_pretraining_data(options)


def test_text_of_another_encoding_is_not_counted(model_file, tmp_path):
    (tmp_path / "gbk.txt").write_text("我们在这里\n" * 9, "gbk")
    options = count_tokens.CountTokensOptions(
        input_file=str(tmp_path / "gbk.txt"),
        output_file=str(tmp_path / "x.counts"),
        spm_model_file=model_file,
    )
    with pytest.raises(UserError, match="are not UTF-8, too many to count"):
        count_tokens.count_tokens(options)
