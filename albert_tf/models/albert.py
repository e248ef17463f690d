"""The ALBERT encoder, and the base of models that put a head on it."""

import functools
from typing import Any

import keras
from keras import ops

from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.families.albert import ALBERT
from albert_tf.families.albert_names import encoder_variables
from albert_tf.layers.activations import ACTIVATION_FUNCTIONS
from albert_tf.layers.attention_mask import attention_mask_of
from albert_tf.layers.attention_mask import gather_positions
from albert_tf.layers.base import LayerNorm
from albert_tf.layers.base import projection
from albert_tf.layers.embeddings import Embeddings
from albert_tf.layers.transformer_stack import TransformerStack
from albert_tf.models.base import PretrainedModel
from albert_tf.models.features import mask_of
from albert_tf.models.features import named_features


@keras.saving.register_keras_serializable(package="albert_tf")
@registry.register_model
class AlbertModel(PretrainedModel):
    """The ALBERT encoder with its pooler; official `AlbertModel`.

    Args:
        config: an `AlbertConfig`.
        depth_loop: compile the shared layers once, as a loop; same numbers.
        rematerialize: trade a second forward pass for memory; same numbers.
        return_attentions: also return `attentions`; not with `depth_loop`.
        embeddings: the `Embeddings` of another model, which this one shares.

    Call: int32 `[batch, tokens]`, the `input_ids` alone or a dict of them and
    optionally `input_mask` (ones if absent), `segment_ids` (zeros if absent; Hugging
    Face's names `attention_mask` and `token_type_ids` mean the same) and, where a row
    holds several texts, `pair_ids`: equal for the tokens of one text, which then
    attend to each other only and count their positions from 0. `cls_positions`
    `[batch, pairs]` says where the tokens to pool are (the first one if absent).
    `dropout_seed`, int32 `[2]`, determines dropout; without it, the model's own
    generator advances. Returns a dict:
        sequence_output: `[batch, tokens, hidden]`
        pooled_output: `[batch, hidden]`; `[batch, pairs, hidden]` with
            `cls_positions`
        embedding_output: `[batch, tokens, embedding]`
        hidden_states: list of `[batch, tokens, hidden]`, one per block (with
            `depth_loop`, one per loop), before the final norm that `config.norm` "pre"
            adds
        attentions: with `return_attentions`, list of float32 `[batch, heads, tokens,
            tokens]`, one per block: attention probabilities before dropout

    With `heads_only` the dict holds only the heads' inputs, and the last block computes
    nothing else, which is faster and gives the same numbers.
        pooled_output: as above
        masked_output: `[batch, predictions, hidden]`, the sequence output at the
            feature `masked_lm_positions`; absent without it
    With `all_layers` the dict holds only the pooled output of each layer, computed as
    if that layer were the last, for early exits.
        pooled_outputs: `[batch, layers, hidden]`

    Raises:
        UserError: more tokens than `config.max_position_embeddings`, a feature with an
            unknown name, or options that exclude each other.

    Example:
        model = AlbertModel(AlbertConfig.released("base_v2"))
        pooled = model({"input_ids": np.array([[2, 31, 23, 3]])})["pooled_output"]
    """

    family = ALBERT
    purpose = "encoder"

    def __init__(
        self,
        config: AlbertConfig,
        return_attentions: bool = False,
        embeddings: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(config, **kwargs)
        if return_attentions and self.execution["depth_loop"]:
            raise loop_without_attentions()
        self.return_attentions = return_attentions
        policy = self.dtype_policy
        self.embeddings = embeddings or Embeddings(
            config, dtype=policy, name="embeddings"
        )
        self.embedding_mapping = None
        if config.has_embedding_mapping:
            self.embedding_mapping = projection(
                config, config.hidden_size, dtype=policy, name="embedding_mapping"
            )
        self.transformer = TransformerStack(
            config, dtype=policy, name="transformer", **self.execution
        )
        self.pooler = projection(
            config,
            config.hidden_size,
            use_bias=config.has_bias("head", in_block=False),
            dtype=policy,
            name="pooler",
        )
        self.pooler_norm = None
        if config.pooler_norm:
            self.pooler_norm = LayerNorm(
                config,
                use_bias=config.has_bias("norm", in_block=False),
                dtype=policy,
                name="pooler_norm",
            )
        self.build((None, None))

    @property
    def output_shape(self):
        """Shape of `sequence_output`, as `summary` of a model shows it."""
        return (None, None, self.config.hidden_size)

    def build(self, input_shape=None):
        # Without shapes, `summary` would show none.
        if not self.embeddings.built:
            self.embeddings.build((None, None))
        if self.embedding_mapping is not None:
            self.embedding_mapping.build((None, None, self.config.embedding_size))
        self.transformer.build((None, None, self.config.hidden_size))
        self.pooler.build((None, self.config.hidden_size))
        if self.pooler_norm is not None:
            self.pooler_norm.build((None, self.config.hidden_size))

    def train_pooler(self, trains):
        """Says whether the pooler's weights are trainable."""
        self.pooler.trainable = trains
        if self.pooler_norm is not None:
            self.pooler_norm.trainable = trains

    def call(
        self,
        features,
        training=False,
        dropout_seed=None,
        heads_only=False,
        all_layers=False,
    ):
        features = named_features(features)
        seed = self._dropout_seed(training, dropout_seed)
        embedding_output, attention_mask = self._embed(features, seed)
        hidden = self.first_block_input(embedding_output)
        if all_layers:
            return {"pooled_outputs": self._run_for_exits(hidden, attention_mask, seed)}
        cls_positions = features.get("cls_positions")
        masked_positions = features.get("masked_lm_positions")
        if heads_only and self.config.pooled_tokens == "first":
            return self._run_for_heads(
                hidden, attention_mask, seed, cls_positions, masked_positions
            )
        hidden_states = self.transformer(
            hidden, attention_mask=attention_mask, seed=seed
        )
        sequence_output = self.transformer.output_of(hidden_states[-1])  # [B, T, H]
        outputs = {
            "sequence_output": sequence_output,
            "pooled_output": self.pool(self._read_tokens(sequence_output, features)),
            "embedding_output": embedding_output,
            "hidden_states": hidden_states,
        }
        if heads_only and masked_positions is not None:
            outputs["masked_output"] = gather_positions(
                sequence_output, masked_positions
            )
        if self.return_attentions:
            outputs["attentions"] = self.transformer.attentions(
                [hidden, *hidden_states[:-1]], attention_mask
            )
        return outputs

    def _read_tokens(self, sequence_output, features):
        """Returns what the pooler reads, `[batch, hidden]` or `[batch, pairs, hidden]`.

        Args:
            sequence_output: `[batch, tokens, hidden]`.
            features: the `named_features`.
        """
        cls_positions = features.get("cls_positions")
        if self.config.pooled_tokens == "mean":
            return mean_of_tokens(sequence_output, features)
        if cls_positions is None:
            return sequence_output[:, 0]
        return gather_positions(sequence_output, cls_positions)

    def _embed(self, features, seed):
        """Computes the embedding output `[B, T, E]` and the batch's `AttentionMask`."""
        # Keras traces `fit` on several devices with float32 placeholders.
        input_ids = ops.cast(features["input_ids"], "int32")
        tokens, most = input_ids.shape[1], self.config.max_position_embeddings
        if tokens is not None and tokens > most:  # None in a graph
            raise UserError(
                f"The input has {tokens} tokens, but the model has only {most} "
                "positions; shorten the input."
            )
        segment_ids = features.get("segment_ids")
        if segment_ids is None:
            segment_ids = ops.zeros_like(input_ids)
        segment_ids = ops.cast(segment_ids, "int32")
        attention_mask = attention_mask_of(
            self.config, mask_of(features), features.get("pair_ids")
        )
        embedding_output = self.embeddings(
            input_ids, segment_ids, seed=seed, positions=attention_mask.positions
        )
        return embedding_output, attention_mask

    def first_block_input(self, embedding_output):
        """Maps `embedding_output` to `[batch, tokens, hidden]`."""
        if self.embedding_mapping is None:
            return embedding_output
        return self.embedding_mapping(embedding_output)

    def _run_for_heads(
        self, hidden, attention_mask, seed, cls_positions, masked_positions
    ):
        """Runs the blocks; the last one computes only the tokens that heads read."""
        one = cls_positions is None
        if one:
            cls_positions = ops.zeros_like(hidden[:, :1, 0], dtype="int32")  # [B, 1]
        pooled = ops.shape(cls_positions)[1]
        pick = _first_tokens
        if not one or masked_positions is not None:
            positions = [ops.cast(cls_positions, "int32")]
            if masked_positions is not None:
                positions.append(ops.cast(masked_positions, "int32"))
            positions = ops.concatenate(positions, axis=1)  # [B, pairs + P]
            pick = functools.partial(gather_positions, positions=positions)
        states = self.transformer(
            hidden, attention_mask=attention_mask, seed=seed, pick=pick
        )
        output = self.transformer.output_of(states[-1])  # [B, pairs + P, H]
        first = output[:, 0] if one else output[:, :pooled]
        outputs = {"pooled_output": self.pool(first)}
        if masked_positions is not None:
            outputs["masked_output"] = output[:, pooled:]  # [B, P, H]
        return outputs

    def _run_for_exits(self, hidden, attention_mask, seed):
        """Returns the pooled output of each layer, `[batch, layers, hidden]`."""
        blocks, firsts = self.config.inner_group_num, []
        last = (self.config.num_hidden_layers - 1) * blocks
        for start in range(0, last, blocks):
            hidden = self.transformer.run(
                hidden, attention_mask, start, start + blocks, seed
            )[-1]
            firsts.append(hidden[:, 0])
        output = self.transformer(
            hidden,
            attention_mask=attention_mask,
            seed=seed,
            pick=_first_tokens,
            first=last,
        )
        firsts.append(output[-1][:, 0])
        return self.pool(self.transformer.output_of(ops.stack(firsts, axis=1)))

    def block_input(self, features):
        """Returns the first block's input in inference and the `AttentionMask`.

        Args:
            features: as for the call.
        """
        embedding_output, attention_mask = self._embed(named_features(features), None)
        return self.first_block_input(embedding_output), attention_mask

    def pooled(self, hidden):
        """Pools a block's output into `[batch, hidden]`."""
        return self.pool(self.transformer.output_of(hidden[:, :1])[:, 0])

    def pool(self, tokens):
        """Computes the pooler's output for vectors `[..., hidden]`."""
        pooled = ACTIVATION_FUNCTIONS[self.config.pooler_act](self.pooler(tokens))
        return pooled if self.pooler_norm is None else self.pooler_norm(pooled)

    @property
    def new_variables(self):
        """Name prefixes of weights that begin as a head, with random values."""
        return ("bert/pooler",) if self.config.pooler_is_of_head else ()

    def get_config(self):
        return {**super().get_config(), "return_attentions": self.return_attentions}

    def official_variables(self):
        return encoder_variables(self)


class AlbertWithHead(PretrainedModel):
    """An `AlbertModel`, `self.albert`, with a head that the subclass adds.

    Args:
        config: an `AlbertConfig`.
        **kwargs: how the model is computed, see `AlbertModel`.

    Raises:
        UserError: see `AlbertModel`.
    """

    family = ALBERT
    # Whether an output depends on the pooler. If none does, Hugging Face's model has no
    # pooler, and the official optimizer does not touch it, not even by weight decay.
    reads_pooler = True
    # Whether the head classifies tokens, each of which some architectures pool.
    classifies_tokens = False

    def __init__(self, config: AlbertConfig, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.albert = AlbertModel(
            config, dtype=self.dtype_policy, name="albert", **self.execution
        )
        self.albert.train_pooler(self.reads_pooler or self._pools_tokens)

    @property
    def _pools_tokens(self):
        return self.classifies_tokens and self.config.pooler_norm

    def encoded(self, features, training, seed, **options):
        """Calls the `AlbertModel` with `options` and returns its outputs.

        If the head classifies tokens, "sequence_output" is what it reads.
        """
        outputs = self.albert(features, training=training, dropout_seed=seed, **options)
        if self._pools_tokens:
            tokens = self.albert.pool(outputs["sequence_output"])
            outputs = {**outputs, "sequence_output": tokens}
        return outputs

    @property
    def unused_variables(self):
        """Name prefixes of weights that a checkpoint may lack."""
        is_read = self.reads_pooler and not self.classifies_tokens
        return () if is_read or self._pools_tokens else ("bert/pooler",)

    @property
    def new_variables(self):
        """Name prefixes of weights that begin as a head, with random values."""
        return self.albert.new_variables


def mean_of_tokens(sequence, features):
    """Computes the mean vector of a row's tokens, `[batch, hidden]`.

    With the feature `cls_positions`, it computes the mean of each pair, `[batch, pairs,
    hidden]`.
    """
    mask = ops.cast(mask_of(features), "float32")  # [B, T]
    sequence = ops.cast(sequence, "float32")
    positions = features.get("cls_positions")
    if positions is None:
        # Not by slicing with a new axis, which TensorFlow Lite does not support.
        weights = ops.expand_dims(mask, 2)
        counts = ops.maximum(ops.sum(weights, axis=1), 1.0)
        return ops.sum(sequence * weights, axis=1) / counts
    pair_ids = features.get("pair_ids", ops.zeros_like(features["input_ids"]))
    pairs = ops.take_along_axis(pair_ids, ops.cast(positions, "int32"), axis=1)
    is_own = ops.equal(ops.expand_dims(pairs, 2), ops.expand_dims(pair_ids, 1))
    mask = ops.expand_dims(mask, 1) * ops.cast(is_own, "float32")  # [B, pairs, T]
    counts = ops.maximum(ops.sum(mask, axis=2, keepdims=True), 1.0)
    return ops.matmul(mask, sequence) / counts


def _first_tokens(sequence):
    return sequence[:, :1]  # [B, 1, width]


def loop_without_attentions():
    """Returns the error for `depth_loop` together with `return_attentions`."""
    return UserError(
        "return_attentions and depth_loop exclude each other: a loop keeps no block's "
        "attention; choose one."
    )
