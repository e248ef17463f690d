"""The kinds of pretraining: for each `--objective` its model, its data, its loss."""

import contextlib
import math

from absl import logging

from albert_tf import bundle
from albert_tf.config import AlbertConfig
from albert_tf.costs import albert
from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.models.replaced_tokens import AlbertForReplacedTokens
from albert_tf.objectives.masked_lm import PERMUTATION_LM
from albert_tf.objectives.masked_lm import PermutationObjective
from albert_tf.objectives.masked_lm import PretrainingObjective
from albert_tf.objectives.replaced_tokens import ReplacedTokensObjective
from albert_tf.pretraining.initial_model import first_model
from albert_tf.pretraining.initial_model import initial_model
from data_pipeline.input_pipeline import pretraining_dataset
from data_pipeline.xlnet.dataset import stream_dataset
from data_pipeline.xlnet.streams import reused_length

# Beginnings of official names that another checkpoint need not hold.
_OF_REPLACED_TOKENS = ("discriminator_predictions", "generator", "bert/pooler")
# Neither a weight nor its meaning depends on them.
_OF_A_RUN = (
    "bi_data",
    "dropatt",
    "dropout",
    "initializer_range",
    "mem_len",
    "reuse_len",
)


class MaskedLM:
    """ALBERT's masked LM, with the objective that the data has for its sentences."""

    config_class = AlbertConfig
    model_class = AlbertForPreTraining
    # Whether the labels of the data's sentences are learned, where it has any.
    learns_sentences = True
    # The held-out metric that picks the best model; None where the newest is best.
    best_metric = "masked_lm_accuracy"
    initial_model = staticmethod(initial_model)

    def trained_model(self, path, flags, config):
        """Loads the model of a directory, which is evaluated where nothing is trained.

        Raises:
            UserError: it cannot be read, or has another configuration than `config`.
        """
        model = bundle.open(path).model(self.model_class, **flags.execution)
        if model.config != config:
            raise UserError(
                f"{path} holds a model whose configuration differs from "
                f"{flags.albert_config_file}; pass the configuration of that model."
            )
        return model

    def training_flops(self, model, length, predictions, rematerialize=False):
        """Counts a step's operations, a token, for sequences of so many tokens."""
        forward = model.config.costs.forward_flops(model.config, length, predictions)
        return albert.training_flops(forward, rematerialize)

    def training_memory(self, model, *shape):
        """Counts bytes of a step by part; `shape` as of `albert.training_memory`."""
        return model.config.costs.training_memory(model.config, *shape)

    def parameters(self, model):
        """Counts the parameters, by part."""
        return model.config.costs.pretraining_parameters(model.config)

    def objective(self, terms, flags):
        """Makes the loss of the terms."""
        return PretrainingObjective(terms)

    def dataset(self, *arguments, max_gram, **reading):
        """Makes the dataset as `pretraining_dataset`."""
        return pretraining_dataset(*arguments, **reading)

    def terms(self, data):
        """Returns the `HeadTerm`s of a `PretrainingData`."""
        return data.sentence_terms()

    def check_config(self, config, path, lengths):
        """Refuses a configuration for sequences that it cannot hold."""
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
    # A better generator makes every score of the discriminator worse, and most tokens
    # are not replaced: who finds none of them is right nearly always.
    best_metric = None

    def terms(self, data):
        """Returns the `LossTerm`s; the data's labels of sentences are not learned."""
        return ReplacedTokensObjective().terms

    def objective(self, terms, flags):
        """Makes the loss, with the weights of the flags."""
        return ReplacedTokensObjective(
            flags.gen_weight, flags.disc_weight, flags.temperature
        )

    def trained_model(self, path, flags, config):
        """Loads as `MaskedLM`, with the generator.

        Raises:
            UserError: it keeps none.
        """
        model = super().trained_model(path, flags, config)
        if model.generator is None:
            raise UserError(
                f"{path} keeps no generator, without which no token is replaced; train "
                "with --keep_generator to evaluate a finished run."
            )
        return model

    def initial_model(self, flags, config, terms):
        """Builds as `MaskedLM`; a checkpoint may lack heads and generator.

        Raises:
            UserError: a checkpoint that does not fit.
        """
        arguments = {
            "generator": flags.config_changes(config),
            "keep_generator": flags.keep_generator,
            **flags.execution,
        }
        return first_model(
            self.model_class, flags, config, _OF_REPLACED_TOKENS, arguments
        )

    def training_flops(self, model, length, predictions, rematerialize=False):
        """Counts as `MaskedLM`, for both networks."""
        return super().training_flops(model, length, 0, rematerialize) + (
            super().training_flops(model.generator, length, predictions, rematerialize)
        )

    def training_memory(self, model, *shape):
        """Counts as `MaskedLM`, for both networks."""
        training_memory = super().training_memory
        both = [training_memory(own, *shape) for own in (model, model.generator)]
        return {part: sum(each[part] for each in both) for part in both[0]}

    def parameters(self, model):
        """Counts as `MaskedLM`, the trained parameters."""
        return {"all": sum(math.prod(v.shape) for v in model.trainable_variables)}


