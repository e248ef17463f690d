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

UNENCRYPTED = "http://"
_OF_THE_WEB = re.compile("(?:f|ht)tps?://", re.IGNORECASE)
_BLOCK = 1 << 20
_TIMEOUT_SECONDS = 30
# No file has more bytes than such a number says.
_LENGTH = re.compile(r"[0-9]{1,18}")


def shown(url):
    """Returns a URL for messages and records: without a password and without a query.

    A path stays as it is, and so does a name in a bucket.
    """
    for secret, instead in _secrets(url):
        url = url.replace(secret, instead, 1)
    return url


def _secrets(url):
    """Lists what a URL may hold that is not for all to see, and what stands for it."""
    address, question, query = url.partition("?")
    host = address.partition("://")[2].partition("/")[0]
    user, at, _ = host.rpartition("@")
    if not _OF_THE_WEB.match(url):
        return []
    return [(f"{user}{at}", ""), (f"{question}{query}", "?…" if question else "")]


def unencrypted(title):
    """Returns the `UserError` of an address of "http" without a hash."""
    return UserError(
        f"{title} is not encrypted, so that anyone on the way could send another file; "
        "write https://, or add #sha256= and the SHA-256 of the right file."
    )


class _Redirected(urllib.request.HTTPRedirectHandler):
    """Follows a server to other addresses, but not to unencrypted ones."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if urllib.parse.urlsplit(newurl).scheme != "https":
            fp.close()
            raise unencrypted(shown(newurl))
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opened(url, is_checked):
    """Opens a URL; a user and a password in it go to its own host alone."""
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
        url: of "http" or "https". Google's storage publishes an MD5 hash, which is
            compared.
        path: where the file goes, on a disk.
        check_size: called with a number of bytes and the room that there is for them;
            raises `UserError` where that is too much.
        is_checked: whether the caller knows the file's hash. If not, no server is
            followed to an unencrypted address.

    Raises:
        UserError: it cannot be downloaded, or arrives in part or damaged.
        OSError: it cannot be written.
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
    """Turns errors of the network, the server or the URL into one sentence."""
    title = shown(url)
    try:
        yield
    except UserError:
        raise
    except urllib.error.HTTPError as error:
        error.close()
        raise UserError(
            f"{title} could not be downloaded: {error.code} "
            f"{_first_line(error.reason)}; check the address."
        ) from error
    except http.client.IncompleteRead as error:
        raise UserError(f"{title} broke off in the middle; try again.") from error
    except (ValueError, http.client.InvalidURL) as error:
        raise UserError(
            f"{title} is no address of a file: {_without_secrets(error, url)}; check "
            "it."
        ) from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        said = getattr(reason, "strerror", None) or _first_line(reason)
        raise UserError(
            f"{title} could not be downloaded: {said or type(error).__name__}; check "
            "the network, or download it elsewhere and name the file."
        ) from error


def _without_secrets(error, url):
    said = _first_line(error)
    for secret, _ in _secrets(url):
        for part in filter(None, (secret, secret.strip("?@"))):
            said = said.replace(part, "…")
    return said


def _first_line(reason):
    """Returns the first line of another program's message, or "" without one."""
    return next(iter(str(reason).strip().splitlines()), "").rstrip(".:")
