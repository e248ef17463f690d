"""Masked LM inference: predictions for masks, and pseudo-log-likelihoods of texts."""

import numpy as np
import tensorflow as tf

from albert_tf.display.progress import Progress
from albert_tf.errors import UserError
from albert_tf.inference.loading import check_lengths
from albert_tf.models.replaced_tokens import AlbertForReplacedTokens
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.prediction import require_numbers
from albert_tf.tasks.tokenized_examples import from_features
from albert_tf.tokenization.in_graph.features import mask_positions


def fill_masks(model, tokenizer, texts, text_pairs=None, top_k=5, batch_size=32):
    """Predicts the tokens at each `[MASK]` of each text.

    Args:
        model: an `AlbertForMaskedLM` or an `XLNetLMHeadModel`.
        tokenizer: the model's.
        texts: list of str.
        text_pairs: list of second texts, which may contain masks too, or None.
        top_k: tokens to return per mask.
        batch_size: texts per batch; a batch contains texts of similar length.

    Returns:
        For each text a list of its masks, each a list of `top_k` dicts with `token`,
        `token_id` and `probability`, best first.

    Raises:
        UserError: a text without a mask or with more tokens than the model has
            positions, or a `top_k` outside 1 to the size of the vocabulary.
    """
    if not 1 <= top_k <= tokenizer.vocab_size:
        raise UserError(
            f"top_k={top_k}: expected 1 to {tokenizer.vocab_size}, the size of the "
            "vocabulary."
        )
    features = tokenizer(texts, text_pairs, padding=False, special_tokens_in_text=True)
    for number, ids in enumerate(features["input_ids"], 1):
        if tokenizer.mask_id not in ids:
            mask = tokenizer.special_pieces["mask_id"]
            raise UserError(
                f"Text {number} has no {mask}; put one where the model is to guess."
            )
    check_lengths(features["input_ids"], model.config)
    ids = tokenizer.mask_id, tokenizer.vocab_size
    compute = best_tokens_of_masks(model, *ids, top_k)
    longest = max(map(len, features["input_ids"]))
    positions = model.config.max_position_embeddings
    predict = OutputsPredictor(compute, batch_size, positions or longest)
    outputs = require_numbers(predict(from_features(features, tokenizer)))
    probabilities, tokens = outputs  # [N, masks, top_k] each
    return [
        [
            _guesses(tokenizer, probabilities[row, mask], tokens[row, mask])
            for mask in range(ids.count(tokenizer.mask_id))
        ]
        for row, ids in enumerate(features["input_ids"])
    ]


def best_tokens_of_masks(model, mask_id, vocab_size, top_k):
    """Returns a function from features to the best tokens, `[batch, masks, top_k]`."""

    def compute(features, training):
        nowhere = model.config.row_layout.nowhere
        positions = mask_positions(features["input_ids"], mask_id, nowhere)
        features = {**features, "masked_lm_positions": positions}
        return model.best_tokens(features, top_k, vocab_size)

    return compute


def _guesses(tokenizer, probabilities, ids):
    return [
        {
            "token": tokenizer.pieces[index],
            "token_id": int(index),
            "probability": float(probability),
        }
        for probability, index in zip(probabilities, ids, strict=True)
    ]


