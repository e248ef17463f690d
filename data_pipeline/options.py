"""Turns text into TFRecord files for pretraining.

  albert-tf data --input_file='corpus/*.txt' \\
      --output_file=data/train.tfrecord --num_shards=16 \\
      --spm_model_file=vocab/my_corpus.model

The output depends only on the input, the flags and the seed, not on --workers.
Re-running the same command resumes an interrupted run at its first unfinished shard.
`dataset_info.json` beside the shards describes them. docs/data.md says more.
"""

import dataclasses
import functools
import os

from absl import logging

from albert_tf.cli.command_line import check_range
from albert_tf.cli.command_line import group_of
from albert_tf.cli.command_line import option
from albert_tf.errors import UserError
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.parallel import available_cores
from albert_tf.tokenization.tokenizer import Tokenizer
from data_pipeline.sequences.instances import PairingFlags
from data_pipeline.sequences.masking_options import MaskingFlags
from data_pipeline.sequences.masking_options import MaskingOptions
from data_pipeline.sequences.masking_options import default_max_predictions
from data_pipeline.sequences.masking_options import read_token_counts
from data_pipeline.text.corpus import CorpusFlags
from data_pipeline.xlnet.streams import default_predictions

OBJECTIVES = ["masked_lm", "permutation_lm"]
OFFICIAL_DUPE_FACTOR = 40
_FOR_MASKED_LM = (
    "masking",
    "pack",
    "max_pairs_per_row",
    "token_counts_file",
    *(field.name for field in dataclasses.fields(PairingFlags)),
    *(field.name for field in dataclasses.fields(MaskingFlags)),
)
_FOR_ANY = ("max_seq_length", "max_predictions_per_seq")
# (flag, value, flags that have no effect unless it has that value)
_NEEDS = (
    ("objective", "masked_lm", {*_FOR_MASKED_LM} - {*_FOR_ANY}),
    ("objective", "permutation_lm", {"bi_data"}),
    ("masking", "static", {"pack"}),
    ("sentence_objective", "sop", {"official_sop"}),
    ("sentence_objective", "none", {"across_documents", "break_sentences"}),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class VocabularyFlags:
    """The vocabulary."""

    spm_model_file: str | None = option(
        "SentencePiece model (.model); it wins over --vocab_file.", None
    )
    vocab_file: str | None = option(
        "WordPiece vocabulary (vocab.txt), or RoBERTa's byte-level BPE (vocab.json, "
        "with merges.txt beside it), where there is no --spm_model_file.",
        None,
        replaces=("spm_model_file",),
    )
    do_lower_case: bool = option(
        "Lower the case of letters, for an uncased vocabulary.", True
    )

    @property
    def vocabulary(self) -> str | None:
        """The file of the tokenizer."""
        return self.spm_model_file or self.vocab_file

    @functools.cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the file.

        Raises:
            UserError: there is none, or it is no vocabulary.
        """
        if not self.vocabulary:
            raise UserError(
                "There is no vocabulary; pass --spm_model_file or --vocab_file."
            )
        return load_tokenizer(self.vocabulary, self.do_lower_case)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataOptions(CorpusFlags, VocabularyFlags, PairingFlags, MaskingFlags):
    """The flags of create_pretraining_data."""

    objective: str = option(
        "Objective. masked_lm: ALBERT's masked LM and "
        "--sentence_objective; permutation_lm: XLNet's permutation LM, on streams of "
        "text whose segments continue each other.",
        "masked_lm",
        OBJECTIVES,
    )
    held_out_fraction: float = option(
        "Share of the documents to hold out for evaluation; they go, once each, to "
        "files of the same names in a folder held_out beside the others.",
        0.0,
        minimum=0,
        maximum=1,
    )
    dupe_factor: int | None = option(
        "Number of times that each document is used; by default 40 times with static "
        "masking, "
        "once otherwise.",
        None,
        minimum=1,
    )
    masking: str = option(
        "When tokens are masked. static: here, which gives the official records; "
        "dynamic: in training, anew in each epoch, from compact records.",
        "static",
        ["static", "dynamic"],
    )
    word_boundaries: str = option(
        "Borders of words. words: the vocabulary's pieces tell where words start, "
        "in every script; pieces: the same by the official rule, which knows words of "
        "English letters only; spaces: the spaces in the input, for Chinese text that "
        "was cut into words.",
        "words",
        ["words", "pieces", "spaces"],
    )
    token_counts_file: str | None = option(
        "Counts of the corpus, written by data_pipeline.count_tokens.", None
    )
    pack: bool = option(
        "Put several short pairs into one row of --max_seq_length tokens; the "
        "official code cannot read these records.",
        False,
    )
    max_pairs_per_row: int = option(
        "Largest number of pairs that --pack puts into a row.", 16, minimum=1
    )
    bi_data: bool = option(
        "Write the streams of --objective=permutation_lm a second time, from the last "
        "token to the first.",
        False,
    )
    random_seed: int = option("Seed of everything random.", 12345)

    output_file: str = option(
        "TFRecord files to write: one name per shard, separated by commas, or one "
        "name x.tfrecord, of which --num_shards=N makes x-00000-of-0000N.tfrecord "
        "and so on."
    )
    num_shards: int = option(
        "Number of files to write for a single --output_file.",
        1,
        minimum=1,
        maximum=99_999,  # of five digits
    )
    max_unknown: float = option(
        "Largest accepted share of unknown tokens, and of characters that are not "
        "UTF-8; 1 accepts any text.",
        0.3,
        minimum=0,
        maximum=1,
    )
    workers: int = option(
        "Number of processes, each of which writes one shard at a time; the output "
        "is the same for any number.",
        available_cores(),
        minimum=1,
    )

    @functools.cached_property
    def token_counts(self) -> tuple[int, ...]:
        """Occurrences of each id, for --mask_smoothing; () without it."""
        if not self.mask_smoothing:
            return ()
        return read_token_counts(self.token_counts_file, self.tokenizer)

    @property
    def pair_objective(self) -> str:
        """The sentence objective; streams have none."""
        return "none" if self.objective == "permutation_lm" else super().pair_objective

    @property
    def passes(self) -> int:
        """Number of times that each training document is used."""
        if self.dupe_factor is not None:
            return self.dupe_factor
        is_static = self.objective == "masked_lm" and self.masking == "static"
        return OFFICIAL_DUPE_FACTOR if is_static else 1

    @property
    def predictions(self) -> int:
        """Largest number of predictions in a sequence."""
        if self.max_predictions_per_seq is not None:
            return self.max_predictions_per_seq
        if self.objective == "permutation_lm":
            return default_predictions(self.max_seq_length)
        return default_max_predictions(self.max_seq_length, self.masked_lm_prob)

    def masking_options(self) -> MaskingOptions:
        """Returns the `MaskingOptions` for the tokenizer."""
        law = {
            **vars(group_of(MaskingFlags, self)),
            "max_predictions_per_seq": self.predictions,
        }
        return MaskingOptions.of(self.tokenizer, **law, token_counts=self.token_counts)

    def paths(self) -> dict[str, list[str]]:
        """Returns a dict of split ("train", perhaps "held_out") to its files' paths.

        Raises:
            UserError: the names are not those of different files in one folder.
        """
        names = [name.strip() for name in self.output_file.split(",") if name.strip()]
        count = self.num_shards
        if len(names) == 1 and count > 1:
            stem, extension = os.path.splitext(names[0])
            names = [f"{stem}-{k:05d}-of-{count:05d}{extension}" for k in range(count)]
        folders = {os.path.dirname(name) for name in names}
        if (
            len(folders) != 1
            or len({*names}) < len(names)
            or count not in (1, len(names))
        ):
            raise UserError(
                f"--output_file={self.output_file} with --num_shards={count}: expected "
                "one name, or names of different files in one folder, a name a shard."
            )
        paths = {"train": names}
        if self.held_out_fraction:
            paths["held_out"] = [
                os.path.join(os.path.dirname(name), "held_out", os.path.basename(name))
                for name in names
            ]
        return paths

    def check(self) -> None:
        """Refuses values that contradict each other, and warns of unwise ones.

        Raises:
            UserError: a value is out of range, or would have no effect.
        """
        chosen = {**vars(self), "sentence_objective": self.pair_objective}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            check_range(field, value)
            for other, wanted, names in _NEEDS:
                is_set = field.name in names and value != field.default
                if is_set and chosen[other] != wanted:
                    raise UserError(
                        f"--{field.name}={value} needs --{other}={wanted}; leave one "
                        "of the two out."
                    )
        if self.objective == "permutation_lm" and self.max_seq_length % 2:
            raise UserError(
                f"--max_seq_length={self.max_seq_length} is odd, but "
                "--objective=permutation_lm cuts a sequence into two halves; pass "
                f"{self.max_seq_length + 1}."
            )
        if bool(self.mask_smoothing) != bool(self.token_counts_file):
            raise UserError(
                "--mask_smoothing and --token_counts_file need each other; pass both, "
                "or none. albert-tf count-tokens writes the counts."
            )
        wanted = default_max_predictions(self.max_seq_length, self.masked_lm_prob)
        if self.objective == "masked_lm" and self.predictions < wanted:
            logging.warning(
                "--max_predictions_per_seq=%d predicts fewer than %g%% of the tokens "
                "of a full sequence; pass %d to predict all of them",
                self.predictions,
                100 * self.masked_lm_prob,
                wanted,
            )
