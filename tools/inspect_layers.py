"""Draws what the layers of a model do to texts.

  python -m tools.inspect_layers --model_dir=out --output_dir=looked_at \\
      "Paris is the capital of France."

This writes layers.png and layers.tsv, which show how far each layer moves a token on
average (figure 1 of the ALBERT paper), and attention_1.png, which shows which tokens
attend to which in each layer.
docs/inference.md says more.
"""

import dataclasses
import os

import numpy as np

from albert_tf.checkpoints.flags import ReadingFlags
from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run_with_texts
from albert_tf.errors import UserError
from albert_tf.io.files import write_atomically
from albert_tf.io.folder_lock import folder_lock

_MOST_TOKENS = 64  # whose pieces can be read beside an attention map


@dataclasses.dataclass(frozen=True)
class InspectOptions(ReadingFlags):
    """The flags of `python -m tools.inspect_layers`; texts stand beside them."""

    model_dir: str = option(
        "Model to look at: a model directory, a Hugging Face directory, or "
        "hf://owner/name."
    )
    output_dir: str = option("Folder for the pictures and the table.")
    input_file: str | None = option(
        "File of texts for layers.png, in the form that albert-tf embed reads; the "
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
    from albert_tf import bundle
    from albert_tf.families import registry
    from albert_tf.inference.loading import load
    from albert_tf.inference.loading import read_texts

    pairs = None
    drawn = list(texts)
    if options.input_file:
        texts, pairs = read_texts(options.input_file)
    opened = bundle.open(options.model_dir)
    encoder = registry.model_for("encoder", opened.family)
    model, tokenizer = load(opened, encoder, return_attentions=True)
    length = model.config.longest_row(options.max_seq_length)
    features = tokenizer(list(texts), pairs, max_length=length)
    with folder_lock(options.output_dir):
        write_layer_changes(options.output_dir, *layer_changes(model, features))
        for number, text in enumerate(drawn, 1):
            features = tokenizer(text, max_length=length)
            write_attention(options.output_dir, number, model, tokenizer, features)


def layer_changes(model, features):
    """Measures how the output of each layer differs from its input (paper, figure 1).

    Args:
        model: an `AlbertModel`, without `depth_loop`.
        features: of texts, `[batch, tokens]`.

    Returns:
        Two float64 arrays `[layers]`, means over the tokens that are no padding: the L2
        distance, and the angle between the two vectors in degrees.
    """
    outputs = model(features, training=False)
    first = model.first_block_input(outputs["embedding_output"])
    states = np.stack([first, *outputs["hidden_states"]]).astype(np.float64)
    before, after = states[:-1], states[1:]  # [L, B, T, H]
    distances = np.linalg.norm(after - before, axis=-1)  # [L, B, T]
    norms = np.linalg.norm(before, axis=-1) * np.linalg.norm(after, axis=-1)
    cosines = np.clip(np.sum(before * after, axis=-1) / norms, -1, 1)
    angles = np.degrees(np.arccos(cosines))
    real = features["input_mask"].astype(bool)
    return distances[:, real].mean(axis=1), angles[:, real].mean(axis=1)


def write_layer_changes(output_dir, distances, angles):
    """Writes `layers.tsv` and `layers.png`."""
    rows = enumerate(zip(distances, angles, strict=True), 1)
    lines = [f"{layer}\t{d:.6f}\t{a:.6f}" for layer, (d, a) in rows]
    table = "\n".join(["layer\tl2_distance\tangle_in_degrees", *lines]) + "\n"
    write_atomically(os.path.join(output_dir, "layers.tsv"), table)
    layers = np.arange(1, len(distances) + 1)

    def draw(figure, names):
        axes = figure.subplots(1, 2)
        titles = ("L2 distance", "Angle of the cosine, degrees")
        for axis, title, values in zip(axes, titles, (distances, angles), strict=True):
            axis.plot(layers, values, marker="o")
            axis.set(
                title=title, xlabel="layer", xticks=layers[:: len(layers) // 12 + 1]
            )
            axis.set_ylim(bottom=0)

    _write_plot(os.path.join(output_dir, "layers.png"), draw, (9.6, 4.0))


def write_attention(output_dir, number, model, tokenizer, features):
    """Writes `attention_<number>.png`: a map for each layer, the mean of its heads.

    Args:
        output_dir: the folder.
        number: of the text.
        model: an `AlbertModel` with `return_attentions`.
        tokenizer: the model's.
        features: of one text, `[1, tokens]`.

    Raises:
        UserError: the text has too many tokens to be read in a picture.
    """
    ids = features["input_ids"][0].tolist()
    if len(ids) > _MOST_TOKENS:
        raise UserError(
            f"Text {number} has {len(ids)} tokens, more than the {_MOST_TOKENS} that "
            "a picture of attention can show; shorten it."
        )
    attentions = model(features, training=False)["attentions"]
    maps = [np.asarray(layer[0]).mean(axis=0) for layer in attentions]  # [T, T] each
    columns = min(4, len(maps))
    rows = -(-len(maps) // columns)
    side = 1.2 + 0.16 * len(ids)

    def draw(figure, names):
        axes = np.ravel(figure.subplots(rows, columns, squeeze=False))
        for axis in axes[len(maps) :]:
            axis.set_axis_off()
        for layer, (axis, attention) in enumerate(zip(axes, maps, strict=False), 1):
            axis.imshow(attention, vmin=0, cmap="Blues")
            axis.set_title(f"layer {layer}")
            axis.set_xticks(range(len(ids)), names, rotation=90, fontsize="x-small")
            axis.set_yticks(range(len(ids)), names, fontsize="x-small")

    path = os.path.join(output_dir, f"attention_{number}.png")
    pieces = tokenizer.convert_ids_to_tokens(ids)
    _write_plot(path, draw, (columns * side, rows * side), pieces)


def _write_plot(*arguments):
    # Imported here, so that --help does not wait for matplotlib.
    from albert_tf.display.plots import write_plot

    write_plot(*arguments)


def main(argv=None):
    """Runs the command."""
    run_with_texts(InspectOptions, inspect_layers, argv)


if __name__ == "__main__":
    main()
