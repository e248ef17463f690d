"""The masked language model alone: the encoder with one of the pretraining heads."""

from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from albert_tf.config import AlbertConfig
from albert_tf.families import head_variables
from albert_tf.layers.heads import MaskedLMHead
from albert_tf.models.albert import AlbertWithHead
from albert_tf.models.features import named_features


@keras.saving.register_keras_serializable(package="albert_tf")
class AlbertForMaskedLM(AlbertWithHead):
    """The encoder with a score for each token of the vocabulary.

    Checkpoints of `AlbertForPreTraining` fit; their other head is left out.

    Args:
        config: an `AlbertConfig`.
        **kwargs: how the model is computed, see `AlbertModel`.

    Call: as `AlbertModel`. Returns logits, float32 `[batch, tokens, vocabulary]`; with
    the feature `masked_lm_positions`, int32 `[batch, predictions]`, logits of these
    tokens only, `[batch, predictions, vocabulary]`, which is faster.

    Raises:
        UserError: more tokens than `config.max_position_embeddings`.

    Example:
        model = AlbertForMaskedLM.from_pretrained(path)
        features = tokenizer("Paris is the [MASK].", special_tokens_in_text=True)
        logits = model(features)
    """

    head_table = head_variables.masked_lm("masked_lm_head")
    head_may_be_new = False
    reads_pooler = False

    def __init__(self, config: AlbertConfig, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        policy = self.dtype_policy
        self.masked_lm_head = MaskedLMHead(config, dtype=policy, name="masked_lm_head")
        self.build()

    def build(self, input_shape=None):
        self.masked_lm_head.build((None, None, self.config.hidden_size))

    def call(self, features, training=False, dropout_seed=None):
        features = named_features(features)
        seed = self._dropout_seed(training, dropout_seed)
        at_positions = "masked_lm_positions" in features
        encoded = self.albert(
            features, training=training, dropout_seed=seed, heads_only=at_positions
        )
        hidden = encoded["masked_output" if at_positions else "sequence_output"]
        table = ops.convert_to_tensor(self.albert.embeddings.word_embeddings)
        return self.masked_lm_head(hidden, table)

    def best_tokens(self, features: Mapping, top_k: int, vocab_size: int | None = None):
        """Finds the most probable tokens.

        Args:
            features: as of the call.
            top_k: how many tokens, best first.
            vocab_size: tokens to choose from, where the tokenizer has fewer than the
                model; by default the model's.

        Returns:
            float32 probabilities and int32 ids, `[batch, predictions, top_k]`.
        """
        return best_tokens(self(features, training=False), top_k, vocab_size)


def best_tokens(logits, top_k, vocab_size=None):
    """Finds as `AlbertForMaskedLM.best_tokens`, in logits `[…, vocabulary]`."""
    return ops.top_k(ops.softmax(logits[..., :vocab_size]), top_k)
