"""The base of model families: what checkpoints depend on in an architecture."""

import abc
import itertools
import re
import types
from collections.abc import Mapping

import numpy as np

from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.families.head_variables import OUTPUT_EMBEDDINGS
from albert_tf.io.foreign import check_settings


class NameTable:
    """A translation of an encoder's official variable names to Hugging Face's and back.

    Args:
        pairs: pairs (official name, Hugging Face's name), as from `layer_names`; "{}"
            stands for a number. The first pair with a name counts.
    """

    def __init__(self, pairs):
        self._pairs = pairs

    def theirs(self, official):
        """Returns Hugging Face's name of a variable; None if it has none there."""
        return _translated(official, self._pairs)

    def official(self, theirs):
        """Returns the official name of a tensor; None if it is unknown."""
        return _translated(theirs, [pair[::-1] for pair in self._pairs])


def layer_names(official, theirs):
    """Pairs the variable names of a dense layer or, by its name, a `LayerNorm`."""
    names = [("kernel", "weight"), ("bias", "bias")]
    if "LayerNorm" in official:
        # Hugging Face's first checkpoints use the official names, gamma and beta.
        names = [("gamma", "weight"), ("beta", "bias")]
        names += [("gamma", "gamma"), ("beta", "beta")]
    return [(f"{official}/{own}", f"{theirs}.{other}") for own, other in names]


def _translated(name, pairs):
    for source, target in pairs:
        pattern = re.escape(source).replace(r"\{\}", r"(\d+)")
        if match := re.fullmatch(pattern, name):
            return target.format(*match.groups())
    return None


class ModelFamily(abc.ABC):
    """Configuration files and variable names of an architecture's checkpoints.

    A model class names its family in `family`; readers, writers and converters ask
    the family for everything that differs between architectures.

    Attributes:
        config_class: the class of the models' `config`, such as `AlbertConfig`.
        config_file: the name of the config's file, beside official checkpoints and in
            model directories.
        huggingface_type: the `model_type` in Hugging Face's `config.json`.
        title: the name of the architecture in messages.
        encoder: the attribute that holds the encoder in a model with a head, and the
            prefix of the encoder's variables in Hugging Face's checkpoints.
        names: the encoder's `NameTable`.
        tied: Hugging Face's names of tied tensors, by the names of the copies that some
            versions of transformers write.
        known_heads: official name prefixes of heads, which a model without them skips.
        alone: config fields that a model of independent texts needs to differ from
            pretraining, with their values.
        program_files: names of the Python files that Hugging Face's directories of
            these models bring.
    """

    config_class: type
    config_file: str
    huggingface_type: str
    title: str
    encoder: str
    names: NameTable
    tied: Mapping
    known_heads: tuple
    alone: Mapping = types.MappingProxyType({})
    program_files: tuple = ()

    @property
    def read_as(self):
        """The family whose models load these checkpoints."""
        return self

    def encoder_parameters(self, config):
        """Counts an encoder's parameters without building it."""
        if config.costs is None:
            return 0
        return sum(config.costs.encoder_parameters(config).values())

    def config_from_official(self, path):
        """Reads the config in the file beside an official checkpoint.

        Raises:
            UserError: the file is damaged.
        """
        return self.config_class.from_json_file(path)

    def from_official(self, tensors):
        """Renames an official checkpoint's tensors to this project's names.

        Args:
            tensors: arrays by the names in the checkpoint.
        """
        return tensors

    @abc.abstractmethod
    def to_official(self, config, tensors):
        """Converts a model to one of the same function that the official code has.

        Args:
            config: a `config_class`.
            tensors: arrays by official name.

        Returns:
            (config, tensors) that the official code can express.
        """

    def programs(self):
        """Returns `program_files` by name, as bytes."""
        return {}

    def architecture(self, name):
        """Returns this family's Hugging Face class for the class `name` here."""
        return name

    def names_from_huggingface(self, tensors, architectures):
        """Renames a checkpoint's tensors to names in `names` or of heads here.

        Args:
            tensors: arrays by Hugging Face name.
            architectures: Hugging Face's names of the model.
        """
        return tensors

    def special_tokens(self, tokenizer):
        """Returns the entries of a `config.json` about a tokenizer's special tokens."""
        return {}

    def entries_from_huggingface(self, entries):
        """Converts the entries of a `config.json` to the form that models here read."""
        return entries

    @abc.abstractmethod
    def config_from_huggingface(self, entries, path):
        """Makes the config that the entries of a `config.json` describe.

        Args:
            entries: the dict that was read.
            path: the file's name in messages.

        Raises:
            UserError: a value with which Hugging Face's model computes another
                function.
        """

    def huggingface_name(self, official, head_names):
        """Returns Hugging Face's name of a variable.

        Args:
            official: its official name.
            head_names: Hugging Face's names of the head's variables by official name.

        Raises:
            UserError: Hugging Face's model does not have the variable.
        """
        found = head_names.get(official) or self.names.theirs(official)
        if found is None:
            raise UserError(
                f"Hugging Face has no {self.title} model with {official}; write the "
                "model as a model directory."
            )
        return found

    def tensors_from_huggingface(self, tensors, head_names, path, is_tied=True):
        """Returns float32 arrays by official name; an unnamed tensor keeps its own.

        Args:
            tensors: arrays by Hugging Face name.
            head_names: Hugging Face's names of the heads' variables by official name.
            path: the file's name in messages.
            is_tied: whether the tensors in `tied` are copies, or weights of their own;
                XLNet's are always copies.

        Raises:
            UserError: a tensor contradicts another one.
        """
        heads = {name: official for official, name in head_names.items()}
        if is_tied:
            theirs = untied(tensors, self.tied, path)
        else:
            weight, bias = self.tied
            theirs = dict(tensors)
            if bias in theirs:
                theirs[self.tied[bias]] = theirs.pop(bias)
            heads[weight] = OUTPUT_EMBEDDINGS.official
        theirs.pop(f"{self.encoder}.embeddings.position_ids", None)
        found = {}
        for name, tensor in theirs.items():
            official = heads.get(name) or self.names.official(name) or name
            found[official] = as_float32(turned(official, tensor), name, path)
        return found

    @abc.abstractmethod
    def to_huggingface(self, config, tensors, head_names, architecture=None):
        """Converts a model to one of the same function that Hugging Face has.

        Args:
            config: a `config_class`.
            tensors: arrays by official name.
            head_names: Hugging Face's names of the head's variables by official name.
            architecture: Hugging Face's name of the model class.

        Returns:
            (entries of `config.json`, arrays by Hugging Face name)
        """


