"""The law of the mask, exactly and statistically, and the smoothing of its choices."""

import collections
import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from data_pipeline import count_tokens
from data_pipeline.create_pretraining_data import create_pretraining_data
from data_pipeline.input_pipeline import pretraining_dataset
from data_pipeline.sequences import masking
from data_pipeline.sequences.masking import mask_tokens
from data_pipeline.sequences.masking_options import MaskingOptions

PAD, CLS, SEP, MASK = 0, 2, 3, 4
VOCABULARY = 50
OPTIONS = MaskingOptions(VOCABULARY, MASK, CLS, SEP, PAD, max_predictions_per_seq=9)


def batch(rows, a_length, b_length, padding=0, word_every=1):
    """Makes [CLS] A [SEP] B [SEP] of ids from 5 up; a word starts every few tokens."""
    real = a_length + b_length + 3
    ids = np.full([rows, real + padding], PAD, np.int32)
    text = np.random.default_rng(0).integers(5, VOCABULARY, (rows, real))
    ids[:, :real] = text
    ids[:, 0] = CLS
    ids[:, [a_length + 1, real - 1]] = SEP
    starts = np.zeros(ids.shape, np.bool_)
    starts[:, 1 : a_length + 1 : word_every] = True
    starts[:, a_length + 2 : real - 1 : word_every] = True
    return ids, starts


def mask(ids, starts, seed=(1, 2), **changes):
    options = dataclasses.replace(OPTIONS, **changes)
    out = mask_tokens(tf.constant(ids), tf.constant(starts), options, seed)
    return {name: values.numpy() for name, values in out.items()}


def targets(out, row):
    """Maps position to label of one sequence."""
    real = out["masked_lm_weights"][row] == 1
    positions = out["masked_lm_positions"][row][real].tolist()
    return dict(zip(positions, out["masked_lm_ids"][row][real].tolist(), strict=True))


@pytest.mark.parametrize(("length", "expected"), [(5, 1), (30, 4), (50, 8), (100, 9)])
def test_budget_is_the_official_one(length, expected):
    # 30 * 0.15 = 4.5 and 50 * 0.15 = 7.5 round to even, as in Python.
    ids, starts = batch(4, length - 4, 1, padding=3)
    out = mask(ids, starts)
    assert (out["masked_lm_weights"].sum(axis=1) == expected).all()
    assert out["masked_lm_weights"].dtype == np.float32
    assert out["masked_lm_positions"].shape == (4, 9)
    few = mask(ids, starts, masked_lm_prob=0.001)  # rounds to 0
    assert few["masked_lm_weights"].sum(axis=1).tolist() == [1] * 4


def test_targets_are_ordered_and_labelled_with_the_original():
    ids, starts = batch(50, 20, 20)
    out, other = mask(ids, starts), mask(ids, starts, (1, 3))
    assert (out["masked_lm_positions"] != other["masked_lm_positions"]).any()
    graph = tf.function(
        lambda *given: mask_tokens(*given, OPTIONS, tf.constant([1, 2]))
    )
    in_graph = graph(tf.constant(ids), tf.constant(starts))
    tf.nest.map_structure(np.testing.assert_array_equal, in_graph, out)
    changed = out["input_ids"] != ids
    for row in range(50):
        found = targets(out, row)
        assert list(found) == sorted(set(found))
        assert all(ids[row, position] == label for position, label in found.items())
        assert set(np.flatnonzero(changed[row])) <= set(found)
        assert ids[row, list(found)].min() >= 5
    padding = out["masked_lm_weights"] == 0
    assert not out["masked_lm_positions"][padding].any()
    assert not out["masked_lm_ids"][padding].any()


@pytest.mark.parametrize(
    ("ngram", "favor_shorter", "law"),
    [(1, True, [11]), (3, True, [6, 3, 2]), (3, False, [2, 3, 6])],
)
def test_span_length_law(ngram, favor_shorter, law):
    seed = tf.constant([3, 4])
    lengths = masking.draw_lengths([20000], ngram, seed, favor_shorter).numpy()
    shares = np.bincount(lengths, minlength=ngram + 1)[1:] / 20000
    np.testing.assert_allclose(shares, np.divide(law, 11), atol=0.012)


