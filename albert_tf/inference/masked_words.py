"""Hidden tokens: guesses for the masks of texts, and scores of texts."""

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
    """Guesses each `[MASK]` of each text.

    Args:
        model: an `AlbertForMaskedLM` or an `XLNetLMHeadModel`.
        tokenizer: the model's.
        texts: list of str.
        text_pairs: list of second texts, which may hold masks too, or None.
        top_k: guesses for each mask, best first.
        batch_size: texts computed at a time; texts of similar length meet.

    Returns:
        For each text a list of its masks, each a list of `top_k` dicts with `token`,
        `token_id` and `probability`.

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
    """Returns the sum of each token's log-probability, given the rest of its text.

    See Salazar et al., arXiv 1910.14659, formula 2; special tokens do not count. For an
    XLNet a permutation hides the token: its query sees all others. A discriminator of
    replaced tokens tells at once how likely each token is the text's own.

    Args:
        model: an `AlbertForMaskedLM`, an `XLNetLMHeadModel` or an
            `AlbertForReplacedTokens`.
        tokenizer: the model's.
        texts: list of str.
        whole_words: hide the later tokens of a token's word, too, so that no word is
            likelier for being cut into many (Kauf and Ivanova, arXiv 2305.10588).
            A discriminator ignores it.
        batch_size: number of tokens asked for at a time.

    Returns:
        float64 `[texts]`; 0 for a text without tokens.

    Raises:
        UserError: a text has more tokens than the model has positions, or the model
            answers NaN.
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
                asked = places[some, None].astype(np.int32)
                found[some] = score(ids[text[some]], segments, hidden(some), asked)
                progress.update(progress.done + len(found[some]))
            scores[indices] = np.bincount(text, found, len(ids))
            progress.update(progress.done + ids.size - len(text))
    return require_numbers(scores)


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
    """Returns a question for each token of texts of one length, `[texts, tokens]`.

    Returns:
        The texts and the places of the tokens asked for, int `[N]` each; and a function
        from a slice of the questions to the tokens that they hide, bool `[n, tokens]`.
    """
    special = np.isin(ids, [tokenizer.cls_id, tokenizer.sep_id])
    text, places = np.nonzero(~special)
    columns = np.arange(ids.shape[1])
    # To SentencePiece's rule "[SEP]" would continue the word before it.
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

    It takes ids `[rows, tokens]`, segments `[tokens]`, which tokens are hidden, and the
    places of those asked for `[rows, 1]`; it returns float32 `[rows]`.
    """
    by_permutation = model.by_permutation

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
    return tf.function(compute, input_signature=signature, autograph=False)
