"""Scores a model on minimal pairs of sentences, such as BLiMP, without training.

  albert-tf minimal-pairs --model_dir=out --input_file=blimp/data

This prints the share of pairs whose acceptable sentence the model finds likelier, by
set, term, field and in all. docs/inference.md says more.
"""

import dataclasses

from albert_tf.checkpoints.flags import ReadingFlags
from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.io.files import json_text
from albert_tf.io.files import write_atomically


@dataclasses.dataclass(frozen=True)
class MinimalPairsOptions(ReadingFlags):
    """The flags of `albert-tf minimal-pairs`."""

    model_dir: str = option(
        "Pretrained model, of masked words, replaced tokens or XLNet's permutations: "
        "the model directory of a run, a Hugging Face directory, or hf://owner/name."
    )
    input_file: str = option(
        "Table of pairs with the columns sentence_good and sentence_bad and, if there "
        "are any, UID, linguistics_term and field (.tsv, .csv, .jsonl or .parquet, "
        "perhaps with .gz); or a folder of such tables."
    )
    output_file: str | None = option(
        "File for the accuracies and the scores of each pair, as JSON.", None
    )
    pairs_per_set: int | None = option(
        "Score only so many pairs of each file, from its beginning; all by default.",
        None,
        minimum=1,
    )
    whole_words: bool = option(
        "Hide the later tokens of a token's word, too, so that no word is likelier for "
        "being cut into many.",
        False,
    )
    batch_size: int = option("Number of tokens to ask for at a time.", 256, minimum=1)


@obeys_reading_flags
def minimal_pairs(options):
    """Prints the accuracies, and writes them to the output file if there is one."""
    # Imported here, so that --help does not wait for TensorFlow.
    from albert_tf import bundle
    from albert_tf.inference.loading import language_model_class
    from albert_tf.inference.loading import load
    from albert_tf.inference.minimal_pairs import accuracies
    from albert_tf.inference.minimal_pairs import read_pairs
    from albert_tf.inference.minimal_pairs import score_pairs

    pairs = read_pairs(options.input_file, options.pairs_per_set)
    opened = bundle.open(options.model_dir)
    model, tokenizer = load(opened, language_model_class(opened))
    scores = score_pairs(
        model, tokenizer, pairs, options.whole_words, options.batch_size
    )
    found = accuracies(pairs, *scores.T)
    if options.output_file:
        rows = [
            {
                **{name: pair[name] for name in ("good", "bad", "groups")},
                "good_score": good,
                "bad_score": bad,
            }
            for pair, (good, bad) in zip(pairs, scores.tolist(), strict=True)
        ]
        write_atomically(options.output_file, json_text({**found, "pairs": rows}))
    for name, values in found.items():
        if name != "overall":
            print(f"{name}:")
            for key, value in values.items():
                print(f"  {100 * value:5.1f}  {key}")
    print(f"overall = {100 * found['overall']:.2f}")


def main(argv=None):
    """Runs the command."""
    run(MinimalPairsOptions, minimal_pairs, argv=argv)