def test_visits_equal_the_official_loop():
    """The same order and the same draws, in the official code's sequential form."""
    ids, starts = batch(64, 23, 17, padding=5)
    starts &= np.random.default_rng(1).random(starts.shape) < 0.6
    special = (ids == CLS) | (ids == SEP) | (ids == PAD)
    words = masking._find_words(tf.constant(starts), tf.constant(special), 3)
    budget = tf.constant(np.arange(64) % 9 + 1, tf.int32)
    seed = tf.constant([5, 6])
    none = tf.zeros_like(words["starts"], tf.bool)
    covered = masking._cover(words, none, budget, OPTIONS, seed)
    selected = masking._covered_tokens(words, covered, tf.constant(special)).numpy()
    order_seed, length_seed = tf.unstack(tf.random.split(seed, 2))
    shape = words["longest"].shape
    keys = tf.random.stateless_uniform(shape, order_seed).numpy()
    drawn = masking.draw_lengths(shape, OPTIONS.ngram, length_seed).numpy()
    for row in range(64):
        expected = official_loop(
            special[row], starts[row], keys[row], drawn[row], int(budget[row])
        )
        assert set(np.flatnonzero(selected[row])) == expected


def official_loop(special, starts, keys, drawn, budget):
    units = []  # Words as lists of positions; None for a special token.
    for position, is_special in enumerate(special):
        if is_special:
            units.append(None)
        elif starts[position] or units[-1] is None:
            units.append([position])
        else:
            units[-1].append(position)
    chosen = set()
    candidates = [i for i, unit in enumerate(units) if unit is not None]
    for visit, unit in enumerate(sorted(candidates, key=lambda i: keys[i])):
        if len(chosen) >= budget:
            break
        spans = []
        for word in units[unit : unit + 3]:
            if word is None:
                break
            spans.append([*(spans[-1] if spans else []), *word])
        n = min(drawn[visit], len(spans))
        while n and len(chosen) + len(spans[n - 1]) > budget:
            n -= 1
        if n and not chosen & set(spans[n - 1]):
            chosen |= set(spans[n - 1])
    return chosen


def test_replacement_law():
    ids, starts = batch(3000, 30, 30)
    out = mask(ids, starts)
    counts = collections.Counter()
    for row in range(3000):
        for position, label in targets(out, row).items():
            new = out["input_ids"][row, position]
            counts["mask" if new == MASK else "same" if new == label else "other"] += 1
    new = out["input_ids"][out["input_ids"] != ids]
    assert set(new.tolist()) == set(range(VOCABULARY))
    total = sum(counts.values())
    assert total == 9 * 3000
    # A random id is [MASK] or the same id once in VOCABULARY times each.
    assert abs(counts["mask"] / total - (0.8 + 0.1 / VOCABULARY)) < 0.01
    assert abs(counts["same"] / total - (0.1 + 0.1 / VOCABULARY)) < 0.01


def test_permutation():
    ids, starts = batch(200, 30, 30)
    plain = mask(ids, starts)
    out = mask(ids, starts, do_permutation=True)
    assert out["masked_lm_ids"].shape == (200, 18)
    assert (out["masked_lm_weights"].sum(axis=1) == 18).all()
    moved = 0
    for row in range(200):
        hidden = targets(plain, row)
        permuted = [p for p in targets(out, row) if p not in hidden]
        new = out["input_ids"][row]
        assert sorted(new[permuted]) == sorted(ids[row, permuted])
        assert [targets(out, row)[p] for p in permuted] == ids[row, permuted].tolist()
        np.testing.assert_array_equal(
            new[list(hidden)], plain["input_ids"][row, list(hidden)]
        )
        moved += (new[permuted] != ids[row, permuted]).sum()
    assert moved > 0.5 * 9 * 200


_SMOOTHING = {"mask_smoothing": 2 / 3, "token_counts": (0, 0, 0, 0, 0, 1, 8, 64, 0)}
_SMOOTHED = MaskingOptions(
    9, MASK, CLS, SEP, PAD, max_predictions_per_seq=1, ngram=1, **_SMOOTHING
)


def first_choices(text, word_starts, rows=20_000, **changes):
    """Counts how often each place of a text is the predicted one, as shares."""
    ids = np.tile([2, *text, 3], (rows, 1)).astype(np.int32)
    starts = np.tile([False, *word_starts, False], (rows, 1))
    options = dataclasses.replace(_SMOOTHED, **changes)
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
    # A word has the mean weight of its tokens.
    many = {"max_predictions_per_seq": 2, "masked_lm_prob": 0.4}
    shares = first_choices([5, 7, 6], [True, False, True], **many)
    weights = np.array([(1 + 1 / 16) / 2, 1 / 4])
    np.testing.assert_allclose(shares[::2], weights / weights.sum(), atol=0.01)
    assert not shares[1::2].any()


@pytest.fixture(scope="module")
def counts_file(tmp_path_factory, corpus_file, model_file):
    path = tmp_path_factory.mktemp("counts") / "corpus.counts"
    files = f"--input_file={corpus_file} --output_file={path}"
    count_tokens.main(f"count_tokens {files} --spm_model_file={model_file}".split())
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
