"""The pretraining model: masked language model and sentence order."""

import keras
from keras import ops

from albert_tf.checkpoints.official_names import classification_variables
from albert_tf.checkpoints.official_names import masked_lm_variables
from albert_tf.layers.classification_head import ClassificationHead
from albert_tf.layers.masked_lm_head import MaskedLMHead
from albert_tf.layers.positions import gather_positions
from albert_tf.models.albert import AlbertModel
from albert_tf.models.features import named_features
from albert_tf.models.pretrained_model import PretrainedModel


@keras.saving.register_keras_serializable(package="albert_tf")
class AlbertForPreTraining(PretrainedModel):
    """The encoder with the two pretraining heads.

    Args:
        config: an `AlbertConfig`.
        **kwargs: `depth_loop` and `rematerialize`, see `AlbertModel`.

    Call: as `AlbertModel`, with `masked_lm_positions` int32 `[batch, predictions]`
    beside the other features. Returns a dict:
        sequence_output: `[batch, tokens, hidden]`
        pooled_output: `[batch, hidden]`; `[batch, pairs, hidden]` with
            `cls_positions`
        masked_lm_logits: float32 `[batch, predictions, vocabulary]`; absent where
            `masked_lm_positions` is
        sentence_order_logits: float32 `[batch, 2]`, or `[batch, pairs, 2]`; 0 is
            in order, 1 is swapped
    With `logits_only` the dict holds the logits only, and the last block computes no
    more than they need: the same numbers, sooner.

    Raises:
        UserError: more tokens than `config.max_position_embeddings`.

    Example:
        model = AlbertForPreTraining(AlbertConfig.released("base_v2"))
        outputs = model(
            {
                "input_ids": np.array([[2, 31, 4, 3]]),
                "masked_lm_positions": np.array([[2]]),
            }
        )
    """

    head_may_be_new = False

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        policy = self.dtype_policy
        self.albert = AlbertModel(config, dtype=policy, name="albert", **self.execution)
        self.masked_lm_head = MaskedLMHead(config, dtype=policy, name="masked_lm_head")
        self.sentence_order_head = ClassificationHead(
            config,
            num_labels=2,
            initializer_range=config.initializer_range,
            dtype=policy,
            name="sentence_order_head",
        )
        self.build()

    def build(self, input_shape=None):
        self.masked_lm_head.build()
        self.sentence_order_head.build()

    def call(self, features, training=False, dropout_seed=None, logits_only=False):
        features = named_features(features)
        seed = self._dropout_seed(training, dropout_seed)
        encoded = self.albert(
            features, training=training, dropout_seed=seed, for_heads=logits_only
        )
        pooled = encoded["pooled_output"]
        outputs = {"sentence_order_logits": self.sentence_order_head(pooled)}
        if "masked_lm_positions" in features:
            if logits_only:
                hidden = encoded["masked_output"]  # [B, P, H]
            else:
                hidden = gather_positions(
                    encoded["sequence_output"], features["masked_lm_positions"]
                )
            table = ops.convert_to_tensor(self.albert.embeddings.word_embeddings)
            outputs["masked_lm_logits"] = self.masked_lm_head(hidden, table)
        if not logits_only:
            outputs["sequence_output"] = encoded["sequence_output"]
            outputs["pooled_output"] = pooled
        return outputs

    def head_variables(self):
        return {
            **masked_lm_variables(self.masked_lm_head),
            **classification_variables(
                self.sentence_order_head, "cls/seq_relationship/"
            ),
        }
