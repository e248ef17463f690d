"""Scores of sentences under a pretrained model: pseudo-log-likelihoods."""

import numpy as np
import tensorflow as tf

from albert_tf.display.progress import Progress
from albert_tf.inference.loading import check_lengths
from albert_tf.models.replaced_tokens import AlbertForReplacedTokens
from albert_tf.models.xlnet.language_model import XLNetLMHeadModel
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.prediction import require_numbers
from albert_tf.tasks.tokenized_examples import from_features


def pseudo_log_likelihoods(model, tokenizer, texts, whole_words=False, batch_size=256):
    """Returns the sum of each token's log-probability, given the rest of its text.

    Salazar et al., arXiv 1910.14659, formula 2; special tokens do not count. An XLNet
    is asked by permutation: the query of a token sees all others. A discriminator of
    replaced tokens says at once how likely each token is the text's own.

    Args:
        model: an `AlbertForMaskedLM`, an `XLNetLMHeadModel` or an
            `AlbertForReplacedTokens`.
        tokenizer: the model's.
        texts: list of str.
        whole_words: hide the later tokens of a token's word, too, so that no word is
            likelier for being cut into many (Kauf and Ivanova, arXiv 2305.10588).
            Nothing is hidden from a discriminator.
        batch_size: tokens asked for at a time.

    Returns:
        float64 `[texts]`; 0 for a text without tokens.

    Raises:
        UserError: a text has more tokens than the model has positions.
    """
    features = tokenizer(texts, padding=False)
    rows = features["input_ids"]
    check_lengths(rows, model.config)
    if isinstance(model, AlbertForReplacedTokens):
        return _originality(model, tokenizer, features, batch_size)
    score = _scorer(model, tokenizer.mask_id)
    scores = np.zeros(len(rows))
    with Progress(sum(map(len, rows)), "tokens", "scoring") as progress:
        # The rows of a batch have one length, so that nothing is padded.
        lengths = np.array([len(row) for row in rows])
        for length in np.unique(lengths):
            indices = np.flatnonzero(lengths == length)
            ids = np.array([rows[index] for index in indices], np.int32)
            segments = np.array(features["segment_ids"][indices[0]], np.int32)
            text, places, hidden = _questions(ids, tokenizer, whole_words)
            found = np.zeros(len(text))
            for begin in range(0, len(text), batch_size):
                some = slice(begin, begin + batch_size)
                found[some] = score(
                    ids[text[some]], segments, hidden(some), places[some]
                )
                progress.update(progress.done + len(found[some]))
            scores[indices] = np.bincount(text, found, len(ids))
            progress.update(progress.done + ids.size - len(text))
    return scores


def _originality(model, tokenizer, features, batch_size):
    """Returns the sum of the log-probabilities that tokens are no replacements."""
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
    """Returns the queries on texts of one length, int32 `[texts, tokens]`.

    Returns:
        Of each question the text and the token that is asked for, int `[N]`; and a
        function from a slice of the questions to the tokens that they hide, bool `[n,
        tokens]`.
    """
    text, places = np.nonzero(~np.isin(ids, [tokenizer.cls_id, tokenizer.sep_id]))
    columns = np.arange(ids.shape[1])
    words = np.cumsum(tokenizer.word_starts()[ids], axis=1)

    def hidden(some):
        asked = places[some, None]
        if not whole_words:
            return columns == asked
        of_rows = words[text[some]]
        return (columns >= asked) & (of_rows == np.take_along_axis(of_rows, asked, 1))

    return text, places, hidden


def _scorer(model, mask_id):
    """Returns a function of ids and hidden ones `[rows, tokens]` and places `[rows]`.

    Its values are the log-probabilities of the ids at these places, float32 `[rows]`.
    """
    by_permutation = isinstance(model, XLNetLMHeadModel)

    def compute(ids, segments, hidden, places):
        features = {"segment_ids": tf.broadcast_to(segments, tf.shape(ids))}
        if by_permutation:
            # A query sees tokens of a lower order than its own.
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
    compiled = tf.function(compute, input_signature=signature, autograph=False)

    def score(ids, segments, hidden, places):
        places = places[:, None].astype(np.int32)
        return compiled(*map(tf.constant, (ids, segments, hidden, places))).numpy()

    return score
