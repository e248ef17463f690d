"""The released ALBERTs: their names, addresses and sizes."""

import dataclasses

from albert_tf.config import RELEASED_SIZES
from albert_tf.config import AlbertConfig

GLUE_PAGE = "https://gluebenchmark.com/tasks"
_ARCHIVES = "https://storage.googleapis.com/albert_models"


@dataclasses.dataclass(frozen=True)
class Release:
    """One released model.

    Attributes:
        size: its key in `RELEASED_SIZES`, such as "base_v2".
        archive: URL of the official archive, which holds both pretraining heads.
        handle: the name of the Hugging Face repository of the same weights, without the
            sentence-order head; None for the Chinese models, which Google did not put
            there.
    """

    size: str
    archive: str
    handle: str | None

    @property
    def config(self):
        """Its `AlbertConfig`."""
        return AlbertConfig.released(self.size)


def _release(size):
    archive = f"{_ARCHIVES}/albert_{size}.tar.gz"
    handle = f"hf://albert/albert-{size.replace('_', '-')}"
    return Release(size, archive, None if size.endswith("_zh") else handle)


RELEASES = tuple(map(_release, RELEASED_SIZES))


def find_release(name):
    """Finds the `Release` that a name such as "albert-base-v2" means, or None.

    The names are of the repositories ("albert/albert-base-v2"), of the archives
    ("albert_base_v2", with or without ".tar.gz") and of `RELEASED_SIZES`.
    """
    name = name.lower().removesuffix(".tar.gz").removeprefix("albert/")
    size = name.replace("-", "_").removeprefix("albert_")
    return next((release for release in RELEASES if release.size == size), None)
