"""The heads: linear classifier, masked language model and SQuAD 2.0 answers."""

import functools

import keras
from keras import ops

from albert_tf.layers.activations import ACTIVATION_FUNCTIONS
from albert_tf.layers.attention_mask import gather_positions
from albert_tf.layers.base import CLASSIFIER_SITE
from albert_tf.layers.base import ConfiguredLayer
from albert_tf.layers.base import LayerNorm
from albert_tf.layers.base import dropout
from albert_tf.layers.base import truncated_normal

_MASKED_LOGIT = -1e30


@keras.saving.register_keras_serializable(package="albert_tf")
class ClassificationHead(ConfiguredLayer):
    """A linear layer whose weights are stored as `[labels, hidden]`.

    The official sentence-order head (two labels: 0 in order, 1 swapped) and the
    official classifier have this form. It computes in float32 whatever the compute
    dtype.

    Args:
        config: an `AlbertConfig`.
        num_labels: width of the output.
        initializer_range: standard deviation of the initial weights; the default is the
            official classifiers', which ignore the config's.

    Call: `[..., hidden]` to float32 `[..., labels]`.
    """

    own_arguments = ("num_labels", "initializer_range")
    stacked = ()
    """Leading axes of the weights, before the axes of one head."""

    def __init__(self, config, num_labels, initializer_range=0.02, **kwargs):
        super().__init__(config, **kwargs)
        self.num_labels = num_labels
        self.initializer_range = initializer_range

    @property
    def output_shape(self):
        """Shape of the logits, as `summary` of a model shows it."""
        return (None, *self.stacked, self.num_labels)

    def build(self, input_shape=None):
        shape = (*self.stacked, self.num_labels)
        self.output_weights = self._float32_weight(
            "output_weights",
            (*shape, self.config.hidden_size),
            truncated_normal(self.initializer_range),
        )
        self.output_bias = self._float32_weight("output_bias", shape, "zeros")

    def call(self, pooled):
        # In float32, like the weights: bfloat16 would round a logit of 5 by 0.02.
        logits = ops.matmul(pooled, ops.transpose(self.output_weights))  # [..., L]
        return logits + self.output_bias


