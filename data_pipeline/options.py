"""What create_pretraining_data can be told; the names are the official ones."""

import dataclasses
import functools
import os

from absl import logging

from albert_tf.command_line import option
from albert_tf.errors import UserError
from albert_tf.tokenization import load_tokenizer
from data_pipeline import corpus
from data_pipeline import instances
from data_pipeline import masking

OFFICIAL_DUPE_FACTOR = 40


@dataclasses.dataclass(frozen=True)
class Options:
    input_file: str = option("Text files: a comma list of names, globs, directories.")
    output_file: str = option(
        "TFRecord files to write: a comma list of names, one a shard, or one name; "
        "with --num_shards=N the name x.tfrecord stands for x-00000-of-N.tfrecord …"
    )
    vocab_file: str = option("WordPiece vocabulary.", None)
    spm_model_file: str = option("SentencePiece model; wins over --vocab_file.", None)
    input_format: str = option(
        "lines: a sentence a line; paragraphs: a paragraph a line (both: a blank line "
        "between documents); jsonl: a document a line; auto: by file name.",
        "auto",
        corpus.FORMATS,
    )
    text_field: str = option("Field of the JSON lines that holds the text.", "text")
    do_lower_case: bool = option("Lower letters (uncased vocabulary).", True)
    do_whole_word_mask: bool = option("Mask whole words, not single pieces.", True)
    word_boundaries: str = option(
        "pieces: the vocabulary's pieces tell where words start (the official rule); "
        "spaces: words are what spaces separate in the input, for Chinese text that "
        "was cut into words.",
        "pieces",
        ["pieces", "spaces"],
    )
    do_permutation: bool = option(
        "Let as many tokens again change places and predict them too.", False
    )
    favor_shorter_ngram: bool = option("p(n) ~ 1/n; false reverses it.", True)
    random_next_sentence: bool = option(
        "The official spelling of --sentence_objective=nsp.", False
    )
    sentence_objective: str = option(
        "sop: are A and B in order? nsp: does B follow A or come from elsewhere? "
        "none: full sentences, one segment.",
        "sop",
        instances.OBJECTIVES,
    )
    official_sop: bool = option(
        "Pair a chunk of one sentence with a random document, as the official code "
        "does, instead of cutting it in two.",
        False,
    )
    masking: str = option(
        "static: masked here, official records; dynamic: compact records, masked "
        "anew in each epoch of training.",
        "static",
        ["static", "dynamic"],
    )
    pack: bool = option(
        "Put several short pairs into one row of --max_seq_length; their records are "
        "not the official ones.",
        False,
    )
    max_pairs_per_row: int = option("Pairs that --pack puts into a row at most.", 16)
    max_seq_length: int = option("Tokens a sequence.", 512)
    ngram: int = option("Longest masked span, in words.", 3)
    max_predictions_per_seq: int | None = option(
        "Predictions a sequence; default: what a full sequence needs (77 at 512).", None
    )
    random_seed: int = option("Seed of everything random.", 12345)
    dupe_factor: int | None = option(
        "Times each document is used; default: 40 with static masking, 1 with "
        "dynamic masking.",
        None,
    )
    masked_lm_prob: float = option("Share of the tokens to predict.", 0.15)
    short_seq_prob: float = option("Share of documents cut to shorter sequences.", 0.1)
    num_shards: int = option("Files to write for a single --output_file.", 1)
    held_out_fraction: float = option(
        "Share of the documents that goes to files of the same names in a folder "
        "held_out beside the others, each used once.",
        0.0,
    )
    max_unknown: float = option(
        "Share of unknown tokens, or of characters that are not UTF-8, above which "
        "the text is refused; 1 takes any.",
        0.3,
    )
    workers: int = option(
        "Processes, each writing one shard at a time; does not change the output.",
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1,
    )

    @property
    def vocabulary(self):
        """The file of the tokenizer."""
        return self.spm_model_file or self.vocab_file

    @functools.cached_property
    def tokenizer(self):
        """The tokenizer of --spm_model_file or --vocab_file."""
        if not self.vocabulary:
            raise UserError("Pass --spm_model_file or --vocab_file.")
        tokenizer = load_tokenizer(self.vocabulary, self.do_lower_case)
        if self.spm_model_file and tokenizer.kind != "sentencepiece":
            raise UserError(
                f"--spm_model_file={self.spm_model_file} is a WordPiece vocabulary, "
                "expected a SentencePiece model; pass it as --vocab_file."
            )
        return tokenizer

    @property
    def objective(self):
        """The sentence objective, whichever flag chose it."""
        return "nsp" if self.random_next_sentence else self.sentence_objective

    @property
    def passes(self):
        """How often each training document is used."""
        if self.dupe_factor is not None:
            return self.dupe_factor
        return OFFICIAL_DUPE_FACTOR if self.masking == "static" else 1

    def pairing_options(self):
        return instances.PairingOptions(
            max_seq_length=self.max_seq_length,
            short_seq_prob=self.short_seq_prob,
            sentence_objective=self.objective,
            official_sop=self.official_sop,
            sep_id=self.tokenizer.sep_id,
        )

    def masking_options(self):
        tokenizer = self.tokenizer
        predictions = self.max_predictions_per_seq
        if predictions is None:
            predictions = masking.default_max_predictions(
                self.max_seq_length, self.masked_lm_prob
            )
        return masking.MaskingOptions(
            vocab_size=tokenizer.vocab_size,
            mask_id=tokenizer.mask_id,
            cls_id=tokenizer.cls_id,
            sep_id=tokenizer.sep_id,
            pad_id=tokenizer.pad_id,
            max_predictions_per_seq=predictions,
            masked_lm_prob=self.masked_lm_prob,
            ngram=self.ngram,
            favor_shorter_ngram=self.favor_shorter_ngram,
            do_whole_word_mask=self.do_whole_word_mask,
            do_permutation=self.do_permutation,
        )


