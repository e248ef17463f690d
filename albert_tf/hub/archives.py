"""Archives of models: downloaded, checked, unpacked once and kept by their hash."""

import base64
import contextlib
import gzip
import hashlib
import os
import re
import shutil
import tarfile
import tempfile
import urllib.error
import urllib.parse
import urllib.request
import zlib

from albert_tf.display.progress import Progress
from albert_tf.errors import UserError
from albert_tf.io.files import read_json_object
from albert_tf.io.files import write_json

ENDINGS = (".tar.gz", ".tgz", ".tar")
CACHE_VARIABLE = "ALBERT_TF_CACHE"
# The largest release, xxlarge with the slots of its optimizer, has some 3 GB.
LARGEST_ARCHIVE = 20 * 10**9
_BLOCK = 1 << 20
_TIMEOUT_SECONDS = 30
_OFFLINE_VALUES = ("1", "ON", "YES", "TRUE")
_SHA256 = re.compile("[0-9a-f]{64}")


def cache_folder():
    """Where unpacked archives lie: `ALBERT_TF_CACHE`, else `~/.cache/albert_tf`."""
    default = os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache")
    folder = os.environ.get(CACHE_VARIABLE) or os.path.join(default, "albert_tf")
    return os.path.expanduser(folder)


def download_archive(url):
    """Downloads and unpacks an archive, unless that was done before.

    Args:
        url: of a tar archive. "#sha256=" and the archive's hash may follow: then the
            archive must have it. Google's storage publishes an MD5 hash, which is
            compared as well.

    Returns:
        The folder with its files, a str.

    Raises:
        UserError: it cannot be downloaded or unpacked, has another hash than it should,
            or is not in the cache while `HF_HUB_OFFLINE` is set.
    """
    address, _, expected = url.partition("#sha256=")
    record = os.path.join(
        cache_folder(), "urls", f"{hashlib.sha256(address.encode()).hexdigest()}.json"
    )
    known = _recorded_hash(record)
    folder = known and _unpacked_folder(known)
    if folder and os.path.isdir(folder) and expected in ("", known):
        return _root(folder)
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in _OFFLINE_VALUES:
        raise UserError(
            f"{address} is not in {cache_folder()}, and HF_HUB_OFFLINE forbids "
            "downloading it; unset HF_HUB_OFFLINE to download it."
        )
    with _in_the_cache(address) as work:
        archive = os.path.join(work, "archive")
        _download(address, archive)
        digest = _hash_of(archive)
        if expected not in ("", digest):
            raise UserError(
                f"{address} has the SHA-256 hash {digest}, not {expected}; it is "
                "damaged, or another file: download it again, or correct the hash."
            )
        folder = unpack_archive(archive, address)
        write_json(record, {"url": address, "sha256": digest})
    return folder


def unpack_archive(path, title):
    """Unpacks an archive into the cache, unless one of that hash lies there.

    Nothing is written outside the cache, and the folder appears only when it is whole.

    Args:
        path: a tar archive on a disk, compressed or not.
        title: what to call it in messages.

    Returns:
        The folder with its files, a str: where all of them lie in one folder of the
        archive, that one.

    Raises:
        UserError: it is damaged, holds something else than files and folders, would
            write elsewhere or is too large.
    """
    folder = _unpacked_folder(_hash_of(path))
    if os.path.isdir(folder):
        return _root(folder)
    with _in_the_cache(title) as work:
        target = os.path.join(work, "files")
        os.mkdir(target)
        try:
            with tarfile.open(path) as archive:
                _extract(archive, target, title)
        except tarfile.FilterError as error:
            raise UserError(f"{title} is not safe to unpack: {error}.") from error
        except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
            # tarfile lists what each compression says of the file, line by line.
            reason = str(error).partition("\n")[0].rstrip(":")
            raise UserError(
                f"{title} is damaged or not a tar archive: {reason}."
            ) from error
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        # Another process may have been sooner; its files are the same.
        with contextlib.suppress(FileExistsError):
            _rename(target, folder)
    return _root(folder)


