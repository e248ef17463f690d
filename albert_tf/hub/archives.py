"""Archives of models, downloaded, checked, and unpacked once into a cache."""

import contextlib
import functools
import gzip
import lzma
import os
import re
import shutil
import tarfile
import tempfile
import zlib

from absl import logging

from albert_tf.errors import UserError
from albert_tf.hub.downloads import UNENCRYPTED
from albert_tf.hub.downloads import download
from albert_tf.hub.downloads import shown
from albert_tf.hub.downloads import unencrypted
from albert_tf.io import checksums
from albert_tf.io import storage
from albert_tf.io.files import read_json_object
from albert_tf.io.files import write_json
from albert_tf.io.whole_folder import UNFINISHED

ENDINGS = (".tar.gz", ".tgz", ".tar")
CACHE_VARIABLE = "ALBERT_TF_CACHE"
# The largest release, xxlarge with the slots of its optimizer, has some 3 GB.
LARGEST_ARCHIVE = 2e10  # bytes
_BLOCK = 1_048_576  # bytes
_OFFLINE_VALUES = ("1", "ON", "YES", "TRUE")
_SHA256 = re.compile("[0-9a-f]{64}")
_UNREADABLE = (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)


def cache_folder():
    """Returns the folder of unpacked archives.

    It is `ALBERT_TF_CACHE`, or else `~/.cache/albert_tf`.

    Raises:
        UserError: the user has no home folder.
    """
    default = os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache")
    folder = os.environ.get(CACHE_VARIABLE) or os.path.join(default, "albert_tf")
    found = os.path.expanduser(folder)
    if found.startswith("~"):
        raise UserError(
            f"There is no home folder to keep downloads in {folder}; set HOME, or name "
            f"a folder with {CACHE_VARIABLE}."
        )
    return found


def download_archive(url):
    """Downloads and unpacks an archive, unless the cache has it.

    Args:
        url: the address of a tar archive, optionally followed by "#sha256=" and the
            archive's hash. An unencrypted address needs the hash.

    Returns:
        The folder with its files, a str.

    Raises:
        UserError: the archive cannot be downloaded or unpacked, has another hash, or
            is not in the cache while `HF_HUB_OFFLINE` is set.
    """
    address, expected = _address_and_hash(url)
    title = shown(address)
    if expected is None and address.startswith(UNENCRYPTED):
        raise unencrypted(title)
    name = checksums.of_bytes(address.encode())
    record = os.path.join(cache_folder(), "urls", f"{name}.json")
    known = _recorded_hash(record)
    if known and expected in (None, known) and _is_whole(known):
        return _root(_unpacked_folder(known))
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in _OFFLINE_VALUES:
        raise UserError(
            f"{title} is not in {cache_folder()}, or is damaged there, and "
            "HF_HUB_OFFLINE forbids downloading it; unset HF_HUB_OFFLINE to download "
            "it."
        )
    with _in_the_cache(title) as work:
        archive = os.path.join(work, "archive")
        check_size = functools.partial(_check_size, title=title)
        download(address, archive, check_size, is_checked=expected is not None)
        digest = checksums.of_file(archive)
        if expected not in (None, digest):
            raise UserError(
                f"{title} has the SHA-256 hash {digest}, not {expected}; it is "
                "damaged, or another file: download it again, or correct the hash."
            )
        folder = unpack_archive(archive, title)
        write_json(record, {"url": title, "sha256": digest})
    return folder


def _address_and_hash(url):
    """Splits a URL into the address and the hash after it, or None."""
    address, sign, fragment = url.partition("#")
    if not sign:
        return address, None
    name, _, expected = fragment.lower().partition("=")
    if name != "sha256" or not _SHA256.fullmatch(expected):
        raise UserError(
            f"{shown(address)} is followed by #{fragment}: expected nothing, or "
            "#sha256= and the 64 hexadecimal digits of the file's SHA-256."
        )
    return address, expected


