"""Lists the names that stand for a model: those in the package, and the released ones.

    albert-tf models

Write a name where a command expects a model (--init_checkpoint, --model_dir, --from) or
in Python: albert_tf.TextClassifier("wikipedia_small").
"""

import dataclasses

from albert_tf.cli.command_line import run
from albert_tf.config import RELEASED_SIZES
from albert_tf.config import AlbertConfig
from albert_tf.costs.albert import encoder_parameters
from albert_tf.hub.repositories import names_of_release
from albert_tf.hub.shipped import shipped_models


@dataclasses.dataclass(frozen=True)
class ModelsOptions:
    """The flags of `albert-tf models`: none."""


def list_models(options):
    """Prints each name with the parameters of its encoder and its source."""
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


if __name__ == "__main__":
    main()
