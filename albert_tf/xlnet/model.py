"""The two-stream encoder, and the XLNet language model."""

import dataclasses
from typing import Any

import keras
from keras import ops

from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.families.head_variables import HeadVariable
from albert_tf.layers.base import EMBEDDING_SITE
from albert_tf.layers.base import OUTPUT_SITE
from albert_tf.layers.base import POSITION_SITE
from albert_tf.layers.base import dropout
from albert_tf.models.albert import loop_without_attentions
from albert_tf.models.base import PretrainedModel
from albert_tf.models.features import named_features
from albert_tf.models.pretraining import best_tokens
from albert_tf.row_layout import FEATURES
from albert_tf.xlnet.attention_mask import position_codes
from albert_tf.xlnet.attention_mask import two_stream_mask
from albert_tf.xlnet.config import XLNetConfig
from albert_tf.xlnet.family import XLNET
from albert_tf.xlnet.layers import XLNetEmbeddings
from albert_tf.xlnet.layers import XLNetStack
from albert_tf.xlnet.names import encoder_variables

READ = (
    *FEATURES,
    "perm_mask",
    "query_order",
    "key_order",
    "target_positions",
    "memories",
    "reversed_rows",
    "p_mask",
    "start_positions",
)
"""Features that XLNet reads: see `XLNetModel` and `XLNetForQuestionAnswering`."""


