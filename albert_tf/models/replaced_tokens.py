"""The model of replaced-token detection: a discriminator and its small generator."""

import dataclasses
from typing import Any

import keras
from keras import ops

from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.families import head_variables
from albert_tf.families import registry
from albert_tf.layers.activations import ACTIVATION_FUNCTIONS
from albert_tf.layers.base import projection
from albert_tf.layers.heads import MaskedLMHead
from albert_tf.models.albert import AlbertModel
from albert_tf.models.albert import AlbertWithHead

_SHARED = "bert/embeddings/"
_OF_EMBEDDINGS = {
    "embedding_size",
    "max_position_embeddings",
    "position_embedding_type",
    "type_vocab_size",
    "vocab_size",
}


@keras.saving.register_keras_serializable(package="albert_tf")
@registry.register_model
class AlbertForReplacedTokens(AlbertWithHead):
    """The encoder with a score for each token: did a generator replace it?

    ELECTRA (Clark et al., arXiv 2003.10555) with ALBERT's sharing: the generator shares
    the discriminator's embedding tables, and has its own blocks and projection.

    Args:
        generator: a dict of the fields in which the generator's config differs, such
            as `{"hidden_size": 64, "num_attention_heads": 1}`; None for a discriminator
            alone.
        keep_generator: whether a model directory also holds the generator.

    Call: as `AlbertModel`. Returns logits, float32 `[batch, tokens]`; a token above 0
    is more likely a replacement than an original.

    Raises:
        UserError: a generator with other embeddings.

    Example:
        model = AlbertForReplacedTokens.from_pretrained(path)
        logits = model(tokenizer("the chef ate the meal"))
    """

    purpose = "replaced_tokens"
    head_table = (
        *head_variables.dense("transform", "discriminator_predictions/dense"),
        *head_variables.dense("decision", "discriminator_predictions/dense_1"),
    )
    head_may_be_new = False
    reads_pooler = False

    def __init__(
        self,
        config: AlbertConfig,
        generator: dict[str, Any] | None = None,
        keep_generator: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(config, **kwargs)
        policy = self.dtype_policy
        self.transform = projection(
            config, config.hidden_size, dtype=policy, name="transform"
        )
        self.decision = projection(config, 1, dtype=policy, name="decision")
        self.generator_changes = generator
        self.keep_generator = keep_generator
        self.generator = None
        if generator is not None:
            own = _generator_config(config, generator)
            self.generator = AlbertModel(
                own,
                embeddings=self.albert.embeddings,
                dtype=policy,
                name="generator",
                **self.execution,
            )
            self.generator.train_pooler(False)
            self.generator_head = MaskedLMHead(own, dtype=policy, name="generator_head")
        self.build()

    def build(self, input_shape=None):
        shape = (None, None, self.config.hidden_size)
        self.transform.build(shape)
        self.decision.build(shape)
        if self.generator is not None:
            self.generator_head.build((None, None, self.generator.config.hidden_size))

    def call(self, features, training=False, dropout_seed=None):
        seed = self._dropout_seed(training, dropout_seed)
        encoded = self.encoded(features, training, seed)
        config = self.config
        name = config.head_act if config.is_roberta else config.block_act
        activation = ACTIVATION_FUNCTIONS[name]
        hidden = activation(self.transform(encoded["sequence_output"]))  # [B, T, H]
        return ops.cast(self.decision(hidden)[..., 0], "float32")

    def guesses(self, features, training=False, dropout_seed=None):
        """Returns the generator's logits for masked tokens.

        Args:
            features: as for the call, with `masked_lm_positions`.
            training, dropout_seed: as for the call.

        Returns:
            float32 `[batch, predictions, vocabulary]`.
        """
        encoded = self.generator(
            features, training=training, dropout_seed=dropout_seed, heads_only=True
        )
        table = ops.convert_to_tensor(self.albert.embeddings.word_embeddings)
        return self.generator_head(encoded["masked_output"], table)

    def head_variables(self):
        variables = super().head_variables()
        if self.generator is None or not self.keep_generator:
            return variables
        own = {
            name.replace("bert/", "generator/", 1): variable
            for name, variable in self.generator.official_variables().items()
            if not name.startswith(_SHARED)
        }
        head = self._variables_of(head_variables.masked_lm("generator_head"))
        head = {n.replace("cls/", "generator_", 1): v for n, v in head.items()}
        return {**variables, **own, **head}

    def head_config(self):
        if self.generator_changes is None or not self.keep_generator:
            return {}
        return {"generator": dict(self.generator_changes)}

    def get_config(self):
        own = {"generator": self.generator_changes}
        return {**super().get_config(), **own, "keep_generator": self.keep_generator}


def _generator_config(config, changes):
    """Returns the generator's configuration; its embeddings are the discriminator's."""
    shared = sorted(_OF_EMBEDDINGS & changes.keys())
    if shared:
        raise UserError(
            f"The generator has the embeddings of the discriminator; leave its "
            f"{shared[0]} out."
        )
    return dataclasses.replace(config, **{"tie_word_embeddings": True, **changes})