class PermutationLM(MaskedLM):
    """XLNet's permutation language model, on streams of text."""

    model_class = next(m for m in registry.models() if m.by_permutation)
    config_class = model_class.family.config_class
    learns_sentences = False
    best_metric = "permutation_lm_accuracy"

    def objective(self, terms, flags):
        """Makes the loss; there is but one."""
        return PermutationObjective()

    def terms(self, data):
        """Returns the `HeadTerm`s of a `PretrainingData`."""
        return (PERMUTATION_LM,)

    def initial_model(self, flags, config, terms):
        """Builds as `MaskedLM`, from a checkpoint of the same layers.

        Raises:
            UserError: a checkpoint that does not fit, or of another configuration.
        """
        path = flags.init_checkpoint
        if not path:
            return self.model_class(config, **flags.execution)
        changes = {name: getattr(config, name) for name in _OF_A_RUN}
        arguments = {**changes, **flags.execution}
        model = bundle.open(path).model(self.model_class, **arguments)
        for name, value in config.to_dict().items():
            other = getattr(model.config, name)
            if value != other:
                raise UserError(
                    f"{path} has {name} {other}, but {flags.albert_config_file} "
                    f"{value}; they may differ only in {', '.join(_OF_A_RUN)}."
                )
        logging.info("Starting from %s", model.load_report)
        return model

    def check_config(self, config, path, lengths):
        """Refuses a memory of other tokens than those that come before a segment."""
        for length in lengths:
            reused = reused_length(length)
            if config.mem_len and config.reuse_len != reused:
                raise UserError(
                    f"{path} has reuse_len {config.reuse_len}, but segments of "
                    f"{length} tokens continue each other after {reused}; set "
                    f"reuse_len to {reused}, or mem_len to 0 for no memory."
                )

    def dataset(
        self,
        *arguments,
        max_gram,
        vocab_size=None,
        masked_lm_prob=None,
        masked_share=None,
        share_flag=None,
    ):
        """Makes the dataset as `stream_dataset`; nothing of it is masked."""
        return stream_dataset(*arguments, max_gram=max_gram, vocab_size=vocab_size)


KINDS = {
    "masked_lm": MaskedLM(),
    "replaced_tokens": ReplacedTokensDetection(),
    "permutation_lm": PermutationLM(),
}
"""By `--objective`."""


def load_config(objective, path, tokenizer, lengths):
    """Reads the configuration from a file.

    Args:
        objective: a key of `KINDS`.
        path: the file.
        tokenizer: the model's, or None.
        lengths: of the sequences to come, in tokens.

    Raises:
        UserError: it is none of that kind of model, or does not fit the vocabulary or
            the sequences.
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
    """Says which objective a configuration is for, if it is for another one."""
    for other, kind in KINDS.items():
        if other != objective:
            with contextlib.suppress(UserError):
                kind.config_class.from_json_file(path)
                break
    else:
        return
    raise UserError(
        f"{path} is a configuration for --objective={other}, but this run has "
        f"--objective={objective}; pass the other objective or another configuration."
    )
