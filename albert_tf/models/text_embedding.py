"""Encoders that give a vector for each text."""

import json
from typing import Any

import keras
from keras import ops

from albert_tf import prompts as prompting
from albert_tf.checkpoints.sentence_transformers import TEXT_VECTORS
from albert_tf.checkpoints.sentence_transformers import pooling_files
from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.families.albert import ALBERT
from albert_tf.models.albert import AlbertModel
from albert_tf.models.base import PretrainedModel
from albert_tf.models.features import mask_of
from albert_tf.models.features import named_features
from albert_tf.models.flags import POOLINGS
from albert_tf.models.windows import check_window_pooling
from albert_tf.models.windows import over_windows
from albert_tf.models.windows import refuse_windows
from albert_tf.row_layout import FEATURES


def text_vectors(
    encoded, input_mask, pooling, layer=-1, normalize=False, cls_position=0
):
    """Computes vectors of texts, float32 `[batch, hidden]`.

    Args:
        encoded: the outputs of `AlbertModel` or `XLNetModel`.
        input_mask: `[batch, tokens]`, 0 for padding.
        pooling: "mean" over all tokens, including special ones; "cls", the vector of
            the classification token; or "pooler", the pooled output, for the last layer
            only.
        layer: the layer to read, from 1; negative ones count from the end.
        normalize: whether to make each vector's length 1.
        cls_position: place of the classification token in the rows, -1 for the last.

    Raises:
        UserError: see `check_choice`.
    """
    layers = encoded["hidden_states"]
    check_choice(pooling, layer, len(layers))
    if pooling == "pooler":
        vectors = ops.cast(encoded["pooled_output"], "float32")
    else:
        is_last = layer in (-1, len(layers))
        hidden = encoded["sequence_output"] if is_last else layers[layer - (layer > 0)]
        hidden = ops.cast(hidden, "float32")  # [B, T, H]
        vectors = hidden[:, cls_position]
        if pooling == "mean":
            # Not by slicing with a new axis, which TensorFlow Lite does not support.
            weights = ops.expand_dims(ops.cast(input_mask, "float32"), 2)  # [B, T, 1]
            vectors = ops.sum(hidden * weights, axis=1) / ops.sum(weights, axis=1)
    return ops.normalize(vectors, axis=-1) if normalize else vectors


def check_choice(pooling, layer, num_layers, poolings=POOLINGS):
    """Refuses a pooling and layer that `text_vectors` cannot compute.

    Raises:
        UserError: an unknown pooling, a layer that the model does not have, or
            "pooler" for a layer other than the last.
    """
    if pooling not in poolings:
        raise UserError(f"pooling={pooling!r}: expected one of {', '.join(poolings)}.")
    if not 1 <= abs(layer) <= num_layers:
        raise UserError(
            f"layer={layer}: the model has the layers 1 to {num_layers}; -1 is the "
            "last, -2 the one before it."
        )
    if pooling == "pooler" and layer not in (-1, num_layers):
        raise UserError(
            f"pooling='pooler' reads the last layer, not layer={layer}; leave the "
            "layer out, or choose 'mean' or 'cls'."
        )


