"""Pretraining models: the masked language model, alone and with sentence heads."""

import re
from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.families import head_variables
from albert_tf.families import registry
from albert_tf.layers.attention_mask import gather_positions
from albert_tf.layers.heads import ClassificationHead
from albert_tf.layers.heads import MaskedLMHead
from albert_tf.models.albert import AlbertWithHead
from albert_tf.models.features import named_features

_OFFICIAL_HEAD = "sentence_order"
_OFFICIAL_SCOPE = "seq_relationship"  # of the sentence-order head, in "cls/"
_SENTENCE_HEAD = re.compile(r"cls/(\w+)/output_weights")


class MaskedLMModel(AlbertWithHead):
    """The base of models with a `masked_lm_head`, whose projection may be untied."""

    def __init__(self, config: AlbertConfig, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        policy = self.dtype_policy
        self.masked_lm_head = MaskedLMHead(config, dtype=policy, name="masked_lm_head")

    def build(self, input_shape=None):
        self.masked_lm_head.build((None, None, self.config.hidden_size))

    def _masked_lm_logits(self, hidden):
        """Computes logits `[..., vocabulary]` from hidden states `[..., hidden]`."""
        table = ops.convert_to_tensor(self.albert.embeddings.word_embeddings)
        return self.masked_lm_head(hidden, table)

    def head_variables(self):
        variables = super().head_variables()
        if not self.config.tie_word_embeddings:
            variables |= self._variables_of([head_variables.OUTPUT_EMBEDDINGS])
        return variables


@keras.saving.register_keras_serializable(package="albert_tf")
@registry.register_model
class AlbertForMaskedLM(MaskedLMModel):
    """The encoder with a score for each token of the vocabulary.

    It also loads checkpoints of `AlbertForPreTraining`, without their sentence head.

    Call: as `AlbertModel`. Returns logits, float32 `[batch, tokens, vocabulary]`; with
    the feature `masked_lm_positions`, int32 `[batch, predictions]`, logits of these
    tokens only, `[batch, predictions, vocabulary]`, which is faster.

    Example:
        model = AlbertForMaskedLM.from_pretrained(path)
        features = tokenizer("Paris is the [MASK].", special_tokens_in_text=True)
        logits = model(features)
    """

    purpose = "masked_lm"
    head_table = head_variables.masked_lm("masked_lm_head")
    head_may_be_new = False
    reads_pooler = False

    def __init__(self, config: AlbertConfig, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.build()

    def call(self, features, training=False, dropout_seed=None):
        features = named_features(features)
        seed = self._dropout_seed(training, dropout_seed)
        at_positions = "masked_lm_positions" in features
        encoded = self.encoded(features, training, seed, heads_only=at_positions)
        return self._masked_lm_logits(
            encoded["masked_output" if at_positions else "sequence_output"]
        )

    def best_tokens(self, features: Mapping, top_k: int, vocab_size: int | None = None):
        """Finds the most probable tokens.

        Args:
            features: as for the call.
            top_k: how many tokens, best first.
            vocab_size: how many ids to choose from, if the tokenizer has fewer than
                the model; by default the model's.

        Returns:
            float32 probabilities and int32 ids, `[batch, predictions, top_k]`.
        """
        return best_tokens(self(features, training=False), top_k, vocab_size)


def best_tokens(logits, top_k, vocab_size=None):
    """Finds the best tokens in logits; see `AlbertForMaskedLM.best_tokens`."""
    return ops.top_k(ops.softmax(logits[..., :vocab_size]), top_k)


@keras.saving.register_keras_serializable(package="albert_tf")
@registry.register_model
class AlbertForPreTraining(MaskedLMModel):
    """The encoder with a masked-LM head and one or more sentence heads.

    Args:
        sentence_heads: a dict from the name of each head on the pooled output to its
            number of labels; by default the official `{"sentence_order": 2}`.

    Call: as `AlbertModel`, with `masked_lm_positions` int32 `[batch, predictions]`
    beside the other features. Returns a dict:
        sequence_output: `[batch, tokens, hidden]`
        pooled_output: `[batch, hidden]`; `[batch, pairs, hidden]` with
            `cls_positions`
        masked_lm_logits: float32 `[batch, predictions, vocabulary]`; absent without
            `masked_lm_positions`
        sentence_order_logits: float32 `[batch, 2]`, or `[batch, pairs, 2]`; 0 is
            in order, 1 is swapped; other sentence heads give logits of their own
    With `heads_only` the dict holds only the logits, and the last block computes only
    what they need, which is faster and gives the same numbers. With `hidden_states` the
    dict also holds `AlbertModel`'s.

    After `compile(optimizer=…)` alone, `fit` and `evaluate` take the batches of
    `pretraining_dataset`; the loss is `PretrainingObjective`'s, and includes sentence
    order while `sentence_order_head.trainable` is true.

    Raises:
        UserError: `fit` gets batches without labels.

    Example:
        model = AlbertForPreTraining(AlbertConfig.released("base_v2"))
        outputs = model(
            {
                "input_ids": np.array([[2, 31, 4, 3]]),
                "masked_lm_positions": np.array([[2]]),
            }
        )
    """

    purpose = "pretraining"
    head_table = (
        *head_variables.masked_lm("masked_lm_head"),
        *head_variables.classification(
            "sentence_order_head", "sop_classifier.classifier", "cls/seq_relationship/"
        ),
    )
    head_may_be_new = False
    exported_features = (*AlbertWithHead.exported_features, "masked_lm_positions")

    def __init__(
        self,
        config: AlbertConfig,
        sentence_heads: dict[str, int] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(config, **kwargs)
        self.sentence_heads = {_OFFICIAL_HEAD: 2, **(sentence_heads or {})}
        for name, num_labels in self.sentence_heads.items():
            head = ClassificationHead(
                config,
                num_labels=num_labels,
                initializer_range=config.initializer_range,
                dtype=self.dtype_policy,
                name=f"{name}_head",
            )
            setattr(self, f"{name}_head", head)
        self.build()

    def sentence_head(self, name):
        """Returns the `ClassificationHead` of that name in `sentence_heads`."""
        return getattr(self, f"{name}_head")

    def build(self, input_shape=None):
        super().build(input_shape)
        for name in self.sentence_heads:
            self.sentence_head(name).build((None, self.config.hidden_size))

    def call(
        self,
        features,
        training=False,
        dropout_seed=None,
        heads_only=False,
        hidden_states=False,
    ):
        features = named_features(features)
        seed = self._dropout_seed(training, dropout_seed)
        encoded = self.encoded(features, training, seed, heads_only=heads_only)
        pooled = encoded["pooled_output"]
        outputs = {
            f"{name}_logits": self.sentence_head(name)(pooled)
            for name in self.sentence_heads
        }
        if "masked_lm_positions" in features:
            if heads_only:
                hidden = encoded["masked_output"]  # [B, P, H]
            else:
                hidden = gather_positions(
                    encoded["sequence_output"], features["masked_lm_positions"]
                )
            outputs["masked_lm_logits"] = self._masked_lm_logits(hidden)
        if not heads_only:
            outputs["sequence_output"] = encoded["sequence_output"]
            outputs["pooled_output"] = pooled
        if hidden_states:
            outputs["hidden_states"] = encoded["hidden_states"]
        return outputs

    def best_tokens(self, features, top_k, vocab_size=None):
        """Finds the most probable tokens; see `AlbertForMaskedLM.best_tokens`."""
        outputs = self(features, training=False, heads_only=True)
        return best_tokens(outputs["masked_lm_logits"], top_k, vocab_size)

    def compile(self, optimizer="rmsprop", loss=None, **kwargs):
        super().compile(optimizer, loss, **kwargs)
        names = (f"{name}_accuracy" for name in ("masked_lm", *self.sentence_heads))
        trackers = {name: keras.metrics.Mean(name) for name in names}
        # Through `__dict__`: Keras accepts no new metrics once a model is built.
        self.__dict__["_accuracies"] = {} if loss is not None else trackers

    @property
    def metrics(self):
        return [*super().metrics, *self.__dict__.get("_accuracies", {}).values()]

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        trackers = self.__dict__["_accuracies"]
        if not trackers:
            return super().compute_loss(x, y, y_pred, sample_weight, training)
        # Imported here: on other Keras backends, models do not need TensorFlow.
        import tensorflow as tf

        from albert_tf.objectives.masked_lm import OBJECTIVES

        loss = 0.0
        for term in OBJECTIVES["sop" if self.sentence_order_head.trainable else "none"]:
            if term.labels not in x:
                raise UserError(
                    f"The batches lack {term.labels}; give fit the batches of "
                    "pretraining_dataset, or compile the model with a loss and give "
                    "fit labels."
                )
            total, accuracies = term.sums(y_pred, x)
            loss += total / (tf.reduce_sum(term.weights(x)) + term.epsilon)
            for name, (right, weight) in accuracies.items():
                trackers[name].update_state(right / ops.maximum(weight, 1.0), weight)
        # Keras sums the gradients of the replicas.
        return loss / tf.distribute.get_strategy().num_replicas_in_sync

    def head_variables(self):
        variables = super().head_variables()
        for name in self.sentence_heads:
            if name != _OFFICIAL_HEAD:
                head = self.sentence_head(name)
                variables[f"cls/{name}/output_weights"] = head.output_weights
                variables[f"cls/{name}/output_bias"] = head.output_bias
        return variables

    def head_config(self):
        if self.sentence_heads == {_OFFICIAL_HEAD: 2}:
            return {}
        return {"sentence_heads": dict(self.sentence_heads)}

    @classmethod
    def resolve_arguments(cls, saved, given, tensors=None):
        arguments = super().resolve_arguments(saved, given)
        if tensors is None or "sentence_heads" in arguments:
            return arguments
        found = {}
        for name, tensor in tensors.items():
            match = _SENTENCE_HEAD.fullmatch(name)
            if match and match[1] != _OFFICIAL_SCOPE:
                found[match[1]] = len(tensor)
        return {**arguments, "sentence_heads": found}