def pseudo_log_likelihoods(model, tokenizer, texts, whole_words=False, batch_size=256):
    """Sums the log-probabilities of each token given the rest of its text.

    See Salazar et al., arXiv 1910.14659, formula 2; special tokens do not count. In
    XLNet, a permutation hides the token: its query sees all other tokens. A
    replaced-token discriminator scores all tokens in one pass, by the probability that
    each is original.

    Args:
        model: an `AlbertForMaskedLM`, an `XLNetLMHeadModel` or an
            `AlbertForReplacedTokens`.
        tokenizer: the model's.
        texts: list of str.
        whole_words: also hide the later tokens of the token's word, so that words split
            into many tokens are not favored (Kauf and Ivanova, arXiv 2305.10588).
            Ignored by a discriminator.
        batch_size: number of tokens scored per batch.

    Returns:
        float64 `[texts]`; 0 for a text without tokens.

    Raises:
        UserError: a text has more tokens than the model has positions, or the model
            outputs NaN.
    """
    features = tokenizer(texts, padding=False)
    rows = features["input_ids"]
    check_lengths(rows, model.config)
    if isinstance(model, AlbertForReplacedTokens):
        return _originality(model, tokenizer, features, batch_size)
    score = _scorer(model, tokenizer.mask_id)
    scores = np.zeros(len(rows))
    with Progress(sum(map(len, rows)), "tokens", "scoring") as progress:
        # All rows of a batch have the same length, so that nothing is padded.
        lengths = np.array([len(row) for row in rows])
        for length in np.unique(lengths):
            indices = np.flatnonzero(lengths == length)
            ids = np.array([rows[index] for index in indices], np.int32)
            segments = np.array(features["segment_ids"][indices[0]], np.int32)
            text, places, hidden = _questions(ids, tokenizer, whole_words)
            found = np.zeros(len(text))
            for begin in range(0, len(text), batch_size):
                some = slice(begin, begin + batch_size)
                asked = places[some, None].astype(np.int32)
                found[some] = score(ids[text[some]], segments, hidden(some), asked)
                progress.update(progress.done + len(found[some]))
            scores[indices] = np.bincount(text, found, len(ids))
            progress.update(progress.done + ids.size - len(text))
    return require_numbers(scores)


def _originality(model, tokenizer, features, batch_size):
    """Sums the log-probabilities that the tokens are original."""
    special = [tokenizer.cls_id, tokenizer.sep_id]

    def compute(features, training):
        log_probabilities = -tf.nn.softplus(model(features, training=training))
        own = tf.reduce_all(features["input_ids"][..., None] != special, axis=-1)
        own &= features["input_mask"] > 0
        kept = tf.where(own, log_probabilities, 0.0)
        return tf.reduce_sum(kept, axis=1)

    examples = from_features(features, tokenizer)
    predict = OutputsPredictor(compute, batch_size, int(examples.lengths.max()))
    return require_numbers(predict(examples)).astype(np.float64)


def _questions(ids, tokenizer, whole_words):
    """Lists the tokens to score in texts of equal length, `[texts, tokens]`.

    Returns:
        The text and the position of each token to score, int `[N]` each; and a function
        that maps a slice of these to the tokens to hide, bool `[n, tokens]`.
    """
    special = np.isin(ids, [tokenizer.cls_id, tokenizer.sep_id])
    text, places = np.nonzero(~special)
    columns = np.arange(ids.shape[1])
    # Without `special`, SentencePiece's rule would join "[SEP]" to the word before it.
    words = np.cumsum(tokenizer.word_starts()[ids] | special, axis=1)

    def hidden(some):
        asked = places[some, None]
        if not whole_words:
            return columns == asked
        of_rows = words[text[some]]
        return (columns >= asked) & (of_rows == np.take_along_axis(of_rows, asked, 1))

    return text, places, hidden


def _scorer(model, mask_id):
    """Returns a function that computes the log-probabilities of hidden tokens.

    It takes ids `[rows, tokens]`, segments `[tokens]`, a mask of the hidden tokens, and
    the position of the token to score `[rows, 1]`; it returns float32 `[rows]`.
    """
    by_permutation = model.by_permutation

    def compute(ids, segments, hidden, places):
        features = {"segment_ids": tf.broadcast_to(segments, tf.shape(ids))}
        if by_permutation:
            # A query sees only tokens that precede it in the permutation.
            order = {
                "query_order": tf.ones_like(ids),
                "key_order": tf.cast(hidden, "int32"),
            }
            features |= {"input_ids": ids, "target_positions": places, **order}
            logits = model(features, training=False)["logits"]  # [R, 1, V]
        else:
            masked = tf.where(hidden, mask_id, ids)
            features |= {"input_ids": masked, "masked_lm_positions": places}
            logits = model(features, training=False)
        wanted = tf.gather(ids, places, batch_dims=1)
        return -tf.nn.sparse_softmax_cross_entropy_with_logits(wanted, logits)[:, 0]

    signature = [
        tf.TensorSpec([None, None], tf.int32),
        tf.TensorSpec([None], tf.int32),
        tf.TensorSpec([None, None], tf.bool),
        tf.TensorSpec([None, 1], tf.int32),
    ]
    return tf.function(compute, input_signature=signature, autograph=False)
