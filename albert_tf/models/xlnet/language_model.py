"""The permutation language model."""

from typing import Any

import keras
from keras import ops

from albert_tf.families import registry
from albert_tf.families.head_variables import HeadVariable
from albert_tf.families.xlnet import XLNET
from albert_tf.families.xlnet_config import XLNetConfig
from albert_tf.models.base import PretrainedModel
from albert_tf.models.features import named_features
from albert_tf.models.pretraining import best_tokens
from albert_tf.models.xlnet.encoder import READ
from albert_tf.models.xlnet.encoder import XLNetModel


@keras.saving.register_keras_serializable(package="albert_tf")
@registry.register_model
class XLNetLMHeadModel(PretrainedModel):
    """XLNet with a score for each token of the vocabulary; official `lm_loss`.

    The projection is the table of words, with a bias of its own.

    Args:
        config: an `XLNetConfig`.
        **kwargs: how the model is computed, see `XLNetModel`.

    Call: as `XLNetModel`. Returns a dict:
        logits: float32 `[batch, predictions, vocabulary]`, of the query stream at
            `target_positions`; without these `[batch, tokens, vocabulary]`, of the
            content stream
        memories: with `config.mem_len`, the feature of the next call

    Raises:
        UserError: as `XLNetModel`.

    Example:
        model = XLNetLMHeadModel.from_pretrained("xlnet_base", mem_len=384)
        features = {"input_ids": ids, "perm_mask": mask, "target_positions": targets}
        outputs = model({**features, "memories": model.transformer.first_memories(8)})
        following = model({**next_features, "memories": outputs["memories"]})
    """

    family = XLNET
    head_table = (HeadVariable("lm_bias", "model/lm_loss/bias", "lm_loss.bias"),)
    head_may_be_new = False

    def __init__(self, config: XLNetConfig, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.transformer = XLNetModel(
            config, dtype=self.dtype_policy, name="transformer", **self.execution
        )
        self.build()

    def build(self, input_shape=None):
        self.lm_bias = self.add_weight(
            name="lm_bias",
            shape=(self.config.n_token,),
            initializer="zeros",
            autocast=False,
        )

    def best_tokens(self, features, top_k, vocab_size=None):
        """Finds the most probable tokens, asked by permutation.

        A query sees all tokens but those that are asked for, its own among them.

        Args:
            features: `input_ids`, `input_mask` and `segment_ids` as of the call, and
                `masked_lm_positions` int32 `[batch, predictions]`, -1 for padding.
            top_k, vocab_size: as of `AlbertForMaskedLM.best_tokens`.

        Returns:
            float32 probabilities and int32 ids, `[batch, predictions, top_k]`.
        """
        features = dict(features)
        targets = features.pop("masked_lm_positions")
        ids = features["input_ids"]
        places = ops.arange(ops.shape(ids)[1], dtype="int32")
        is_hidden = ops.any(ops.expand_dims(targets, 2) == places, axis=1)  # [B, S]
        order = {
            "query_order": ops.ones_like(ids),
            "key_order": ops.cast(is_hidden, "int32"),
        }
        outputs = self({**features, **order, "target_positions": targets})
        return best_tokens(outputs["logits"], top_k, vocab_size)

    def call(self, features, training=False, dropout_seed=None):
        features = named_features(features, READ)
        seed = self._dropout_seed(training, dropout_seed)
        predicts = "target_positions" in features
        encoded = self.transformer(
            features, training=training, dropout_seed=seed, heads_only=predicts
        )
        hidden = encoded["query_output" if predicts else "sequence_output"]
        logits = self.transformer.embeddings.similarities(hidden)
        outputs = {"logits": ops.cast(logits, "float32") + self.lm_bias}
        if "memories" in encoded:
            outputs["memories"] = encoded["memories"]
        return outputs