def _extract(archive, target, title):
    free = shutil.disk_usage(target).free
    total = 0
    for member in archive:
        if not (member.isreg() or member.isdir()):
            raise UserError(
                f"{title} is not safe to unpack: {member.name} is neither a file nor a "
                "folder."
            )
        total += member.size
        _check_size(total, free, title)
        archive.extract(member, target, filter="data")
    # The check sum of a compressed archive stands at its very end.
    while archive.fileobj.read(_BLOCK):
        pass


def _check_size(size, free, title):
    if size > LARGEST_ARCHIVE:
        raise UserError(
            f"{title} has more than {LARGEST_ARCHIVE / 1e9:g} GB, which no ALBERT has; "
            "unpack it by hand if it is one."
        )
    if size > free:
        raise UserError(
            f"{title} needs {size / 1e9:.2f} GB or more, but {cache_folder()} has room "
            f"for {free / 1e9:.2f} GB; make room, or name another folder with "
            f"{CACHE_VARIABLE}."
        )


def _rename(source, target):
    try:
        os.rename(source, target)
    except OSError:
        if not os.path.isdir(target):
            raise
        raise FileExistsError(target) from None


def _download(url, path):
    name = os.path.basename(urllib.parse.urlsplit(url).path) or url
    try:
        with (
            urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as response,
            open(path, "wb") as file,
        ):
            _copy(response, file, url, name)
    except urllib.error.HTTPError as error:
        raise UserError(
            f"{url} could not be downloaded: {error.code} {error.reason}; check the "
            "address."
        ) from error
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", None) or error
        raise UserError(
            f"{url} could not be downloaded: {_plain(reason)}; check the network, or "
            "download it elsewhere and name the file."
        ) from error


def _copy(response, file, url, name):
    length = response.headers.get("Content-Length")
    length = int(length) if length else None
    free = shutil.disk_usage(os.path.dirname(file.name)).free
    _check_size(length or 0, free, url)
    md5, done = hashlib.md5(usedforsecurity=False), 0
    with Progress(length, "bytes", f"Downloading {name}") as progress:
        while block := response.read(_BLOCK):
            file.write(block)
            md5.update(block)
            done += len(block)
            _check_size(done, LARGEST_ARCHIVE, url)
            progress.update(done)
    if length not in (None, done):
        raise UserError(
            f"{url} broke off after {done:,} of {length:,} bytes; try again."
        )
    # Google's storage: "crc32c=…,md5=…", in base64.
    published = re.search(r"md5=([\w+/=]+)", response.headers.get("x-goog-hash") or "")
    if published and base64.b64decode(published[1]) != md5.digest():
        raise UserError(f"{url} arrived damaged: its MD5 hash differs; try again.")


@contextlib.contextmanager
def _in_the_cache(title):
    """Gives a folder in the cache that is gone afterwards, whatever happens."""
    try:
        os.makedirs(cache_folder(), exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache_folder(), prefix="work-") as work:
            yield work
    except OSError as error:
        raise UserError(
            f"{title} cannot be kept in {cache_folder()}: {_plain(error)}; make room, "
            f"or name another folder with {CACHE_VARIABLE}."
        ) from error


def _plain(error):
    return getattr(error, "strerror", None) or str(error)


def _recorded_hash(record):
    """What the cache noted of an address; None if nothing, or if that is damaged."""
    try:
        known = read_json_object(record)["sha256"] if os.path.isfile(record) else None
    except (KeyError, UserError):
        return None
    return known if isinstance(known, str) and _SHA256.fullmatch(known) else None


def _unpacked_folder(digest):
    return os.path.join(cache_folder(), "archives", digest)


def _hash_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _root(folder):
    """The one folder that holds everything, or `folder` itself."""
    names = os.listdir(folder)
    inner = os.path.join(folder, names[0]) if len(names) == 1 else folder
    return inner if os.path.isdir(inner) else folder
