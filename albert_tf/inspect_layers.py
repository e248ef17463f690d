"""Draws what the layers of a model do to texts.

  python -m albert_tf.inspect_layers --model_dir=out --output_dir=looked_at \\
      "Paris is the capital of France."

This writes layers.png and layers.tsv, which show how far each layer moves a token on
average (figure 1 of the ALBERT paper), and attention_1.png, which shows which tokens
attend to which in each layer.
docs/inference.md says more.
"""

import dataclasses

from albert_tf.checkpoints.flags import ReadingFlags
from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run_with_texts
from albert_tf.errors import UserError


@dataclasses.dataclass(frozen=True)
class InspectOptions(ReadingFlags):
    """The flags of `python -m albert_tf.inspect_layers`; texts stand beside them."""

    model_dir: str = option(
        "Model to look at: a model directory, a Hugging Face directory, or "
        "hf://owner/name."
    )
    output_dir: str = option("Folder for the pictures and the table.")
    input_file: str | None = option(
        "File of texts for layers.png, in the form that albert_tf.embed reads; the "
        "command then draws no attention.",
        None,
    )
    max_seq_length: int = option(
        "Largest length of a text, in tokens; longer texts lose their end.",
        128,
        minimum=5,
    )


@obeys_reading_flags
def inspect_layers(options, texts=()):
    """Writes pictures for `texts`, or for the file that the options name.

    Raises:
        UserError: texts both given and in a file, or neither; one too long to draw.
    """
    if bool(texts) == bool(options.input_file):
        raise UserError("Give either texts or --input_file.")
    # Imported here, so that --help does not wait for TensorFlow.
    from albert_tf.hub.names import local_directory
    from albert_tf.inference.layers import layer_changes
    from albert_tf.inference.layers import write_attention
    from albert_tf.inference.layers import write_layer_changes
    from albert_tf.inference.loading import encoder_class
    from albert_tf.inference.loading import load
    from albert_tf.inference.loading import read_texts

    pairs = None
    drawn = list(texts)
    if options.input_file:
        texts, pairs = read_texts(options.input_file)
    directory = local_directory(options.model_dir)
    model, tokenizer = load(encoder_class, directory, return_attentions=True)
    length = model.config.longest_row(options.max_seq_length)
    features = tokenizer(list(texts), pairs, max_length=length)
    write_layer_changes(options.output_dir, *layer_changes(model, features))
    for number, text in enumerate(drawn, 1):
        features = tokenizer(text, max_length=length)
        write_attention(options.output_dir, number, model, tokenizer, features)


def main(argv=None):
    """Runs the command."""
    run_with_texts(InspectOptions, inspect_layers, argv)


if __name__ == "__main__":
    main()
