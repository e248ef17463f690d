"""The pretraining model: masked language model and sentence order."""

import itertools

import keras
from keras import ops

from albert_tf.checkpoints.official_names import classification_variables
from albert_tf.checkpoints.official_names import masked_lm_variables
from albert_tf.errors import UserError
from albert_tf.layers.classification_head import ClassificationHead
from albert_tf.layers.masked_lm_head import MaskedLMHead
from albert_tf.layers.positions import gather_positions
from albert_tf.models.albert import AlbertModel
from albert_tf.models.features import named_features
from albert_tf.models.pretrained_model import PretrainedModel

# What a batch must hold for each term of the loss.
_LABELS = {
    "masked_lm": ("masked_lm_positions", "masked_lm_ids", "masked_lm_weights"),
    "sentence_order": ("sentence_order_labels",),
}


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

    After `compile(optimizer=…)` alone, `fit` and `evaluate` take the batches of
    `pretraining_dataset`; the loss is that of `PretrainingObjective`, with the sentence
    order as long as `sentence_order_head.trainable` says so.

    Raises:
        UserError: more tokens than `config.max_position_embeddings`; batches without
            labels in `fit`.

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
    exported_features = (*PretrainedModel.exported_features, "masked_lm_positions")

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
        hidden = self.config.hidden_size
        self.masked_lm_head.build((None, None, hidden))
        self.sentence_order_head.build((None, hidden))

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

    def compile(self, optimizer="rmsprop", loss=None, **kwargs):
        super().compile(optimizer, loss, **kwargs)
        trackers = []
        if loss is None:
            trackers = [keras.metrics.Mean(f"{term}_accuracy") for term in _LABELS]
        # Past Keras, which takes no new metric once a model is built.
        self.__dict__["_accuracies"] = trackers

    @property
    def metrics(self):
        return [*super().metrics, *self.__dict__.get("_accuracies", ())]

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        if not self.__dict__["_accuracies"]:
            return super().compute_loss(x, y, y_pred, sample_weight, training)
        # Imported here: models are below training, which needs TensorFlow.
        import tensorflow as tf

        from albert_tf.training.pretraining_objective import PretrainingObjective

        for name in itertools.chain.from_iterable(_LABELS.values()):
            if name not in x:
                raise UserError(
                    f"The batches lack {name}; give fit those of pretraining_dataset, "
                    "or compile a loss and give it (features, labels)."
                )
        # The outputs are there already: nothing reads these two again.
        x = {"input_mask": None, "segment_ids": None, **named_features(x)}
        objective = PretrainingObjective(self.sentence_order_head.trainable)
        sums, accuracies = objective(
            lambda features, **options: y_pred, x, training, dropout_seed=None
        )
        for tracker in self.__dict__["_accuracies"]:
            if tracker.name in accuracies:
                right, weight = accuracies[tracker.name]
                tracker.update_state(right / ops.maximum(weight, 1.0), weight)
        weights = objective.denominators(x)
        loss = sum(
            sums[term] / (weights[term] + objective.epsilons.get(term, 0.0))
            for term in sums
        )
        # Keras adds the gradients of the replicas up.
        return loss / tf.distribute.get_strategy().num_replicas_in_sync

    def head_variables(self):
        return {
            **masked_lm_variables(self.masked_lm_head),
            **classification_variables(
                self.sentence_order_head, "cls/seq_relationship/"
            ),
        }