# Entries that transformers writes into every `config.json` about its own workings,
# training, and text generation, which no encoder does.
_HARMLESS = """
    _attn_implementation _attn_implementation_autoset _commit_hash _name_or_path
    _num_labels attn_implementation chunk_size_feed_forward dtype emb_size
    finetuning_task gradient_checkpointing initializer_range language max_seq_length
    mlm_probability model_max_length name name_or_path num_labels output_attentions
    output_hidden_states output_past padding return_dict save_step tf_legacy_loss
    tokenizer_class torch_dtype torchscript total_flos transformers_version use_bfloat16
    use_cache use_return_dict xla_device
    bad_words_ids begin_suppress_tokens decoder_start_token_id diversity_penalty
    do_sample early_stopping encoder_no_repeat_ngram_size eos_token_ids
    exponential_decay_length_penalty forced_bos_token_id forced_eos_token_id
    length_penalty max_length max_new_tokens min_length min_new_tokens
    no_repeat_ngram_size num_beam_groups num_beams num_return_sequences output_scores
    penalty_alpha prefix remove_invalid_values repetition_penalty
    return_dict_in_generate suppress_tokens task_specific_params temperature
    tie_encoder_decoder top_k top_p typical_p
    directionality pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers
    pooler_size_per_head pooler_type
"""
# Read elsewhere.
_OBEYED = """
    architectures bos_token_id eos_token_id id2label label2id model_type pad_token_id
    problem_type sep_token_id sentence_transformers sbert_ce_default_activation_function
    tie_word_embeddings
"""
_FIXED = {
    "is_encoder_decoder": (False,),
    "is_decoder": (False,),
    "add_cross_attention": (False,),
    "position_embedding_type": ("absolute",),
    "ln_type": ("postln",),
}


def check_config(entries, path, obeyed, fixed=types.MappingProxyType({})):
    """Refuses unsupported entries of a `config.json` that change answers.

    Args:
        entries: the dict that was read.
        path: the file's name in messages.
        obeyed: names of entries that the family reads, or that change no answer.
        fixed: see `check_settings`.
    """
    heads = [model.huggingface_arguments.values() for model in registry.models()]
    known = {*_HARMLESS.split(), *_OBEYED.split(), *obeyed, *itertools.chain(*heads)}
    check_settings(entries, path, known, {**_FIXED, **fixed})


# Hugging Face's names, and this project's: Hugging Face's "gelu" is the exact function,
# and "gelu_new" the official code's.
OUR_ACTIVATIONS = {
    "gelu": "gelu_erf",
    "gelu_new": "gelu",
    "linear": "linear",
    "relu": "relu",
    "silu": "silu",
    "tanh": "tanh",
    "gelu_python": "gelu_erf",
    "gelu_accurate": "gelu",
    "gelu_fast": "gelu",
    "gelu_pytorch_tanh": "gelu",
    "swish": "silu",
}
# The inverse; the first of several names counts.
THEIR_ACTIVATIONS = {ours: theirs for theirs, ours in [*OUR_ACTIVATIONS.items()][::-1]}


def our_activation(entries, key, default, path, names=OUR_ACTIVATIONS):
    """Translates the activation that `key` of a `config.json` names.

    Args:
        entries: the dict that was read.
        key: the entry's name.
        default: Hugging Face's name of the activation if the entry is absent.
        path: the file's name in messages.
        names: this project's names by Hugging Face's.
    """
    activation = entries.get(key, default)
    if activation not in list(names):  # a value of JSON may be unhashable
        raise UserError(
            f"{path} sets {key} to {activation!r}, expected one of {', '.join(names)}."
        )
    return names[activation]


def untied(tensors, tied, path):
    """Removes copies of tied tensors; refuses copies that differ."""
    kept = dict(tensors)
    for copy, original in tied.items():
        tensor = kept.pop(copy, None)
        if tensor is not None and not np.array_equal(tensor, kept.get(original)):
            raise UserError(f"{path} holds a {copy} that differs from {original}.")
    return kept


def turned(official, tensor):
    """Transposes a matrix `[in, out]` named "/kernel"; returns others unchanged."""
    is_kernel = official.endswith("/kernel") and tensor.ndim == 2
    return tensor.T if is_kernel else tensor


def as_float32(tensor, name, path):
    """Converts a tensor to a contiguous float32 array; refuses integers and others."""
    if tensor.dtype.kind != "f" and tensor.dtype.name != "bfloat16":
        raise UserError(
            f"{path} holds {name} as {tensor.dtype.name}; expected float32, float16 or "
            "bfloat16."
        )
    return np.ascontiguousarray(tensor, dtype=np.float32)