@keras.saving.register_keras_serializable(package="albert_tf")
@registry.register_model
class XLNetModel(PretrainedModel):
    """XLNet without a head; official `transformer_xl`.

    Args:
        config: an `XLNetConfig`.
        depth_loop: compile shared layers once, as a loop; same numbers. Not with
            `config.mem_len`.
        rematerialize: trade a second forward pass for memory; same numbers.
        return_attentions: also return `attentions`; neither with `depth_loop` nor in a
            call with `memories`.

    Call: the `input_ids`, int32 `[batch, tokens]`, alone or in a dict with optional
    features: `input_mask` `[batch, tokens]`, 0 for padding; `segment_ids` `[batch,
    tokens]`, which are only compared for equality (Hugging Face's names
    `attention_mask` and `token_type_ids` mean the same); `perm_mask` `[batch, tokens,
    tokens]`, 1 at (i, j) where i must not see j, or the same as `query_order` and
    `key_order`, int32 `[batch, tokens]`: i sees j where `query_order[i] >
    key_order[j]`; `target_positions` int32 `[batch, predictions]`, -1 for padding:
    where the query stream predicts; `memories` float32 `[batch, blocks, memory,
    hidden]`, the inputs of each block for earlier tokens, from the previous call or
    `first_memories`; `reversed_rows` `[batch]`, 1 for a row of reversed text (by
    default `config.bi_data` decides). A token of the content stream always sees itself,
    and every token sees the memory. `dropout_seed`, int32 `[2]`, determines dropout.
    Returns a dict:
        sequence_output: `[batch, tokens, hidden]`, the content stream
        embedding_output: `[batch, tokens, hidden]`
        hidden_states: list of `[batch, tokens, hidden]`, one per block (with
            `depth_loop`, one per loop)
        query_output, query_hidden_states: the same for the query stream, `[batch,
            predictions, hidden]`; absent without `target_positions`
        memories: with `config.mem_len`, the feature of the next call; no gradient
            passes through it
        attentions: with `return_attentions`, list of float32 `[batch, heads, tokens,
            tokens]`, one per block, of the content stream, before dropout

    With `heads_only` the dict holds `memories` and the one output that heads read, and
    the last block computes nothing else.
        query_output: as above
        last_output: `[batch, hidden]`, the content stream at the last token; without
            `target_positions`

    Raises:
        UserError: a feature with an unknown name or a wrong shape, an odd number of
            rows with `config.bi_data`, or options that exclude each other.

    Example:
        model = XLNetModel.from_pretrained("xlnet_base", mem_len=384)
        outputs = model({"input_ids": np.array([[17, 11368, 19, 94, 4, 3]])})
    """

    family = XLNET
    purpose = "encoder"

    def __init__(
        self, config: XLNetConfig, return_attentions: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(config, **kwargs)
        self.return_attentions = return_attentions
        if return_attentions and self.execution["depth_loop"]:
            raise loop_without_attentions()
        if config.mem_len and self.execution["depth_loop"]:
            raise UserError(
                "mem_len and depth_loop exclude each other: a loop keeps no block's "
                "input, which is what XLNet remembers; choose one."
            )
        policy = self.dtype_policy
        self.embeddings = XLNetEmbeddings(config, dtype=policy, name="embeddings")
        self.stack = XLNetStack(config, dtype=policy, name="stack", **self.execution)
        self.build((None, None))

    @property
    def output_shape(self):
        """Shape of `sequence_output`, as `summary` of a model shows it."""
        return (None, None, self.config.d_model)

    def build(self, input_shape=None):
        self.embeddings.build((None, None))
        self.stack.build((None, None, self.config.d_model))

    def call(self, features, training=False, dropout_seed=None, heads_only=False):
        features = named_features(features, READ)
        seed = self._dropout_seed(training, dropout_seed)
        # Keras traces `fit` on several devices with float32 placeholders.
        features["input_ids"] = ops.cast(features["input_ids"], "int32")
        self._check(features)
        tokens = ops.shape(features["input_ids"])[1]
        embeddings = self._embeddings(features, seed)  # [B, S + P, D]
        attention_mask = self._view(features, tokens, seed)
        picked = None
        if heads_only:
            first = tokens if attention_mask.answers is not None else tokens - 1

            def picked(rows):
                return rows[:, first:]

        states = self.stack(
            embeddings, attention_mask=attention_mask, seed=seed, pick=picked
        )
        output = dropout(states[-1], self.config.dropout, seed, OUTPUT_SITE)
        if heads_only:
            outputs = {"query_output": output}
            if attention_mask.answers is None:
                outputs = {"last_output": output[:, 0]}
        else:
            outputs = _both_streams(output, embeddings, states, attention_mask)
            if self.return_attentions:
                inputs = [embeddings, *states[:-1]]
                found = self.stack.attentions(inputs, attention_mask)
                outputs["attentions"] = [of[:, :, :tokens] for of in found]
        if self.config.mem_len:
            inputs = [embeddings, *states[:-1]]
            outputs["memories"] = self._new_memories(inputs, attention_mask)
        return outputs

    def first_block_input(self, embedding_output):
        """Returns `embedding_output`, which is as wide as the blocks."""
        return embedding_output

    def first_memories(self, rows):
        """Returns the memories with which official training starts a stream.

        They are zeros, and tokens attend to them. (A call without `memories` has no
        memory at all, like the first call of Hugging Face's model.)

        Args:
            rows: int, the batch size.

        Returns:
            float32 `[rows, blocks, mem_len, hidden]`.
        """
        config = self.config
        return ops.zeros((rows, config.blocks, config.mem_len, config.d_model))

    def _check(self, features):
        rows = features["input_ids"].shape[0]
        guesses = self.config.bi_data and "reversed_rows" not in features
        if guesses and rows is not None and rows % 2:
            raise UserError(
                f"The batch has {rows} rows, but bi_data reads the second half of "
                "an even number of rows as reversed text; give the feature "
                "reversed_rows."
            )
        if ("query_order" in features) != ("key_order" in features):
            raise UserError(
                "query_order and key_order say together who sees whom; give both."
            )
        if self.return_attentions and "memories" in features:
            raise UserError(
                "return_attentions shows what tokens of one text attend to; leave "
                "memories out."
            )
        memories, blocks = features.get("memories"), self.config.blocks
        # The blocks of a deeper model would be left out unnoticed.
        if memories is not None and memories.shape[1] != blocks:
            raise UserError(
                f"memories has the shape {list(memories.shape)}, but the model takes "
                f"[batch, {blocks}, memory, {self.config.d_model}]."
            )

    def _embeddings(self, features, seed):
        """Concatenates the inputs of both streams, content first."""
        embeddings = self.embeddings(features["input_ids"])
        targets = features.get("target_positions")
        if targets is not None:
            batch, predictions = ops.shape(targets)
            mask_emb = ops.cast(self.embeddings.mask_emb, embeddings.dtype)
            queries = ops.broadcast_to(
                mask_emb, (batch, predictions, self.config.d_model)
            )
            embeddings = ops.concatenate([embeddings, queries], axis=1)
        return dropout(embeddings, self.config.dropout, seed, EMBEDDING_SITE)

    def _view(self, features, tokens, seed):
        config = self.config
        memories = features.get("memories")
        memory_tokens = 0 if memories is None else ops.shape(memories)[2]
        keys = memory_tokens + tokens
        codes = position_codes(keys, tokens, config.d_model, config.clamp_len)
        # One draw for all rows; the official code draws for each row.
        codes = dropout(codes, config.dropout, seed, POSITION_SITE)
        directions = self._directions(features)
        return two_stream_mask(features, tokens, memory_tokens, codes, directions)

    def _directions(self, features):
        """Returns float32 `[batch]`, -1 for a row of reversed text, or None."""
        is_reversed = features.get("reversed_rows")
        if is_reversed is None:
            if not self.config.bi_data:
                return None
            rows = ops.shape(features["input_ids"])[0]
            is_reversed = 2 * ops.arange(rows) >= rows
        return 1.0 - 2.0 * ops.cast(is_reversed, "float32")

    def _new_memories(self, block_inputs, attention_mask):
        """Returns the last `mem_len` of the old memories and the blocks' inputs."""
        config = self.config
        kept = attention_mask.tokens
        if config.reuse_len:
            kept = ops.minimum(kept, config.reuse_len)
        new = ops.stack([inputs[:, :kept] for inputs in block_inputs], axis=1)
        if attention_mask.memories is not None:
            old = ops.cast(attention_mask.memories, new.dtype)
            new = ops.concatenate([old, new], axis=2)
        return ops.stop_gradient(new[:, :, -config.mem_len :])

    def get_config(self):
        return {**super().get_config(), "return_attentions": self.return_attentions}

    def official_variables(self):
        return encoder_variables(self)


def content_encoder(config, **arguments):
    """Makes the `XLNetModel` for a model that reads independent texts.

    Args:
        config: an `XLNetConfig`; see `FineTunedXLNet`.
        **arguments: see `XLNetModel`.
    """
    alone = dataclasses.replace(config, **XLNET.alone)
    encoder = XLNetModel(alone, name="transformer", **arguments)
    # No loss depends on `mask_emb`.
    encoder.embeddings.mask_emb.trainable = False
    return encoder


def _both_streams(output, embeddings, states, attention_mask):
    tokens = attention_mask.tokens
    outputs = {
        "sequence_output": output[:, :tokens],
        "embedding_output": embeddings[:, :tokens],
        "hidden_states": [state[:, :tokens] for state in states],
    }
    if attention_mask.answers is not None:
        outputs["query_output"] = output[:, tokens:]
        outputs["query_hidden_states"] = [state[:, tokens:] for state in states]
    return outputs


@keras.saving.register_keras_serializable(package="albert_tf")
@registry.register_model
class XLNetLMHeadModel(PretrainedModel):
    """XLNet with a score for each token of the vocabulary; official `lm_loss`.

    The projection is the word table, with its own bias.

    Call: as `XLNetModel`. Returns a dict:
        logits: float32 `[batch, predictions, vocabulary]`, of the query stream at
            `target_positions`; without these `[batch, tokens, vocabulary]`, of the
            content stream
        memories: with `config.mem_len`, the feature of the next call

    Example:
        model = XLNetLMHeadModel.from_pretrained("xlnet_base", mem_len=384)
        features = {"input_ids": ids, "perm_mask": mask, "target_positions": targets}
        outputs = model({**features, "memories": model.transformer.first_memories(8)})
        following = model({**next_features, "memories": outputs["memories"]})
    """

    family = XLNET
    purpose = "masked_lm"
    by_permutation = True
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
        """Finds the most probable tokens at given positions.

        A query sees all tokens except the ones to predict, including its own.

        Args:
            features: the call's `input_ids`, `input_mask` and `segment_ids`, and
                `masked_lm_positions` int32 `[batch, predictions]`, -1 for padding.
            top_k, vocab_size: see `AlbertForMaskedLM.best_tokens`.

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
