"""Downloads of files, which arrive whole or fail with one sentence."""

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

UNENCRYPTED = "http://"
_OF_THE_WEB = re.compile("(?:f|ht)tps?://", re.IGNORECASE)
_BLOCK = 1_048_576  # bytes
_TIMEOUT_SECONDS = 30
# Longer numbers are no size of a file.
_LENGTH = re.compile(r"[0-9]{1,18}")


def shown(url):
    """Returns a URL without password and query, for messages and records.

    Paths and names in buckets are returned unchanged.
    """
    for secret, instead in _secrets(url):
        url = url.replace(secret, instead, 1)
    return url


def _secrets(url):
    """Lists the secret parts of a URL, each with the text to show in its place."""
    address, question, query = url.partition("?")
    host = address.partition("://")[2].partition("/")[0]
    user, at, _ = host.rpartition("@")
    if not _OF_THE_WEB.match(url):
        return []
    return [(f"{user}{at}", ""), (f"{question}{query}", "?…" if question else "")]


def unencrypted(title):
    """Returns the `UserError` for an "http" address without a hash."""
    return UserError(
        f"{title} is not encrypted, so that anyone on the way could send another file; "
        "write https://, or add #sha256= and the SHA-256 of the right file."
    )


class _Redirected(urllib.request.HTTPRedirectHandler):
    """Follows redirections, but not to unencrypted addresses."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if urllib.parse.urlsplit(newurl).scheme != "https":
            fp.close()
            raise unencrypted(shown(newurl))
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opened(url, is_checked):
    """Opens a URL; sends its user and password only to its own host."""
    parts = urllib.parse.urlsplit(url)
    user, sign, host = parts.netloc.rpartition("@")
    request = urllib.request.Request(parts._replace(netloc=host).geturl())
    if sign:
        user = urllib.parse.unquote(user).encode()
        basic = f"Basic {base64.b64encode(user).decode()}"
        request.add_unredirected_header("Authorization", basic)
    handlers = [] if is_checked else [_Redirected]
    opener = urllib.request.build_opener(*handlers)
    return opener.open(request, timeout=_TIMEOUT_SECONDS)


def download(url, path, check_size, is_checked):
    """Downloads a file.

    Args:
        url: an "http" or "https" address. The MD5 hash that Google's storage publishes
            is checked.
        path: the new file, on a disk.
        check_size: called with the number of bytes and the free space on the disk
            (None for unknown); raises a `UserError` if the file is too large.
        is_checked: whether the caller compares the file's hash. If not, a redirection
            to an unencrypted address is refused.

    Raises:
        UserError: the file cannot be downloaded, or arrives incomplete or damaged.
        OSError: the file cannot be written.
    """
    title = shown(url)
    with _told(url):
        response = _opened(url, is_checked)
    with response, open(path, "wb") as file:
        said = response.headers.get("Content-Length") or ""
        length = int(said) if _LENGTH.fullmatch(said) else None
        check_size(length or 0, shutil.disk_usage(os.path.dirname(path)).free)
        done, md5 = _copy(response, file, url, length, check_size)
    if length not in (None, done):
        raise UserError(
            f"{title} broke off after {done:,} of {length:,} bytes; try again."
        )
    # "crc32c=…,md5=…", in base64.
    published = re.search(r"md5=([\w+/=]+)", response.headers.get("x-goog-hash") or "")
    if published and published[1] != base64.b64encode(md5.digest()).decode():
        raise UserError(f"{title} arrived damaged: its MD5 hash differs; try again.")


def _copy(response, file, url, length, check_size):
    """Copies a response to a file; returns the number of bytes, and their MD5."""
    name = os.path.basename(urllib.parse.urlsplit(url).path) or shown(url)
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
    """Turns errors of network, server or URL into one sentence."""
    try:
        yield
    except UserError:
        raise
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = error
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        elif isinstance(error, urllib.error.URLError):
            reason = error.reason
        said = getattr(reason, "strerror", None) or str(reason).strip()
        said = said.partition("\n")[0].strip(" .:\r") or type(reason).__name__
        for secret, _ in _secrets(url):
            for part in filter(None, (secret, secret.strip("?@"))):
                said = said.replace(part, "…")
        raise UserError(
            f"{shown(url)} could not be downloaded: {said}; check the address and the "
            "network, or download it elsewhere and name the file."
        ) from error
