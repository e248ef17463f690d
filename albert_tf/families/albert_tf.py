"""Hugging Face directories of blocks that no class of transformers computes.

They bring Python files of ours, `remote_code/`, which transformers runs with
`trust_remote_code=True`. The names are ALBERT's, with those of the further variables.
"""

import dataclasses
import pathlib
import re

from albert_tf.config import NORMS
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.families.albert import ALBERT
from albert_tf.families.albert import UNPOOLED
from albert_tf.families.albert import AlbertFamily
from albert_tf.families.base import check_config

_FOLDER = pathlib.Path(__file__).parent / "remote_code"
_CONFIGURATION, _MODELING = "configuration_albert_tf", "modeling_albert_tf"
# By the Auto class of transformers.
_CLASSES = {
    "AutoModel": "AlbertTfModel",
    **{
        f"AutoModelFor{head}": f"AlbertTfFor{head}"
        for head in (
            "MaskedLM",
            "MultipleChoice",
            "PreTraining",
            "QuestionAnswering",
            "SequenceClassification",
            "TokenClassification",
        )
    },
}
_AUTO_MAP = {
    "AutoConfig": f"{_CONFIGURATION}.AlbertTfConfig",
    **{auto: f"{_MODELING}.{name}" for auto, name in _CLASSES.items()},
}
OF_OTHERS = {
    "is_xlm",
    "position_buckets",
    "unbiased",
    "norms_first_input",
    "rotary_base",
    "local_rotary_base",
    "pooled_tokens",
    "pooler_act",
    "pooler_norm",
}
"""Fields of which this form holds the defaults; other libraries' models need others."""
_FIELDS = {field.name for field in dataclasses.fields(AlbertConfig)} - OF_OTHERS
_READ = ("auto_map", "classifier_dropout_prob")


class AlbertTfFamily(AlbertFamily):
    """Configurations of all blocks; it loads as `AlbertFamily`'s models."""

    huggingface_type = "albert_tf"
    title = "ALBERT of albert_tf"
    read_as = ALBERT
    program_files = (f"{_CONFIGURATION}.py", f"{_MODELING}.py")

    def architecture(self, name):
        return re.sub("^Albert", "AlbertTf", name)

    def programs(self):
        return {name: (_FOLDER / name).read_bytes() for name in self.program_files}

    def entries_from_huggingface(self, entries):
        """Gives the models ALBERT's names."""
        names = entries.get("architectures")
        if isinstance(names, list):
            names = [re.sub("^AlbertTf", "Albert", str(name)) for name in names]
        return {**entries, "architectures": names}

    def config_from_huggingface(self, entries, path):
        fixed = {"position_embedding_type": ("learned", "rotary"), "norm": NORMS}
        check_config(entries, path, _FIELDS | {*_READ}, fixed)
        ours = {name: entries[name] for name in _FIELDS if name in entries}
        return AlbertConfig.from_dict(ours, source=path)

    def to_huggingface(self, config, tensors, head_names, architecture=None):
        """Renames the tensors, and drops a pooler that no output depends on.

        Raises:
            UserError: blocks that mix what is ours with what is another library's.
        """
        if others := config.unofficial_blocks(_FIELDS - {"type_vocab_size"}):
            raise UserError(
                "Hugging Face's format has no model whose blocks have "
                f"{', '.join(others)} beside the others of this one; write it as a "
                "model directory."
            )
        theirs = self._renamed(tensors, head_names, architecture not in UNPOOLED)
        theirs.pop("predictions.decoder.bias", None)  # the projection has none here
        entries = {
            **{n: v for n, v in config.to_dict().items() if n in _FIELDS},
            "pad_token_id": config.padding_idx or 0,
            "auto_map": _AUTO_MAP,
        }
        return entries, theirs


ALBERT_TF = AlbertTfFamily()
