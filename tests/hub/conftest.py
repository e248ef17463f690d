"""A server on this machine that speaks the protocol of the Hugging Face Hub."""

import base64
import hashlib
import http.server
import io
import json
import re
import tarfile
import threading
import urllib.parse

import pytest

_KIND = r"(?:models|datasets)"
_API = re.compile(rf"/api/{_KIND}/([\w.-]+/[\w.-]+)/(revision|tree)/([^?/]+)")
_CHANGE = re.compile(r"/api/models/([\w.-]+/[\w.-]+)/(preupload|commit)/main")
_FILE = re.compile(r"/(?:datasets/)?([\w.-]+/[\w.-]+)/resolve/([^/]+)/(.+)")


class Hub:
    """Contents of the server, and the requests that it got.

    Attributes:
        repositories: {"owner/name": {revision: {file name: bytes}}}; every revision
            stands for the one commit of that content.
        files: {path: (bytes, headers)} served as they are.
        requests: (method, path) of every request, and `headers` its headers.
        private: names of the repositories that only their owner sees.
        large: names of files whose hash is a SHA-256, as in Git LFS.
    """

    def __init__(self):
        self.repositories, self.files, self.damaged = {}, {}, {}
        self.requests, self.headers = [], []
        self.large, self.private = {"model.safetensors", "spiece.model"}, set()

    def add(self, name, folder, revision="main"):
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        self.repositories.setdefault(name, {})[revision] = files

    def address(self, path):
        """The URL of one of `files`, with its hash."""
        content, _ = self.files.get(path, (b"", {}))
        return f"{self.url}{path}#sha256={hashlib.sha256(content).hexdigest()}"

    def downloads(self):
        """The names of the files that were downloaded, sorted."""
        paths = [path for method, path in self.requests if method == "GET"]
        return sorted(p.rsplit("/", 1)[-1] for p in paths if "/resolve/" in p)

    def content(self, name, revision):
        """The commit and the files of a revision, or the error of the protocol."""
        if name not in self.repositories:
            raise LookupError("GatedRepo" if "gated" in name else "RepoNotFound")
        for known, files in self.repositories[name].items():
            commit = hashlib.sha1(f"{name}@{known}".encode()).hexdigest()
            if revision in (known, commit):
                return commit, files
        raise LookupError("RevisionNotFound")

    def etag(self, name, data):
        if name in self.large:
            return hashlib.sha256(data).hexdigest()
        return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _note(self):
        hub, path = self.server.hub, urllib.parse.unquote(self.path)
        hub.requests.append((self.command, path))
        hub.headers.append(dict(self.headers))
        return hub, path

    def do_GET(self):
        hub, path = self._note()
        try:
            data, headers = self._find(hub, path)
        except LookupError as error:
            self._send(404, b"", {"X-Error-Code": str(error)})
        else:
            self._send(302 if "Location" in headers else 200, data, headers)

    do_HEAD = do_GET

    def do_POST(self):
        """Answers an upload, in which every file lies in the commit itself."""
        hub, path = self._note()
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if self.headers["Authorization"] != "Bearer hf_writes":
            self._send(401, b"{}", {})
            return
        status, answer = 200, {}
        if path == "/api/repos/create":
            status, answer = self._create(hub, json.loads(body))
        elif path == "/api/validate-yaml":
            answer = {"errors": [], "warnings": []}
        else:
            name, action = _CHANGE.fullmatch(path).groups()
            act = {"preupload": self._kinds, "commit": self._commit}[action]
            answer = act(hub, name, body)
        headers = {"Content-Type": "application/json"}
        self._send(status, json.dumps(answer).encode(), headers)

    def _create(self, hub, asked):
        name = f"{asked['organization']}/{asked['name']}"
        answer = {"url": f"{hub.url}/{name}", "name": name, "id": name}
        if name in hub.repositories:
            return 409, answer
        hub.repositories[name] = {"main": {}}
        if asked.get("visibility") == "private" or asked.get("private"):
            hub.private.add(name)
        return 200, answer

    def _kinds(self, hub, name, body):
        kind = {"uploadMode": "regular", "shouldIgnore": False, "oid": None}
        names = [file["path"] for file in json.loads(body)["files"]]
        return {"files": [{"path": name, **kind} for name in names]}

    def _commit(self, hub, name, body):
        files = hub.repositories[name]["main"]
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "deletedFile":
                del files[value["path"]]
        commit, _ = hub.content(name, "main")
        return {"commitUrl": f"{hub.url}/{name}/commit/{commit}", "commitOid": commit}

    def _find(self, hub, path):
        if served := hub.files.get(path.partition("?")[0]):
            return served
        if match := _API.match(path):
            name, kind, revision = match.groups()
            commit, files = hub.content(name, revision)
            answer = {
                "id": name,
                "modelId": name,
                "sha": commit,
                "siblings": [],
                "private": name in hub.private,
            }
            if kind == "tree":
                answer = [self._entry(hub, n, data) for n, data in files.items()]
            return json.dumps(answer).encode(), {"Content-Type": "application/json"}
        if match := _FILE.match(path):
            name, revision, file = match.groups()
            commit, files = hub.content(name, revision)
            if file not in files:
                raise LookupError("EntryNotFound")
            etag = hub.etag(file, files[file])
            headers = {"ETag": f'"{etag}"', "X-Repo-Commit": commit}
            return hub.damaged.get(file, files[file]), headers
        raise LookupError("RepoNotFound")

    def _entry(self, hub, name, data):
        oid = hub.etag(name, data)
        entry = {"type": "file", "path": name, "size": len(data), "oid": oid}
        if name in hub.large:
            entry["lfs"] = {"oid": oid, "size": len(data), "pointerSize": 100}
        return entry

    def _send(self, status, data, headers):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        # Or a client waits for the rest of a file that is shorter than it was told.
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *arguments):
        """Says nothing."""