@keras.saving.register_keras_serializable(package="albert_tf")
class MaskedLMHead(ConfiguredLayer):
    """Logits over the vocabulary (official `get_masked_lm_output`).

    The projection is the word embedding table, or a separate one without
    `config.tie_word_embeddings`; it has its own bias, unless `config.unbiased` names
    "decoder".

    Call: the encoder's output at the masked positions, `[batch, predictions, hidden]`,
    and `word_embeddings` `[vocabulary, embedding]`, to float32
    `[batch, predictions, vocabulary]`.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        has_bias = functools.partial(config.has_bias, in_block=False)
        self.transform = self._dense(
            config.embedding_size, "transform", use_bias=has_bias("head")
        )
        self.layer_norm = LayerNorm(
            config,
            use_bias=has_bias("norm"),
            dtype=self.dtype_policy,
            name="layer_norm",
        )
        self.output_bias = None

    @property
    def output_shape(self):
        """Shape of the logits, as `summary` of a model shows it."""
        return (None, None, self.config.vocab_size)

    def build(self, input_shape=None):
        config = self.config
        self.transform.build((None, None, config.hidden_size))
        self.layer_norm.build((None, None, config.embedding_size))
        if config.has_bias("decoder", in_block=False):
            self.output_bias = self._float32_weight(
                "output_bias", (config.vocab_size,), "zeros"
            )
        if not config.tie_word_embeddings:
            shape = (config.vocab_size, config.embedding_size)
            self.output_embeddings = self._weight("output_embeddings", shape)

    def call(self, hidden, word_embeddings):
        if not self.config.tie_word_embeddings:
            word_embeddings = ops.convert_to_tensor(self.output_embeddings)
        activation = ACTIVATION_FUNCTIONS[self.config.head_act]
        hidden = self.layer_norm(activation(self.transform(hidden)))  # [B, P, E]
        if self.variable_dtype == "bfloat16":
            # For inference only. Logits of 10 would be rounded by 0.03, and their
            # probabilities by a hundredth.
            hidden = ops.cast(hidden, "float32")
            word_embeddings = ops.cast(word_embeddings, "float32")
        logits = ops.matmul(hidden, ops.transpose(word_embeddings))  # [B, P, V]
        logits = ops.cast(logits, "float32")
        return logits if self.output_bias is None else logits + self.output_bias


@keras.saving.register_keras_serializable(package="albert_tf")
class AnswerBeamsHead(ConfiguredLayer):
    """Scores starts, then ends given a start, and unanswerable questions.

    Official `create_v2_model` in squad_utils.py, which follows XLNet.

    Args:
        config: an `AlbertConfig`, or an `XLNetConfig` in XLNet's head.
        start_n_top: how many starts inference keeps.
        end_n_top: how many ends inference keeps for each start.
        dropout_prob: dropout before the last layer of the answer class, in training.

    Call: the encoder's output `[batch, tokens, hidden]`; `p_mask` `[batch, tokens]`, 1
    where no answer may begin or end; optionally `start_positions`, int32 `[batch]`, and
    `cls_positions`, int32 `[batch, 1]`, of the token that stands for no answer (the
    first one if absent). Returns a dict of float32. With `start_positions`:
        start_log_probs: `[batch, tokens]`
        end_log_probs: `[batch, tokens]`, given that start
        cls_logits: `[batch]`, high if there is no answer
    Without them, best first, and the earlier token first on a tie:
        start_top_log_probs, start_top_index: `[batch, starts]`, the index int32
        end_top_log_probs, end_top_index: `[batch, starts * ends]`, the ends of the
            first start first
        cls_logits: as above
    """

    norm_class = LayerNorm
    own_arguments = ("start_n_top", "end_n_top", "dropout_prob")

    def __init__(self, config, start_n_top, end_n_top, dropout_prob, **kwargs):
        super().__init__(config, **kwargs)
        self.start_n_top = start_n_top
        self.end_n_top = end_n_top
        self.dropout_prob = dropout_prob
        width = config.hidden_size
        self.start = self._dense(1, "start", "float32")
        self.end_hidden = self._dense(width, "end_hidden")
        policy = self.dtype_policy
        self.end_norm = self.norm_class(config, dtype=policy, name="end_norm")
        self.end = self._dense(1, "end", "float32")
        self.answer_hidden = self._dense(width, "answer_hidden")
        self.answer = self._dense(1, "answer", "float32", use_bias=False)

    def build(self, input_shape=None):
        width = self.config.hidden_size
        self.start.build((None, None, width))
        self.end_hidden.build((None, None, 2 * width))
        self.end_norm.build((None, None, width))
        self.end.build((None, None, width))
        self.answer_hidden.build((None, 2 * width))
        self.answer.build((None, width))

    def call(
        self,
        hidden,
        p_mask,
        start_positions=None,
        cls_positions=None,
        dropout_seed=None,
    ):
        p_mask = ops.cast(p_mask, "float32")
        start_logits = _masked(self.start(hidden)[..., 0], p_mask)  # [B, T]
        start_log_probs = ops.log_softmax(start_logits)
        if start_positions is not None:
            start_positions = ops.cast(start_positions, "int32")
        start = self._start_of_class(hidden, start_logits, start_positions)  # [B, H]
        none = hidden[:, 0]
        if cls_positions is not None:
            none = gather_positions(hidden, cls_positions)[:, 0]
        outputs = {"cls_logits": self._answer_class(start, none, dropout_seed)}
        if start_positions is not None:
            ends = self._end_log_probs(hidden, start_positions[:, None], p_mask)
            return {
                "start_log_probs": start_log_probs,
                "end_log_probs": ends[:, 0],
                **outputs,
            }
        log_probs, index = _top(start_log_probs, self.start_n_top)  # [B, starts]
        ends = self._end_log_probs(hidden, index, p_mask)  # [B, starts, T]
        end_log_probs, end_index = _top(ends, self.end_n_top)  # [B, starts, ends]
        return {
            "start_top_log_probs": log_probs,
            "start_top_index": index,
            "end_top_log_probs": _flat(end_log_probs),
            "end_top_index": _flat(end_index),
            **outputs,
        }

    def _end_log_probs(self, hidden, starts, p_mask):
        """Scores tokens as ends of each start: `[B, starts]` to `[B, starts, T]`."""
        width = self.config.hidden_size
        start_hidden = gather_positions(hidden, starts)  # [B, starts, H]
        # The layer reads their concatenation; this projects each one only once.
        kernel = ops.convert_to_tensor(self.end_hidden.kernel)  # [2 H, H]
        bias = ops.convert_to_tensor(self.end_hidden.bias)
        of_end = ops.matmul(hidden, kernel[:width])  # [B, T, H]
        of_start = ops.matmul(start_hidden, kernel[width:]) + bias  # [B, starts, H]
        both = ops.tanh(of_end[:, None] + of_start[:, :, None])  # [B, starts, T, H]
        logits = self.end(self.end_norm(both))[..., 0]
        return ops.log_softmax(_masked(logits, p_mask[:, None]))

    def _start_of_class(self, hidden, start_logits, start_positions):
        """Returns the expected start, `[B, H]`, which the answer class reads."""
        weights = ops.cast(ops.softmax(start_logits), hidden.dtype)  # [B, T]
        return ops.einsum("bt,bth->bh", weights, hidden)

    def _answer_class(self, start, none, dropout_seed):
        both = ops.concatenate([start, none], axis=-1)  # [B, 2 H]
        both = ops.tanh(self.answer_hidden(both))  # [B, H]
        both = dropout(both, self.dropout_prob, dropout_seed, CLASSIFIER_SITE)
        return ops.cast(self.answer(both)[:, 0], "float32")


def _masked(logits, p_mask):
    return ops.cast(logits, "float32") * (1 - p_mask) + _MASKED_LOGIT * p_mask


def _top(log_probs, count):
    tokens = log_probs.shape[-1]
    values, index = ops.top_k(
        log_probs, count if tokens is None else min(count, tokens)
    )
    return values, ops.cast(index, "int32")


def _flat(values):
    return ops.reshape(
        values, (ops.shape(values)[0], values.shape[1] * values.shape[2])
    )
