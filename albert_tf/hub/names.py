"""Resolution of a model's name to a directory on this machine."""

import dataclasses
import functools
import glob
import os
import re

from albert_tf.errors import UserError
from albert_tf.hub.archives import ENDINGS
from albert_tf.hub.archives import download_archive
from albert_tf.hub.archives import unpack_archive
from albert_tf.hub.downloads import shown
from albert_tf.hub.repositories import download_repository
from albert_tf.hub.repositories import download_tables
from albert_tf.hub.repositories import names_of_release
from albert_tf.hub.shipped import shipped_models
from albert_tf.io import storage
from albert_tf.io.near_misses import close_name
from albert_tf.io.near_misses import did_you_mean
from albert_tf.io.near_misses import model_file

REPOSITORY_SCHEME = "hf://"
_URL_SCHEMES = ("http://", "https://")
_REPOSITORY_PAGES = "https://huggingface.co/"
_MODULE_PAGES = "https://tfhub.dev/"
# Files of models, vocabularies or exports in any format, but not of runs.
_OF_A_MODEL = re.compile(
    r".*\.(index|h5|safetensors|model|pb)|.*config\.json|vocab.*\.txt|\d+"
)


def local_directory(path, revision=None, weights=True):
    """Finds the directory of a model; downloads and unpacks it if necessary.

    Args:
        path: one of
            - "hf://owner/name" or "hf://owner/name@revision": a Hugging Face
              repository, downloaded into its cache (extra `hub`);
            - the URL of an archive, "https://….tar.gz" or "http://….tar.gz#sha256=…";
            - an archive on a disk or in a bucket;
            - "wikipedia_small", a model of this package, unless the path exists;
            - any other existing path, which is returned unchanged.
        revision: a branch, a tag or a commit of a repository.
        weights: whether to download a repository's weights, or only its tokenizer.

    Returns:
        A str; None if `path` is None.

    Raises:
        UserError: the model cannot be downloaded, the archive is damaged or unsafe,
            the path does not exist, or it is a run's output folder, which has its model
            in a subfolder.
    """
    if not path:
        return path
    path = _with_known_scheme(os.fspath(path))
    if path.startswith(REPOSITORY_SCHEME):
        return _repository(path, revision, weights)
    if revision is not None:
        raise UserError(
            f"revision={revision!r} works only with {REPOSITORY_SCHEME} names, not "
            f"with {shown(path)}; leave it out."
        )
    if path.startswith(_URL_SCHEMES):
        return _url(path)
    if path.endswith(ENDINGS) and storage.exists(path) and not storage.is_folder(path):
        with storage.read_locally(path) as archive:
            return unpack_archive(archive, path)
    if path in shipped_models() and not _is_there(path):
        return str(shipped_models()[path])
    _check_exists(path)
    refuse_run_folder(path)
    return path


def _with_known_scheme(path):
    """Lowers the scheme of a path; refuses unknown schemes."""
    if "\0" in path:
        raise UserError(f"{path!r} is no path: it holds a NUL character.")
    scheme, sign, rest = path.partition("://")
    scheme = scheme.lower()
    if not sign or f"{scheme}://" in (REPOSITORY_SCHEME, *_URL_SCHEMES):
        return f"{scheme}{sign}{rest}" if sign else path
    import tensorflow as tf  # which reaches buckets

    if not scheme or scheme not in tf.io.gfile.get_registered_schemes():
        raise UserError(
            f"{shown(path)} begins with none of {REPOSITORY_SCHEME}, http://, https:// "
            "and gs://; download it by other means, and name the folder or the archive."
        )
    return path


def with_local_models(flags):
    """Replaces the names of models, vocabularies and tables in flags by local paths.

    Args:
        flags: a frozen dataclass of flags; `option(names=…)` marks flags to resolve.

    Raises:
        UserError: see `local_directory` and `local_tables`.
    """
    finders = {
        "model": local_directory,
        "vocabulary": functools.partial(local_directory, weights=False),
        "tables": local_tables,
    }
    kinds = {f.name: f.metadata["names"] for f in dataclasses.fields(flags)}
    paths = {
        name: finders[kind](getattr(flags, name))
        for name, kind in kinds.items()
        if kind
    }
    return dataclasses.replace(flags, **paths)


def refuse_run_folder(path):
    """Refuses a run's output folder; the message names the folder of its model."""
    found = model_file(path, "head.json")
    if found and not any(map(_OF_A_MODEL.fullmatch, storage.names_in(path))):
        meant = os.path.dirname(found)
        raise UserError(f"{path} holds no model itself; did you mean {meant}?")


def local_tables(path):
    """Finds the folder of tables that `--data_dir` names; downloads it if necessary.

    Args:
        path: "hf://owner/name" or "hf://owner/name@revision", a data set on the Hugging
            Face Hub; any other path is returned unchanged.

    Raises:
        UserError: the data cannot be downloaded, or the repository has no tables.
    """
    path = path and _with_known_scheme(path)
    return _tables(path) if path and path.startswith(REPOSITORY_SCHEME) else path


@functools.cache
def _tables(path):
    name, _, revision = path.removeprefix(REPOSITORY_SCHEME).partition("@")
    return download_tables(name, revision or None)


def is_download(path):
    """Returns whether a path names something to download."""
    schemes = (REPOSITORY_SCHEME, *_URL_SCHEMES)
    return bool(path) and os.fspath(path).lower().startswith(schemes)


# All parts of a process must get the same commit of a repository.
@functools.cache
def _repository(path, revision, weights):
    name = path.removeprefix(REPOSITORY_SCHEME)
    name, _, named = name.partition("@")
    if named and revision not in (None, named):
        raise UserError(
            f"{path} names the revision {named}, not {revision}; give only one of the "
            "two."
        )
    return download_repository(name, named or revision, weights)


def _url(url):
    if url.startswith(_REPOSITORY_PAGES):
        name = "/".join(url.removeprefix(_REPOSITORY_PAGES).split("/")[:2])
        raise UserError(
            f"{shown(url)} is a web page; write {REPOSITORY_SCHEME}{name} instead."
        )
    # The official command lines name such pages.
    if url.startswith(_MODULE_PAGES) and "?" not in url:
        raise UserError(
            f"{url} is a web page; write {url}?tf-hub-format=compressed instead, or "
            "the folder of the module on this machine."
        )
    return download_archive(url)


def _is_there(path):
    # The path of a TF1 checkpoint is a prefix of its files.
    return storage.exists(path) or bool(glob.glob(f"{glob.escape(path)}.*"))


def _check_exists(path):
    """Refuses a path that does not exist, and says how to name a released model."""
    if _is_there(path):
        return
    released = names_of_release(path)
    if not released:
        close = close_name(path, [*shipped_models()])
        meant = did_you_mean(path) or (close and f"; did you mean {close}?")
        meant = meant or (
            "; correct the path, or name a model to download, such as hf://owner/name."
        )
        raise UserError(f"There is no file or folder {path}{meant}")
    raise UserError(
        f"There is no directory {path} on this machine; to download the released "
        f"model, write {' or '.join(released)}."
    )
