"""The base of all models: a config, official variable names, a model directory."""

import contextlib
import functools
import inspect
import itertools
import json
import operator
import os
import random
from collections.abc import Collection
from typing import TYPE_CHECKING
from typing import Any

import keras

import albert_tf
from albert_tf.checkpoints.model_card import Told
from albert_tf.io import checksums
from albert_tf.io.near_misses import arguments_of
from albert_tf.io.near_misses import refuse_arguments
from albert_tf.io.processes import check_process
from albert_tf.layers.base import refuse_quantization
from albert_tf.models.features import READ
from albert_tf.models.features import called_features
from albert_tf.models.features import check_ranges
from albert_tf.models.features import named_outputs
from albert_tf.models.features import refusing_texts
from albert_tf.row_layout import FEATURES

if TYPE_CHECKING:
    from typing_extensions import Self


@contextlib.contextmanager
def seeded(seed):
    """Draws new models' initial weights and dropout seeds from `seed`.

    Keras draws them from Python's generator. `keras.utils.set_random_seed` would also
    reseed NumPy and TensorFlow, and would not restore any of the three.
    """
    state = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(state)


@functools.cache
def constructor_arguments(model_class):
    """Returns a tuple of the model constructor's argument names, without `config`.

    An argument that only a base class takes counts if it has a default.
    """
    constructors = [vars(owner).get("__init__") for owner in model_class.__mro__]
    own, *bases = (
        [*inspect.signature(constructor).parameters.values()]
        for constructor in filter(inspect.isfunction, constructors)
    )
    of_bases = itertools.chain.from_iterable(bases)
    parameters = [*own[2:], *(p for p in of_bases if p.default is not p.empty)]
    names = (p.name for p in parameters if p.kind is not p.VAR_KEYWORD)
    return tuple(dict.fromkeys(names))