class TextEmbedding(PretrainedModel):
    """An encoder that pools the vectors of tokens into one vector of the text.

    A subclass makes the encoder, in `_make_encoder`, and gives its class name in
    transformers.
    """

    purpose = "similarity"
    poolings = POOLINGS

    def __init__(
        self,
        config: Any,
        pooling: str = "mean",
        layer: int = -1,
        normalize: bool = False,
        encoder: Any = None,
        prompts: dict[str, str] | None = None,
        default_prompt_name: str | None = None,
        include_prompt: bool = True,
        window_pooling: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(config, **kwargs)
        check_window_pooling(window_pooling)
        self.window_pooling = window_pooling
        prompting.check_settings(prompts or {}, default_prompt_name, include_prompt)
        # As JSON: Keras would track the values of a dict.
        self._prompts = json.dumps(prompts or {})
        self.default_prompt_name = default_prompt_name
        self.include_prompt = include_prompt
        layers = config.num_hidden_layers * config.inner_group_num
        check_choice(pooling, layer, layers, self.poolings)
        self.pooling, self.normalize = pooling, bool(normalize)
        self.layer = -1 if layer == layers else layer
        # A loop keeps only the last layer's output.
        loop = self.execution["depth_loop"] and self.layer == -1
        encoder = encoder or self._make_encoder({**self.execution, "depth_loop": loop})
        if self.pooling != "pooler" and hasattr(encoder, "pooler"):
            encoder.train_pooler(False)  # no loss depends on it
        setattr(self, self.family.encoder, encoder)
        self.build()

    @property
    def prompts(self):
        """The prompts by name, a dict of str."""
        return json.loads(self._prompts)

    def build(self, input_shape=None):
        self.built = True

    def call(self, features, training=False, dropout_seed=None):
        features = named_features(features, FEATURES)
        seed = self._dropout_seed(training, dropout_seed)
        found = over_windows(
            features,
            lambda rows: self._vectors(rows, training, seed),
            self.window_pooling,
        )
        if self.window_pooling is None or not self.normalize:
            return found
        return ops.normalize(found, axis=-1)

    def _vectors(self, features, training, seed):
        """Computes the vectors of features `[rows, tokens]`."""
        pooled = mask = mask_of(features)
        if not self.include_prompt:
            pooled = ops.cast(ops.equal(mask, 1), "int32")
            features = {**features, "input_mask": ops.minimum(mask, 1)}
        encoded = self.encoder()(features, training=training, dropout_seed=seed)
        # Rows that end with [CLS] are padded before their tokens.
        cls = -1 if self.config.row_layout.cls_last else 0
        settings = self.pooling, self.layer, self.normalize, cls
        return text_vectors(encoded, pooled, *settings)

    @property
    def unused_variables(self):
        """The pooler's name prefix, unless the pooling reads it."""
        return () if self.pooling == "pooler" else self._unread

    def head_config(self):
        names = ("pooling", "layer", "normalize")
        own = {name: getattr(self, name) for name in names}
        if self.window_pooling is not None:
            own["window_pooling"] = self.window_pooling
        return {**own, **prompting.settings_of(self)}

    def require_official_head(self, form):
        super().require_official_head(form)
        refuse_windows(self.window_pooling)

    @classmethod
    def huggingface_architecture(cls):
        return cls.encoder_name

    def huggingface_files(self):
        if self.layer != -1:
            raise UserError(
                f"sentence-transformers reads the last layer, not layer={self.layer}; "
                "save a model directory."
            )
        return pooling_files(
            self.pooling,
            self.normalize,
            self.config.hidden_size,
            self.config.row_layout.cls_last,
            (self.task_info() or {}).get("max_seq_length"),
            prompting.settings_of(self),
        )

    @classmethod
    def resolve_arguments(cls, saved, given, tensors=None):
        if "prompts" in given:  # they come with their own default
            saved = {k: v for k, v in saved.items() if k != "default_prompt_name"}
        return super().resolve_arguments(saved, given, tensors)

    @classmethod
    def head_config_from_huggingface(cls, entries):
        told = entries.get(TEXT_VECTORS, {})
        names = ("pooling", "normalize", *prompting.FIELDS)
        return {name: told[name] for name in names if name in told}


@keras.saving.register_keras_serializable(package="albert_tf")
@registry.register_model
class AlbertForTextEmbedding(TextEmbedding):
    """The encoder with a vector for each text, which cosines compare.

    Sentence-BERT (Reimers and Gurevych, 2019), section 3; the model of
    sentence-transformers.

    Args:
        pooling: "mean" over all tokens of a text, including special ones; "cls", the
            vector of its [CLS]; or "pooler", the pooled output.
        layer: the layer to read, from 1; -1 is the last.
        normalize: whether each vector's length is 1.
        encoder: another model's `AlbertModel`, to share.
        prompts: texts by name that a `TextEmbedder` and a served model put before what
            they read.
        default_prompt_name: the name of the prompt for calls that choose none.
        include_prompt: whether the mean includes the tokens of a prompt. If not, the
            `input_mask` of these tokens is 2.
        window_pooling: for texts in several windows: the "mean" or the "max" of the
            windows' vectors; None takes no windows.

    Call: as `AlbertModel`, or with features `[batch, texts, tokens]`; with a
    `window_pooling`, `[batch, windows, tokens]` or `[batch, texts, windows, tokens]`.
    Returns vectors, float32 `[batch, hidden]` or `[batch, texts, hidden]`.

    Raises:
        UserError: a pooling or a layer that the model does not have.

    Example:
        model = AlbertForTextEmbedding.from_pretrained(path)
        vectors = model(tokenizer(["a fine film", "a good film"]))
    """

    family = ALBERT
    encoder_name = "AlbertModel"
    _unread = ("bert/pooler",)

    def _make_encoder(self, execution):
        return AlbertModel(
            self.config, dtype=self.dtype_policy, name="albert", **execution
        )
