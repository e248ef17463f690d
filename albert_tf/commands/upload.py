"""Uploads a model to the Hugging Face Hub, with a model card.

  albert-tf upload --model_dir=tuned/model --repo=owner/name --license=apache-2.0 \\
      --language=en

The token of `hf auth login` or HF_TOKEN must allow writing. A repository that does not
exist is made; one that does gets the new model in place of the old. docs/checkpoints.md
says more.
"""

import dataclasses

import albert_tf
from albert_tf.checkpoints.flags import FORMATS
from albert_tf.checkpoints.flags import ReadingFlags
from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.hub.uploads import check_upload


@dataclasses.dataclass(frozen=True)
class UploadOptions(ReadingFlags):
    """The flags of `albert-tf upload`."""

    model_dir: str = option("Model to upload, in any form that is read.")
    repo: str = option("Repository of the Hub, owner/name.")
    format: str = option(
        "Form to upload: a Hugging Face directory, which transformers reads and "
        "albert_tf, too; a model directory; or the official code's checkpoint.",
        "huggingface",
        FORMATS,
    )
    private: bool = option("Let only the owner see the repository.", False)
    license: str | None = option("License for the model card, such as mit.", None)
    language: str | None = option(
        "Languages for the model card, such as en, separated by commas.", None
    )
    datasets: str | None = option(
        "Data sets of the Hub for the model card, separated by commas.", None
    )


@obeys_reading_flags
def upload(options):
    """Uploads the model and prints the address of its repository.

    Raises:
        UserError: see `PretrainedModel.push_to_hub`.
    """
    check_upload(options.repo)
    opened = albert_tf.bundle.open(options.model_dir)
    model = opened.model()
    address = model.push_to_hub(
        options.repo,
        opened.tokenizer() if opened.brings_tokenizer() else None,
        opened.info or None,
        options.format,
        options.private,
        options.license,
        options.language,
        options.datasets,
    )
    print(f"{type(model).__name__} uploaded to {address}")


def main(argv=None):
    """Runs the command."""
    run(UploadOptions, upload, argv=argv)
