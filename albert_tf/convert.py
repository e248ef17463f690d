"""Converts a model between the official TF1, Hugging Face and our own form.

    python -m albert_tf.convert --from=albert_base_v2 --to=models/base
    python -m albert_tf.convert --from=models/base --to=exported --to_format=tf1

--from takes a model directory, an official archive or TF-Hub module (unpacked or not),
a TF1 checkpoint prefix, a Hugging Face directory, or a model to download:
hf://owner/name or the URL of an archive. The command also converts the tokenizer beside
the checkpoint. docs/checkpoints.md says more.
"""

import dataclasses

from albert_tf.checkpoints.flags import FORMATS
from albert_tf.checkpoints.flags import ReadingFlags
from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.families import registry

_AUTO = "auto"


@dataclasses.dataclass(frozen=True)
class ConvertOptions(ReadingFlags):
    """The flags of `python -m albert_tf.convert`."""

    # "from" is a keyword, so no field can have that name.
    source: str = option("Checkpoint to read.", aliases=("from",))
    to: str = option("Folder to write to.")
    to_format: str = option(
        "Form to write: a model directory of this project, an official TF1 "
        "checkpoint, or a Hugging Face directory.",
        "model_directory",
        FORMATS,
    )
    model_class: str = option(
        "Model class to build; auto takes the one whose heads the checkpoint has.",
        _AUTO,
        [_AUTO, *registry.model_names()],
    )
    allow_missing: str = option(
        "Weights that the checkpoint may lack and that get random values: their "
        "official names, or the beginnings of these, separated by commas.",
        "",
    )
    do_lower_case: bool | None = option(
        "Lower the case of letters, where the tokenizer's own files do not say; by "
        "default for ALBERT's vocabularies and not for XLNet's.",
        None,
    )


@obeys_reading_flags
def convert(options):
    """Converts as the flags say, and prints the report of the loading.

    Raises:
        UserError: there is no checkpoint, it does not fit the model, or `to` is
            no place for it.
    """
    # Imported here, so that --help does not wait for TensorFlow.
    from albert_tf.checkpoints.conversion import write_converted

    model_class = None if options.model_class == _AUTO else options.model_class
    write_converted(dataclasses.replace(options, model_class=model_class))


def main(argv=None):
    """Runs the command."""
    run(ConvertOptions, convert, argv=argv)


if __name__ == "__main__":
    main()
