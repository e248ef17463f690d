"""The kinds of pretraining: model, data and loss for each `--objective`."""

import contextlib

from absl import logging

from albert_tf import bundle
from albert_tf.config import AlbertConfig
from albert_tf.costs import albert
from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.models.replaced_tokens import AlbertForReplacedTokens
from albert_tf.objectives.masked_lm import PermutationObjective
from albert_tf.objectives.masked_lm import PretrainingObjective
from albert_tf.objectives.replaced_tokens import ReplacedTokensObjective
from albert_tf.pretraining.initial_model import first_model
from albert_tf.pretraining.initial_model import initial_model
from data_pipeline.input_pipeline import pretraining_dataset
from data_pipeline.xlnet.dataset import stream_dataset
from data_pipeline.xlnet.streams import reused_length

# Prefixes of official names that the initial checkpoint may lack.
_OF_REPLACED_TOKENS = ("discriminator_predictions", "generator", "bert/pooler")
# Config fields that affect neither the weights nor their meaning.
_OF_A_RUN = (
    "bi_data",
    "dropatt",
    "dropout",
    "initializer_range",
    "mem_len",
    "reuse_len",
)


class MaskedLM:
    """ALBERT's masked LM plus the sentence objective of the data."""

    config_class = AlbertConfig
    model_class = AlbertForPreTraining
    learns_sentences = True
    """True if the labels of the data's sentences are learned, where it has any."""
    best_metric = "masked_lm_accuracy"
    """The held-out metric that picks the best model; None to keep the newest."""
    initial_model = staticmethod(initial_model)

    def trained_model(self, path, flags, config):
        """Loads a trained model directory for evaluation without training.

        Raises:
            UserError: it is unreadable, or its config differs from `config`.
        """
        model = bundle.open(path).model(self.model_class, **flags.execution)
        if model.config != config:
            raise UserError(
                f"{path} holds a model whose configuration differs from "
                f"{flags.albert_config_file}; pass the configuration of that model."
            )
        return model

    def networks(self, model, predictions):
        """Lists (config, predictions per row) of each network that a step runs.

        Args:
            model: the model in training.
            predictions: number of predictions in a row of the data.
        """
        return [(model.config, predictions)]

    def training_flops(self, model, length, predictions):
        """Counts the training FLOPs per token, for rows of `length` tokens."""
        rematerialize = model.execution["rematerialize"]
        forward = [
            config.costs.forward_flops(config, length, count)
            for config, count in self.networks(model, predictions)
        ]
        return sum(albert.training_flops(count, rematerialize) for count in forward)

    def objective(self, data, flags):
        """Makes the `Objective` for a `PretrainingData`."""
        return PretrainingObjective(data.sentence_terms())

    def dataset(self, *arguments, max_gram, **reading):
        """Makes the dataset; see `pretraining_dataset`."""
        return pretraining_dataset(*arguments, **reading)

    def check_config(self, config, path, lengths):
        """Checks that the config can hold sequences of these lengths."""
        if config.max_position_embeddings < max(lengths):
            raise UserError(
                f"--max_seq_length={max(lengths)} exceeds "
                f"max_position_embeddings={config.max_position_embeddings} of "
                f"{path}; shorten the sequences."
            )


class ReplacedTokensDetection(MaskedLM):
    """ELECTRA's discriminator and its generator, on the data of the masked LM."""

    model_class = AlbertForReplacedTokens
    learns_sentences = False
    # No metric: a better generator lowers every score of the discriminator, and since
    # most tokens are original, always answering "original" is nearly always right.
    best_metric = None

    def objective(self, data, flags):
        return ReplacedTokensObjective(
            flags.gen_weight, flags.disc_weight, flags.temperature
        )

    def trained_model(self, path, flags, config):
        model = super().trained_model(path, flags, config)
        if model.generator is None:
            raise UserError(
                f"{path} keeps no generator, without which no token is replaced; train "
                "with --keep_generator to evaluate a finished run."
            )
        return model

    def initial_model(self, flags, config, terms, start=None):
        return first_model(
            self.model_class,
            flags,
            config,
            start,
            _OF_REPLACED_TOKENS,
            generator=flags.config_changes(config),
            keep_generator=flags.keep_generator,
        )

    def networks(self, model, predictions):
        return [(model.config, 0), (model.generator.config, predictions)]


class PermutationLM(MaskedLM):
    """XLNet's permutation language model, on streams of text."""

    model_class = next(m for m in registry.models() if m.by_permutation)
    config_class = model_class.family.config_class
    best_metric = "permutation_lm_accuracy"

    def objective(self, data, flags):
        return PermutationObjective()

    def initial_model(self, flags, config, terms, start=None):
        """Builds as `MaskedLM` does; a checkpoint must have the same layers."""
        if start is None:
            return self.model_class(config, **flags.execution)
        changes = {name: getattr(config, name) for name in _OF_A_RUN}
        model = start.model(self.model_class, **changes, **flags.execution)
        for name, value in config.to_dict().items():
            other = getattr(model.config, name)
            if value != other:
                raise UserError(
                    f"{start.source} has {name} {other}, but "
                    f"{flags.albert_config_file} {value}; they may differ only in "
                    f"{', '.join(_OF_A_RUN)}."
                )
        logging.info("Starting from %s", model.load_report)
        return model

    def check_config(self, config, path, lengths):
        """Checks that the memory holds the tokens right before each segment."""
        for length in lengths:
            reused = reused_length(length)
            if config.mem_len and config.reuse_len != reused:
                raise UserError(
                    f"{path} has reuse_len {config.reuse_len}, but segments of "
                    f"{length} tokens continue each other after {reused}; set "
                    f"reuse_len to {reused}, or mem_len to 0 for no memory."
                )

    def dataset(self, *arguments, max_gram, vocab_size=None, **masking):
        """Makes the dataset; see `stream_dataset`. No token is masked."""
        return stream_dataset(*arguments, max_gram=max_gram, vocab_size=vocab_size)


KINDS = {
    "masked_lm": MaskedLM(),
    "replaced_tokens": ReplacedTokensDetection(),
    "permutation_lm": PermutationLM(),
}
"""By `--objective`."""


def load_config(objective, path, tokenizer, lengths):
    """Reads the model config from a file.

    Args:
        objective: a key of `KINDS`.
        path: the file.
        tokenizer: the model's, or None.
        lengths: the sequence lengths of the run, in tokens.

    Raises:
        UserError: the config is for another kind of model, or does not fit the
            vocabulary or the sequences.
    """
    kind = KINDS[objective]
    try:
        config = kind.config_class.from_json_file(path)
    except UserError:
        _refuse_other_kind(objective, path)
        raise
    if tokenizer is not None and config.vocab_size < tokenizer.vocab_size:
        name = "n_token" if objective == "permutation_lm" else "vocab_size"
        raise UserError(
            f"{path} has {name} {config.vocab_size}, but the tokenizer has "
            f"{tokenizer.vocab_size} pieces; pass the configuration that belongs to "
            f"this tokenizer or, for a new model, set {name} to "
            f"{tokenizer.vocab_size}."
        )
    kind.check_config(config, path, lengths)
    return config


def _refuse_other_kind(objective, path):
    """Refuses a config that is for another objective, and names that objective."""
    fitting = []
    for other, kind in KINDS.items():
        with contextlib.suppress(UserError):
            kind.config_class.from_json_file(path)
            fitting.append(other)
    if fitting:
        raise UserError(
            f"{path} is a configuration for --objective={fitting[0]}, but this run has "
            f"--objective={objective}; pass the other objective or another "
            "configuration."
        )
