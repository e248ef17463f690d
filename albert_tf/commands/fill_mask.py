"""Guesses the tokens in the place of each [MASK].

  albert-tf fill-mask --model_dir=out "Paris is the [MASK] of France."

This prints the best tokens of each mask with their probabilities. --input_file takes
many texts, --output_file writes JSON lines. docs/inference.md says more.
"""

import dataclasses

from albert_tf.checkpoints.flags import ReadingFlags
from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run_with_texts
from albert_tf.errors import UserError
from albert_tf.io.files import json_text
from albert_tf.io.files import write_atomically


@dataclasses.dataclass(frozen=True)
class FillMaskOptions(ReadingFlags):
    """The flags of `albert-tf fill-mask`; texts are positional arguments."""

    model_dir: str = option(
        "Model with a masked LM head, or XLNet with its LM head: the model directory "
        "of a pretraining run, a Hugging Face directory of AlbertForMaskedLM, "
        "AlbertForPreTraining or XLNetLMHeadModel, or hf://owner/name."
    )
    input_file: str | None = option(
        "File of texts: one per line, with a tab between the two texts of a pair; or "
        "a .tsv, .csv or .jsonl table with the column text and, for pairs, text_pair.",
        None,
    )
    output_file: str | None = option(
        "File for the answers, one JSON object per text; without it, the command "
        "prints them.",
        None,
    )
    top_k: int = option(
        "Number of tokens to show for each mask, the best first.", 5, minimum=1
    )
    batch_size: int = option("Number of texts to compute at a time.", 32, minimum=1)


@obeys_reading_flags
def fill_mask(options, texts=()):
    """Predicts the masks in `texts`, or in the input file of the options.

    Raises:
        UserError: there are texts as well as a file, or neither; a text has no mask;
            the model lacks the masked LM head.
    """
    if bool(texts) == bool(options.input_file):
        raise UserError(
            'Give either texts, such as "Paris is the [MASK] of France.", or '
            "--input_file."
        )
    # Imported here, so that --help does not wait for TensorFlow.
    from albert_tf import bundle
    from albert_tf.inference.loading import guessing_class
    from albert_tf.inference.loading import load
    from albert_tf.inference.loading import read_texts
    from albert_tf.inference.masked_words import fill_masks

    pairs = None
    if options.input_file:
        texts, pairs = read_texts(options.input_file)
    opened = bundle.open(options.model_dir)
    model, tokenizer = load(opened, guessing_class(opened))
    found = fill_masks(
        model, tokenizer, list(texts), pairs, options.top_k, options.batch_size
    )
    columns = {"text": texts, **({"text_pair": pairs} if pairs else {}), "masks": found}
    rows = [
        dict(zip(columns, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]
    if options.output_file:
        content = "".join(json_text(row, indent=None) for row in rows)
        write_atomically(options.output_file, content)
    else:
        print("\n\n".join("\n".join(_lines(**row)) for row in rows))


def _lines(masks, **texts):
    yield "\t".join(texts.values())
    for number, mask in enumerate(masks, 1):
        if len(masks) > 1:
            yield f"mask {number}:"
        for guess in mask:
            yield f"  {guess['probability']:.4f}  {guess['token']}"


def main(argv=None):
    """Runs the command."""
    run_with_texts(FillMaskOptions, fill_mask, argv)
