"""Lists the names that stand for a model: those in the package, and the released ones.

    albert-tf models
    albert-tf models --card=wikipedia_small

Write a name where a command expects a model (--init_checkpoint, --model_dir, --from) or
in Python: albert_tf.TextClassifier("wikipedia_small"). docs/checkpoints.md says more.
"""

import dataclasses

from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.config import RELEASED_SIZES
from albert_tf.config import AlbertConfig
from albert_tf.costs.albert import encoder_parameters
from albert_tf.hub.repositories import names_of_release
from albert_tf.hub.shipped import shipped_models


@dataclasses.dataclass(frozen=True)
class ModelsOptions:
    """The flags of `albert-tf models`."""

    card: str | None = option(
        "Model of this package whose card to print instead of the list.",
        None,
        [*shipped_models()],
    )


def list_models(options):
    """Prints each name with the parameters of its encoder and its source, or a card."""
    if options.card:
        print((shipped_models()[options.card] / "README.md").read_text("utf-8"), end="")
        return
    for name, folder in shipped_models().items():
        config = AlbertConfig.from_json_file(folder / AlbertConfig.file_name)
        _print_row(name, config, "in this package")
    for size in RELEASED_SIZES:
        name = names_of_release(size)[0]
        source = "to download" if name.startswith("https") else "to download [hub]"
        _print_row(name, AlbertConfig.released(size), source)


def _print_row(name, config, source):
    parameters = sum(encoder_parameters(config).values())
    print(f"{name:75}{parameters:>13,}  {source}")


def main(argv=None):
    """Runs the command."""
    run(ModelsOptions, list_models, argv=argv)
