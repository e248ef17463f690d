"""Files by URL: whole, or a sentence on why not."""

import base64
import contextlib
import hashlib
import http.client
import os
import re
import shutil
import urllib.error
import urllib.parse
import urllib.request

from albert_tf.display.progress import Progress
from albert_tf.errors import UserError

_BLOCK = 1 << 20
_TIMEOUT_SECONDS = 30
# No file has more bytes than such a number says.
_LENGTH = re.compile(r"[0-9]{1,18}")


def download(url, path, check_size):
    """Downloads a file.

    Args:
        url: of "http" or "https". Google's storage publishes an MD5 hash, which is
            compared.
        path: where the file goes, on a disk.
        check_size: called with a number of bytes and the room that there is for them;
            raises `UserError` where that is too much.

    Raises:
        UserError: it cannot be downloaded, or arrives in part or damaged.
        OSError: it cannot be written.
    """
    with _told(url):
        response = urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS)
    with response, open(path, "wb") as file:
        said = response.headers.get("Content-Length") or ""
        length = int(said) if _LENGTH.fullmatch(said) else None
        check_size(length or 0, shutil.disk_usage(os.path.dirname(path)).free)
        done, md5 = _copy(response, file, url, length, check_size)
    if length not in (None, done):
        raise UserError(
            f"{url} broke off after {done:,} of {length:,} bytes; try again."
        )
    # "crc32c=…,md5=…", in base64.
    published = re.search(r"md5=([\w+/=]+)", response.headers.get("x-goog-hash") or "")
    if published and published[1] != base64.b64encode(md5.digest()).decode():
        raise UserError(f"{url} arrived damaged: its MD5 hash differs; try again.")


def _copy(response, file, url, length, check_size):
    """Copies a response to a file; returns the number of bytes, and their MD5."""
    name = os.path.basename(urllib.parse.urlsplit(url).path) or url
    md5, done = hashlib.md5(usedforsecurity=False), 0
    with Progress(length, "bytes", f"Downloading {name}") as progress:
        while True:
            with _told(url):
                block = response.read(_BLOCK)
            if not block:
                return done, md5
            file.write(block)
            md5.update(block)
            done += len(block)
            check_size(done, None)
            progress.update(done)


@contextlib.contextmanager
def _told(url):
    """Turns errors of the network, the server or the URL into one sentence."""
    try:
        yield
    except urllib.error.HTTPError as error:
        error.close()
        raise UserError(
            f"{url} could not be downloaded: {error.code} {_first_line(error.reason)}; "
            "check the address."
        ) from error
    except http.client.IncompleteRead as error:
        raise UserError(f"{url} broke off in the middle; try again.") from error
    except (ValueError, http.client.InvalidURL) as error:
        raise UserError(
            f"{url} is no address of a file: {_first_line(error)}; check it."
        ) from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        said = getattr(reason, "strerror", None) or _first_line(reason)
        raise UserError(
            f"{url} could not be downloaded: {said or type(error).__name__}; check the "
            "network, or download it elsewhere and name the file."
        ) from error


def _first_line(reason):
    """Returns the first line of another program's message, or "" without one."""
    return next(iter(str(reason).strip().splitlines()), "").rstrip(".:")
