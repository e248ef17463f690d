"""Answers of served models in Python, and what tasks without training answer."""

import numpy as np
import tensorflow as tf

from albert_tf.models.albert import AlbertModel
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.tasks import pretrained
from albert_tf.tasks.served_answers import at_least
from albert_tf.tasks.served_answers import log_shares
from albert_tf.tokenization.wordpiece import WordPieceTokenizer


def test_features_are_padded_behind():
    features = {"a": tf.constant([[[1, 2], [3, 4]]]), "b": tf.ones([1, 2, 5], tf.int32)}
    padded = at_least(features, 3)
    assert padded["a"].numpy().tolist() == [[[1, 2, 0], [3, 4, 0]]]
    assert padded["b"].shape == (1, 2, 5)
    assert at_least(features, 3, axis=1)["a"].numpy().tolist()[0][2] == [0, 0]


def test_no_probability_has_no_log_of_zero():
    shares = np.float32([0.5, 0.25, 0.0])
    logits = log_shares(shares)
    assert np.isfinite(logits).all()
    again = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(again, shares / 0.75, atol=1e-30)


def test_an_encoders_answer_has_no_padding():
    outputs = {
        "input_mask": np.array([1, 1, 0]),
        "input_ids": np.array([2, 3, 0]),
        "sequence_output": np.arange(6).reshape(3, 2),
        "pooled_output": np.ones(2),
    }
    found = pretrained.EncoderOutputs(name="encoder").answer(outputs)
    assert found["input_ids"].tolist() == [2, 3]
    assert found["sequence_output"].tolist() == [[0, 1], [2, 3]]
    assert found["pooled_output"].tolist() == [1, 1]


def test_vectors_of_an_encoder_have_length_1():
    states = tf.constant([[[3.0, 0], [0, 4], [9, 9]]])
    features = {"input_mask": tf.constant([[1, 1, 0]])}
    task = pretrained.answers_named("embedding")
    encoded = {"sequence_output": states, "hidden_states": [states]}
    found = task.compute(lambda *_, **__: encoded, features)
    np.testing.assert_allclose(found["embedding"], [[0.6, 0.8]], rtol=1e-6)


class _Guessing:
    """A model whose best tokens are the first ones."""

    def best_tokens(self, features, count, vocab_size):
        ids = tf.tile(tf.range(1, count + 1)[None, None], [2, 2, 1])
        return tf.ones([2, 2, count]) / tf.cast(ids, tf.float32), ids


def test_guesses_stand_at_masks_alone(vocabulary):
    tokenizer = WordPieceTokenizer(vocabulary(["a", "b"]).encode())
    task = pretrained.answers_named("masked_lm", tokenizer)
    assert isinstance(task, pretrained.MaskedWords)
    positions = tf.constant([[3, 0], [1, 2]])
    features = {"masked_lm_positions": positions}
    numbers = task.compute(_Guessing(), features)
    assert numbers["token_ids"].numpy()[0].tolist() == [[1, 2, 3, 4, 5], [0] * 5]
    served = task.answers(numbers, features)
    assert served["tokens"].numpy()[1, 1, 0].decode() == tokenizer.pieces[1]
    arrays = {name: own.numpy() for name, own in served.items()}
    arrays["tokens"] = np.vectorize(bytes.decode, otypes=[object])(arrays["tokens"])
    first, second = (
        task.answer({name: own[row] for name, own in arrays.items()}) for row in (0, 1)
    )
    assert [len(own["masks"]) for own in (first, second)] == [1, 2]
    best = first["masks"][0][0]
    assert best == {"token": tokenizer.pieces[1], "token_id": 1, "probability": 1.0}


def test_what_a_model_answers_without_a_task():
    assert pretrained.usual_answer(AlbertForPreTraining) == "encoder"
    found = pretrained.answers_of(AlbertForPreTraining)
    assert found["masked_lm"] == (AlbertForPreTraining, pretrained.MaskedWords)
    assert found["encoder"][1] is pretrained.EncoderOutputs
    alone = pretrained.answers_of(AlbertModel)
    assert alone["embedding"] == (AlbertModel, pretrained.MeanVectors)
    # Its checkpoint may hold the head; of a head of labels nobody knows the task.
    assert alone["masked_lm"][0].purpose in ("masked_lm", "pretraining")
    assert "classification" not in alone