class PretrainedModel(keras.Model):
    """An encoder with a head; the constructor builds the weights.

    A subclass takes a config first, keeps its encoder in the attribute that its
    family names, ends its constructor with `self.build()`, and sets the class
    attributes that `albert_tf.families.registry` reads for loading, conversion and
    export.
    """

    # The `ModelFamily`: config class, and names of the encoder's variables.
    family = None
    # A `HeadVariable` for each variable beside the encoder's. A checkpoint that holds
    # them is recognised as one of this class.
    head_table = ()
    # Whether `from_pretrained` may leave the head at its initial values.
    head_may_be_new = True
    # Constructor arguments that the head depends on, mapped to their keys in Hugging
    # Face's config.json.
    huggingface_arguments = {}
    # Official name prefixes of weights that no output of the model depends on; a
    # checkpoint may lack them.
    unused_variables = ()
    # Official name prefixes of encoder weights that a checkpoint may lack like a head.
    new_variables = ()
    # What the model is for, whatever its architecture: "encoder", "masked_lm",
    # "multiple_choice", "pretraining", "replaced_tokens", "similarity", "squad_v1",
    # "squad_v2", "text_classification" or "token_classification".
    purpose = None
    # Whether attention masks, rather than [MASK], hide the predicted tokens.
    by_permutation = False
    # Names of the features that a call reads.
    features_read = READ
    # Rank of the features: 2 for [batch, tokens], or more.
    feature_axes = 2
    # The features that `export` takes, int32 with `feature_axes` axes each.
    exported_features = FEATURES

    fit, evaluate, predict = map(refusing_texts, ("fit", "evaluate", "predict"))
    quantize = refuse_quantization

    def __init__(self, config, depth_loop=False, rematerialize=False, **kwargs):
        check_process()
        refuse_arguments(type(self).__name__, kwargs, constructor_arguments(type(self)))
        super().__init__(**kwargs)
        if self.dtype_policy.quantization_mode is not None:  # int8_from_float32, …
            refuse_quantization(self)
        self.config = config
        # How the encoder is computed; see `TransformerStack`.
        self.execution = {"depth_loop": depth_loop, "rematerialize": rematerialize}
        self.seed_generator = keras.random.SeedGenerator()
        self.saved_task_info = None

    def __call__(self, *args, **kwargs):
        """Calls the model on a dict of features, or as `model(**features)`.

        The second form also makes outputs attributes, named as in transformers:
        `.logits`.
        """
        check_process()
        given = len(kwargs)
        args = called_features(args, kwargs)
        refuse_arguments("A call of the model", kwargs, arguments_of(type(self).call))
        if args:
            check_ranges(self.config, args[0])
        outputs = super().__call__(*args, **kwargs)
        return named_outputs(outputs) if len(kwargs) < given else outputs

    def __reduce__(self):
        # Keras pickles arguments and weights; `Predictor` also needs the task.
        # Through JSON: in an attribute, Keras keeps dicts that refer to the model.
        info = json.loads(json.dumps(self.saved_task_info))
        return (*super().__reduce__(), {"saved_task_info": info})

    # No property: Keras would save its value under a second name.
    def encoder(self):
        """Returns the network below the head; a model without a head returns itself."""
        return getattr(self, self.family.encoder, self)

    @classmethod
    def head_names(cls):
        """Maps the head's official TF1 names to Hugging Face's, or to None."""
        return {entry.official: entry.huggingface for entry in cls.head_table}

    def head_variables(self):
        """Returns the variables outside the encoder, by official TF1 name."""
        return self._variables_of(self.head_table)

    def _variables_of(self, table):
        named = {entry.official: entry.attribute for entry in table}
        found = {name: operator.attrgetter(own)(self) for name, own in named.items()}
        return {name: value for name, value in found.items() if value is not None}

    def head_config(self):
        """Returns the constructor arguments that the head depends on."""
        return {}

    def require_official_head(self, form):
        """Refuses a head that the format "tf1" or "huggingface" cannot hold.

        Raises:
            UserError: the head does not fit; the message suggests another format.
        """
        return

    @classmethod
    def huggingface_architecture(cls):
        """Returns the name of the matching class in transformers."""
        return cls.__name__

    def head_config_to_huggingface(self):
        """Returns the entries of a `config.json` that describe the head."""
        names, head = self.huggingface_arguments, self.head_config()
        return {theirs: head[own] for own, theirs in names.items()}

    def huggingface_files(self):
        """Returns the contents of JSON files beside `config.json`, by file name."""
        return {}

    @classmethod
    def head_config_from_huggingface(cls, entries):
        """Reads the constructor arguments that a `config.json` determines."""
        told = {n: entries.get(name) for n, name in cls.huggingface_arguments.items()}
        return {name: value for name, value in told.items() if value is not None}

    @classmethod
    def resolve_arguments(cls, saved, given, tensors=None):
        """Returns the constructor arguments for a model about to be loaded.

        Args:
            saved: the head's arguments in the checkpoint.
            given: the caller's arguments, which take precedence.
            tensors: the checkpoint's arrays by official name, from which further
                arguments may follow; None if they were not read.
        """
        return {**saved, **given}

    def official_variables(self) -> dict[str, Any]:
        """Returns all weights by official TF1 name, in network order."""
        return {**self.encoder().official_variables(), **self.head_variables()}

    def official_names(self):
        """Returns the official TF1 name of each weight, by `variable.path`."""
        return {v.path: name for name, v in self.official_variables().items()}

    def get_config(self):
        return {
            "name": self.name,
            "dtype": keras.dtype_policies.serialize(self.dtype_policy),
            "config": self.config.to_dict(),
            **self.execution,
            **self.head_config(),
        }

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        values = config.pop("config")
        return cls(cls.family.config_class.from_dict(values), **config)

    def task_info(self):
        """Returns the task for `training_info.json`; None if the model knows none.

        The task comes from the directory that the model was loaded from, if the model
        there has the same class and the same outputs.
        """
        return self.saved_task_info

    def save_pretrained(
        self,
        directory: str | os.PathLike,
        tokenizer: Any = None,
        training_info: dict | None = None,
        format: str = "model_directory",
    ) -> None:
        """Writes a model directory, or a checkpoint for other programs.

        Args:
            directory: created if it does not exist.
            tokenizer: saved beside the weights.
            training_info: a dict for `training_info.json`: task, steps, data, metrics;
                by default `task_info()`.
            format: "model_directory", "tf1" (the official code) or "huggingface".

        Raises:
            UserError: the format is unknown, or needs a package that is missing.
        """
        albert_tf.bundle.save(self, directory, tokenizer, training_info, format)

    def push_to_hub(
        self,
        name: str,
        tokenizer: Any = None,
        training_info: dict | None = None,
        format: str = "huggingface",
        private: bool = False,
        license: str | None = None,
        language: str | None = None,
        datasets: str | None = None,
    ) -> str:
        """Uploads the model, with a model card, to the Hugging Face Hub.

        A repository that does not exist is made. The files of a model that was there
        are replaced, others stay.

        Args:
            name: "owner/name" of the repository.
            tokenizer, training_info, format: see `save_pretrained`.
            private: whether only the owner sees the repository.
            license, language, datasets: for the card's header, as the Hub names them
                ("apache-2.0", "en"); several are separated by commas.

        Returns:
            The address of the repository.

        Raises:
            UserError: huggingface_hub or a token is missing, the Hub refuses the
                upload, the repository is public where `private` was asked; see also
                `save_pretrained`.
        """
        told = Told(license, language, datasets)
        return albert_tf.bundle.push(
            self, name, tokenizer, training_info, format, private, told
        )

    @classmethod
    def from_pretrained(
        cls,
        path: str | os.PathLike,
        allow_missing: Collection[str] = (),
        verify_checksum: bool = True,
        revision: str | None = None,
        **kwargs: Any,
    ) -> "Self":
        """Builds the model of a directory and loads its weights.

        Args:
            path: a model directory (`save_pretrained`), an official archive,
                unpacked or not, a Hugging Face directory, or the name of a model
                to download: "hf://owner/name" or the URL of an archive.
            allow_missing: official names, or name prefixes, that may be absent from
                the checkpoint and then keep their initial values. The head of a
                fine-tuning model may always be absent.
            verify_checksum: whether to compare the weights with the checksum that
                `save_pretrained` wrote, which takes a second per gigabyte.
            revision: branch, tag or commit of an "hf://" model.
            **kwargs: constructor arguments, such as `num_labels`, and fields of the
                config to change, such as `hidden_dropout_prob`.

        Returns:
            The model; `model.load_report` lists the loaded and the missing variables.

        Raises:
            UserError: the directory holds no checkpoint, or one that does not fit.
        """
        bundle = albert_tf.bundle.open(path, revision)
        with checksums.verifying_weights(verify_checksum):
            return bundle.model(cls, allow_missing, **kwargs)

    def export(self, filepath, format="tf_saved_model", input_signature=None, **kwargs):
        """Exports the network without the tokenizer, like `keras.Model.export`.

        Args:
            filepath: where to write.
            format: see `keras.Model.export`; "onnx" needs tf2onnx
                (`pip install 'albert-tf[onnx]'`).
            input_signature: by default a dict of int32 features with any number of
                rows and tokens: `input_ids`, `input_mask`, `segment_ids` and, for
                pretraining, `masked_lm_positions`.
            **kwargs: see `keras.Model.export`.

        The outputs are the call's, without `hidden_states`.
        For a model that takes raw text in TensorFlow Serving, use `albert-tf export`.
        """
        shape = [None] * (self.feature_axes - 1)
        shapes = dict.fromkeys(self.exported_features, (None, *shape))
        if input_signature:
            (specs,) = input_signature
            shapes = {name: tuple(spec.shape) for name, spec in specs.items()}
        if format == "onnx":
            # Imported here: on other Keras backends, models do not need TensorFlow.
            from albert_tf.token_files import write_onnx_model

            write_onnx_model(self, shapes, filepath)
            return
        inputs = {name: keras.Input(shape, dtype="int32", name=name) for name in shapes}
        outputs = self(inputs)
        if isinstance(outputs, dict):
            # A signature cannot return lists, such as the hidden states.
            outputs = {k: v for k, v in outputs.items() if type(v) is not list}
        network = keras.Model(inputs, outputs, name=self.name)
        network.export(filepath, format, input_signature=input_signature, **kwargs)

    def _dropout_seed(self, training, dropout_seed):
        """Returns the seed of this call, or None for a call without dropout."""
        if not training:
            return None
        return self.seed_generator.next() if dropout_seed is None else dropout_seed