def unpack_archive(path, title):
    """Unpacks an archive into the cache, unless the cache has it.

    Nothing is written outside the cache, and the folder appears when it is complete.

    Args:
        path: a tar archive on a disk, compressed or not.
        title: its name in messages.

    Returns:
        The folder with its files, a str; if the archive holds a single folder, that
        folder.

    Raises:
        UserError: the archive is damaged, holds anything but files and folders, would
            write elsewhere or is too large.
    """
    digest = checksums.of_file(path)
    folder = _unpacked_folder(digest)
    if _is_whole(digest):
        return _root(folder)
    with _in_the_cache(title) as work:
        target = os.path.join(work, "files")
        os.mkdir(target)
        try:
            with tarfile.open(path, tarinfo=_Member) as archive:
                _extract(archive, target, title)
        except tarfile.FilterError as error:
            raise UserError(f"{title} is not safe to unpack: {error}.") from error
        except _UNREADABLE as error:
            # tarfile's message has a line for each kind of compression.
            reason = str(error).partition("\n")[0].rstrip(":")
            raise UserError(
                f"{title} is damaged or not a tar archive: {reason}."
            ) from error
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        write_json(_list_of(digest), checksums.of_files_below(target))
        try:
            os.rename(target, folder)
        except OSError:  # another process may have been first, with the same files
            if not os.path.isdir(folder):
                raise
    return _root(folder)


class _Member(tarfile.TarInfo):
    """A header that is refused if damaged; `tarfile` would take it for the end."""

    @classmethod
    def frombuf(cls, buf, encoding, errors):
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.EOFHeaderError:
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"a header in it is damaged ({error})") from error


def _extract(archive, target, title):
    free = shutil.disk_usage(target).free
    total = 0
    for member in archive:
        if not (member.isreg() or member.isdir()):
            raise UserError(
                f"{title} is not safe to unpack: {member.name} is neither a file nor a "
                "folder."
            )
        if {*UNFINISHED} & {*member.name.split("/")}:
            raise UserError(
                f"{title} is not safe to unpack: {member.name} is of a saving that was "
                "interrupted; save the model again before you pack it."
            )
        total += member.size
        _check_size(total, free, title)
        archive.extract(member, target, filter="data")
    # The checksum of a compressed archive is at its very end, after zeros.
    while block := archive.fileobj.read(_BLOCK):
        if block.strip(b"\0"):
            raise tarfile.ReadError("something follows its end")


def _check_size(size, free, title):
    if size > LARGEST_ARCHIVE:
        raise UserError(
            f"{title} has more than {LARGEST_ARCHIVE / 1e9:g} GB, which no ALBERT has; "
            "unpack it by hand if it is one."
        )
    if free is not None and size > free:
        raise UserError(
            f"{title} needs {size / 1e9:.2f} GB or more, but {cache_folder()} has room "
            f"for {free / 1e9:.2f} GB; make room, or name another folder with "
            f"{CACHE_VARIABLE}."
        )


@contextlib.contextmanager
def _in_the_cache(title):
    """Yields a temporary folder in the cache."""
    try:
        os.makedirs(cache_folder(), exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache_folder(), prefix="work-") as work:
            yield work
    except OSError as error:
        raise UserError(
            f"{title} cannot be kept in {cache_folder()}: "
            f"{error.strerror or error}; make room, "
            f"or name another folder with {CACHE_VARIABLE}."
        ) from error


def _recorded_hash(record):
    """Returns the hash recorded for an address; None without a readable record."""
    try:
        known = read_json_object(record)["sha256"]
    except (KeyError, UserError):
        return None
    return known if isinstance(known, str) and _SHA256.fullmatch(known) else None


def _unpacked_folder(digest):
    return os.path.join(cache_folder(), "archives", digest)


def _list_of(digest):
    """Returns the path of the list of an archive's files and checksums."""
    return f"{_unpacked_folder(digest)}.json"


def _is_whole(digest):
    """Returns whether an unpacked archive is in the cache; removes a damaged one.

    Earlier versions wrote no list of the files; the first check of a folder adds it.
    """
    folder, path = _unpacked_folder(digest), _list_of(digest)
    if not os.path.isdir(folder):
        return False
    with contextlib.suppress(OSError, UserError):  # a file or the list is unreadable
        if not os.path.exists(path):
            write_json(path, checksums.of_files_below(folder))
        if read_json_object(path) == checksums.of_files_below(folder):
            return True
    logging.warning("%s is damaged; the archive is unpacked again.", folder)
    storage.remove_folder(folder)
    return False


def _root(folder):
    """Returns the single folder that holds everything, or `folder` itself."""
    names = os.listdir(folder)
    inner = os.path.join(folder, names[0]) if len(names) == 1 else folder
    return inner if os.path.isdir(inner) else folder
