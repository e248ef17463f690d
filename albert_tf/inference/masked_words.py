"""Guesses for the `[MASK]`s in texts."""

from albert_tf.errors import UserError
from albert_tf.inference.loading import check_lengths
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
    """Returns a function of features: the best tokens, `[batch, masks, top_k]`."""

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