def check(options):
    """Raises `UserError` for values that make no sense, and warns of unwise ones."""
    bounds = {
        "max_seq_length": (8, None),
        "ngram": (1, None),
        "max_predictions_per_seq": (1, options.max_seq_length),
        "dupe_factor": (1, None),
        "max_pairs_per_row": (1, None),
        "num_shards": (1, None),
        "workers": (1, None),
        "masked_lm_prob": (0, 1),
        "short_seq_prob": (0, 1),
        "held_out_fraction": (0, 1),
        "max_unknown": (0, 1),
    }
    for name, (lowest, highest) in bounds.items():
        value = getattr(options, name)
        if value is None:
            continue
        # Not the other way round: every comparison with NaN is false.
        in_range = value >= lowest and (highest is None or value <= highest)
        if not in_range:
            limit = f" and at most {highest}" if highest is not None else ""
            raise UserError(f"--{name}={value}: expected at least {lowest}{limit}.")
    if options.held_out_fraction == 1:
        raise UserError(
            "--held_out_fraction=1 leaves nothing to train on: expected less than 1; "
            "to make held-out data alone, run the command on that text without the "
            "flag."
        )
    if options.official_sop and options.objective != "sop":
        raise UserError("--official_sop goes with --sentence_objective=sop alone.")
    if options.pack and options.masking == "dynamic":
        raise UserError(
            "--pack puts masked pairs together and needs --masking=static; leave out "
            "--pack or --masking=dynamic."
        )
    wanted = masking.default_max_predictions(
        options.max_seq_length, options.masked_lm_prob
    )
    given = options.max_predictions_per_seq
    if given is not None and given < wanted:
        logging.warning(
            "--max_predictions_per_seq=%d predicts fewer than %g%% of a full sequence; "
            "%d would",
            given,
            100 * options.masked_lm_prob,
            wanted,
        )
