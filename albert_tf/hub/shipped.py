"""The models that the package holds, which need no download."""

import pathlib

_FOLDER = pathlib.Path(__file__).parent / "shipped_models"


def shipped_models():
    """Returns the folder of each model by its name, a dict of `Path`."""
    folders = filter(pathlib.Path.is_dir, sorted(_FOLDER.iterdir()))
    return {folder.name: folder for folder in folders}
