"""What all models share: a config, official variable names, a model directory."""

import keras

from albert_tf.checkpoints.loading import load_pretrained
from albert_tf.checkpoints.model_directory import save_model_directory
from albert_tf.config import AlbertConfig


class PretrainedModel(keras.Model):
    """A model with an ALBERT encoder, built as soon as it is constructed.

    Subclasses take an `AlbertConfig` first, set `self.albert`, list their own
    variables in `head_variables` and end their constructor with `self.build()`.
    """

    # Whether `from_pretrained` may leave the head at its initial values.
    head_may_be_new = True
    # Beginnings of official names of weights that no output of the model depends on; a
    # checkpoint may lack them.
    unused_variables = ()

    def __init__(self, config, depth_loop=False, rematerialize=False, **kwargs):
        super().__init__(**kwargs)
        self.config = config
        # How the encoder is computed; see `TransformerStack`.
        self.execution = {"depth_loop": depth_loop, "rematerialize": rematerialize}
        self.seed_generator = keras.random.SeedGenerator()

    def head_variables(self):
        """The variables beside the encoder's, by official TF1 name."""
        return {}

    def head_config(self):
        """The constructor arguments that the head depends on."""
        return {}

    @classmethod
    def complete_arguments(cls, arguments, tensors):
        """Adds constructor arguments that follow from a checkpoint's `tensors`."""
        return arguments

    def official_variables(self):
        """All weights by official TF1 name, in the order of the network."""
        return {**self.albert.official_variables(), **self.head_variables()}

    def official_names(self):
        """The official TF1 name of each weight, by `variable.path`."""
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
        return cls(AlbertConfig.from_dict(config.pop("config")), **config)

    def save_pretrained(self, directory, tokenizer=None, training_info=None):
        """Writes a model directory.

        Args:
            directory: created if need be.
            tokenizer: saved beside the weights.
            training_info: a dict for `training_info.json`: steps, data, metrics.
        """
        save_model_directory(self, directory, tokenizer, training_info)

    @classmethod
    def from_pretrained(cls, path, allow_missing=(), **kwargs):
        """Builds the model of a directory and loads its weights.

        Args:
            path: a model directory (`save_pretrained`), an unpacked official
                archive or a Hugging Face directory.
            allow_missing: official names, or beginnings of names, that may be
                absent from the checkpoint and then keep their initial values. The
                head of a fine-tuning model may always be absent.
            **kwargs: constructor arguments, such as `num_labels`.

        Returns:
            The model; `model.load_report` says what was loaded and what was not.

        Raises:
            UserError: the directory holds no checkpoint, or one that does not fit.
        """
        return load_pretrained(cls, path, allow_missing, kwargs)

    def _dropout_seed(self, training, dropout_seed):
        """The seed of this call, or None when nothing is to be dropped."""
        if not training:
            return None
        return self.seed_generator.next() if dropout_seed is None else dropout_seed
