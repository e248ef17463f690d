"""Turns text into TFRecord files for pretraining.

  python -m data_pipeline.create_pretraining_data --input_file='corpus/*.txt' \\
      --output_file=data/train.tfrecord --num_shards=16 \\
      --spm_model_file=vocab/my_corpus.model

The output depends only on the input, the flags and the seed, not on --workers.
Re-running the same command resumes an interrupted run at its first unfinished shard.
`dataset_info.json` beside the shards describes them. docs/data.md says more.
"""

import dataclasses
import functools

from albert_tf.cli.command_line import option
from albert_tf.errors import UserError
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.parallel import available_cores
from data_pipeline.sequences import instances
from data_pipeline.sequences.masking_options import MaskingOptions
from data_pipeline.sequences.masking_options import default_max_predictions
from data_pipeline.sequences.streams import default_predictions
from data_pipeline.text import formats
from data_pipeline.text import token_counts

OBJECTIVES = ["masked_lm", "permutation_lm"]
OFFICIAL_DUPE_FACTOR = 40


@dataclasses.dataclass(frozen=True)
class Options:
    # Headings of --help.
    GROUPS = {
        "Essential flags": (
            "input_file output_file objective spm_model_file vocab_file "
            "do_lower_case max_seq_length num_shards held_out_fraction workers"
        ),
        "Text": "input_format text_field max_unknown",
        "Sequences": (
            "sentence_objective random_next_sentence official_sop short_seq_prob "
            "dupe_factor pack max_pairs_per_row bi_data"
        ),
        "Predictions": (
            "masking masked_lm_prob max_predictions_per_seq ngram "
            "favor_shorter_ngram do_whole_word_mask word_boundaries do_permutation "
            "mask_smoothing token_counts_file"
        ),
    }

    input_file: str = option(
        "Text files to read: names, globs and folders, separated by commas."
    )
    output_file: str = option(
        "TFRecord files to write: one name per shard, separated by commas, or one "
        "name x.tfrecord, of which --num_shards=N makes x-00000-of-0000N.tfrecord "
        "and so on."
    )
    objective: str = option(
        "What a model learns from the data. masked_lm: ALBERT's masked LM and "
        "--sentence_objective; permutation_lm: XLNet's permutation LM, on streams of "
        "text whose segments continue each other.",
        "masked_lm",
        OBJECTIVES,
    )
    vocab_file: str = option(
        "WordPiece vocabulary (vocab.txt), where there is no --spm_model_file.", None
    )
    spm_model_file: str = option(
        "SentencePiece model (.model); it wins over --vocab_file.", None
    )
    input_format: str = option(formats.HELP, "auto", formats.NAMES)
    text_field: str = option(formats.TEXT_FIELD_HELP, "text")
    do_lower_case: bool = option(
        "Lower the case of letters, for an uncased vocabulary.", True
    )
    do_whole_word_mask: bool = option(
        "Mask whole words instead of single pieces.", True
    )
    word_boundaries: str = option(
        "What separates words. words: the vocabulary's pieces tell where words start, "
        "in every script; pieces: the same by the official rule, which knows words of "
        "English letters only; spaces: the spaces in the input, for Chinese text that "
        "was cut into words.",
        "words",
        ["words", "pieces", "spaces"],
    )
    do_permutation: bool = option(
        "Also shuffle as many other tokens among their places, and predict these, too.",
        False,
    )
    favor_shorter_ngram: bool = option(
        "Mask spans of n words with a probability proportional to 1/n; false favors "
        "the longest spans.",
        True,
    )
    random_next_sentence: bool = option(
        "Official spelling of --sentence_objective=nsp.", False
    )
    sentence_objective: str = option(
        "What the model learns about two segments, A and B. sop: whether they are "
        "in order; nsp: whether B follows A or comes from elsewhere; none: nothing, "
        "a sequence is one segment of full sentences.",
        "sop",
        instances.OBJECTIVES,
    )
    official_sop: bool = option(
        "Pair a chunk of one sentence with a random document, as the official code "
        "does, instead of cutting the chunk in two.",
        False,
    )
    masking: str = option(
        "When tokens are masked. static: here, which gives the official records; "
        "dynamic: in training, anew in each epoch, from compact records.",
        "static",
        ["static", "dynamic"],
    )
    pack: bool = option(
        "Put several short pairs into one row of --max_seq_length tokens; the "
        "official code cannot read these records.",
        False,
    )
    max_pairs_per_row: int = option(
        "Largest number of pairs that --pack puts into a row.", 16
    )
    bi_data: bool = option(
        "Write the streams of --objective=permutation_lm a second time, from the last "
        "token to the first.",
        False,
    )
    max_seq_length: int = option(
        "Length of a sequence in tokens, special tokens included.", 512
    )
    ngram: int = option("Longest masked span, in words.", 3)
    max_predictions_per_seq: int | None = option(
        "Largest number of predictions in a sequence; by default what a full "
        "sequence needs, which is 77 at 512 tokens, or 85 with "
        "--objective=permutation_lm.",
        None,
    )
    random_seed: int = option("Seed of everything random.", 12345)
    dupe_factor: int | None = option(
        "How often each document is used; by default 40 times with static masking, "
        "once otherwise.",
        None,
    )
    masked_lm_prob: float = option("Share of the tokens to predict.", 0.15)
    short_seq_prob: float = option(
        "Share of the documents that are cut into shorter sequences.", 0.1
    )
    num_shards: int = option("Number of files to write for a single --output_file.", 1)
    held_out_fraction: float = option(
        "Share of the documents to hold out for evaluation; they go, once each, to "
        "files of the same names in a folder held_out beside the others.",
        0.0,
    )
    mask_smoothing: float = option(
        "How much more often rare tokens are predicted than frequent ones: a word is "
        "chosen with the mean of (count of a token) to the power of minus this; 0 "
        "chooses all words alike, XLM and DistilBERT have 0.7. Needs "
        "--token_counts_file.",
        0.0,
    )
    token_counts_file: str | None = option(
        "What data_pipeline.count_tokens wrote about the corpus.", None
    )
    max_unknown: float = option(
        "Largest accepted share of unknown tokens, and of characters that are not "
        "UTF-8; 1 accepts any text.",
        0.3,
    )
    workers: int = option(
        "Number of processes, each of which writes one shard at a time; the output "
        "is the same for any number.",
        available_cores(),
    )

    @property
    def vocabulary(self):
        """The file of the tokenizer."""
        return self.spm_model_file or self.vocab_file

    @functools.cached_property
    def tokenizer(self):
        """The tokenizer of --spm_model_file or --vocab_file."""
        return required_tokenizer(
            self.spm_model_file, self.vocab_file, self.do_lower_case
        )

    @functools.cached_property
    def token_counts(self):
        """Of each id, where --mask_smoothing needs them; otherwise nothing."""
        if not self.mask_smoothing:
            return ()
        return token_counts.read(self.token_counts_file, self.tokenizer)

    @property
    def pair_objective(self):
        """The sentence objective, whichever flag chose it."""
        if self.objective == "permutation_lm":
            return "none"
        return "nsp" if self.random_next_sentence else self.sentence_objective

    @property
    def passes(self):
        """How often each training document is used."""
        if self.dupe_factor is not None:
            return self.dupe_factor
        is_static = self.objective == "masked_lm" and self.masking == "static"
        return OFFICIAL_DUPE_FACTOR if is_static else 1

    @property
    def predictions(self):
        """Predictions of a sequence at most."""
        if self.max_predictions_per_seq is not None:
            return self.max_predictions_per_seq
        if self.objective == "permutation_lm":
            return default_predictions(self.max_seq_length)
        return default_max_predictions(self.max_seq_length, self.masked_lm_prob)

    def pairing_options(self):
        return instances.PairingOptions(
            max_seq_length=self.max_seq_length,
            short_seq_prob=self.short_seq_prob,
            sentence_objective=self.pair_objective,
            official_sop=self.official_sop,
            sep_id=self.tokenizer.sep_id,
        )

    def masking_options(self):
        tokenizer = self.tokenizer
        return MaskingOptions(
            vocab_size=tokenizer.vocab_size,
            mask_id=tokenizer.mask_id,
            cls_id=tokenizer.cls_id,
            sep_id=tokenizer.sep_id,
            pad_id=tokenizer.pad_id,
            max_predictions_per_seq=self.predictions,
            masked_lm_prob=self.masked_lm_prob,
            ngram=self.ngram,
            favor_shorter_ngram=self.favor_shorter_ngram,
            do_whole_word_mask=self.do_whole_word_mask,
            do_permutation=self.do_permutation,
            mask_smoothing=self.mask_smoothing,
            token_counts=self.token_counts,
        )


def required_tokenizer(spm_model_file, vocab_file, do_lower_case):
    """The tokenizer of one of two files, the first of which wins.

    Raises:
        UserError: there is none, or it is of the other kind.
    """
    if not (spm_model_file or vocab_file):
        raise UserError(
            "There is no vocabulary; pass --spm_model_file or --vocab_file."
        )
    tokenizer = load_tokenizer(spm_model_file or vocab_file, do_lower_case)
    if spm_model_file and tokenizer.kind != "sentencepiece":
        raise UserError(
            f"--spm_model_file={spm_model_file} is a WordPiece vocabulary, "
            "expected a SentencePiece model; pass it as --vocab_file."
        )
    return tokenizer