@pytest.fixture(autouse=True)
def _own_cache(cache):
    """Every test here unpacks into a cache of its own."""


@pytest.fixture
def archive(tmp_path):
    """Makes an archive of members {name: bytes, or a `TarInfo`}."""

    def make(members, name="model.tar.gz"):
        path = tmp_path / name
        with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as tar:
            for member, data in members.items():
                if isinstance(data, tarfile.TarInfo):
                    tar.addfile(data)
                    continue
                info = tarfile.TarInfo(member)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        return path

    return make


@pytest.fixture
def leftovers(cache):
    """Lists the rest of the cache beside whole archives and the list of URLs."""
    whole = ("archives", "urls")
    return lambda: [path for path in cache.glob("*") if path.name not in whole]


@pytest.fixture
def hub(cache, tmp_path, monkeypatch):
    """A running `Hub`; names and URLs lead to it, and all caches lie in `tmp_path`."""
    from huggingface_hub import constants

    from albert_tf.hub import names

    served = Hub()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.hub = served
    served.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", served.url)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub_cache"))
    # The library read them when it was imported.
    monkeypatch.setattr(constants, "ENDPOINT", served.url)
    template = served.url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub_cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    names._repository.cache_clear()
    yield served
    server.shutdown()
    server.server_close()
    names._repository.cache_clear()


@pytest.fixture
def published(hub, material, tmp_path, tiny_config):
    """`hub` with "albert/tiny": the files of a repository, used here or not."""
    from albert_tf.checkpoints.huggingface import save_huggingface
    from albert_tf.models.pretraining import AlbertForPreTraining

    folder = tmp_path / "published"
    folder.mkdir()
    vocabulary = (material / "vocab.model").read_bytes()
    (folder / "spiece.model").write_bytes(vocabulary)
    save_huggingface(AlbertForPreTraining(tiny_config(vocab_size=36)), folder)
    for name in ("pytorch_model.bin", "tf_model.h5", "README.md", "rust_model.ot"):
        (folder / name).write_bytes(b"not needed")
    hub.add("albert/tiny", folder)
    hub.folder = folder
    return hub
