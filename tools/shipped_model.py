"""Writes a model directory with float16 weights, half the size, for the package.

  python -m tools.shipped_model --model_dir=run --to=albert_tf/hub/shipped_models/NAME

The commands that pretrained each model are in the README.md of its folder.
"""

import dataclasses
import os
import shutil

import h5py
import numpy as np

from albert_tf.checkpoints.model_directory import WEIGHTS_FILE
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.io.whole_folder import replacing


@dataclasses.dataclass(frozen=True)
class ShippedModelOptions:
    """The flags of this tool."""

    model_dir: str = option("Model directory with the weights in float32.")
    to: str = option("Folder to write to; its README.md stays.")


def write_in_float16(options):
    """Copies a model directory and rounds its weights to float16.

    Raises:
        UserError: a weight exceeds the range of float16.
    """
    with replacing(options.to) as new, ChecksummedFolder(new) as folder:
        for name in checksums.read(options.model_dir):
            if name == "history.json":
                continue  # training_info.json has it, too
            shutil.copyfile(
                os.path.join(options.model_dir, name), os.path.join(new, name)
            )
            if name == WEIGHTS_FILE:
                _round(os.path.join(new, name))
            folder.add(name)


def _round(path):
    """Rewrites an HDF5 file, in which a smaller data set would leave a gap."""
    wide = f"{path}.float32"
    os.replace(path, wide)
    with h5py.File(wide) as read, h5py.File(path, "w") as written:

        def visit(name, item):
            if isinstance(item, h5py.Dataset):
                rounded = item[()].astype(np.float16)
                if not np.isfinite(rounded).all():
                    raise UserError(f"{name} exceeds the range of float16.")
                written.create_dataset(name, data=rounded)
            else:
                written.require_group(name)
            place = written[name]
            place.attrs.update(item.attrs)

        written.attrs.update(read.attrs)
        read.visititems(visit)
    os.remove(wide)


def main(argv=None):
    """Runs the tool."""
    run(ShippedModelOptions, write_in_float16, argv=argv)


if __name__ == "__main__":
    main()
