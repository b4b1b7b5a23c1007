"""A stand-in for the Hugging Face hub: `python tests/hub/server.py` serves the data sets of layouts.py on loopback.

It prints its address and answers what the packages `huggingface_hub` and `datasets` ask of data sets: the newest commit
(/api/datasets/R), a commit (/api/datasets/R/revision/REV), the tree in pages (/api/datasets/R/tree/REV), paths
(/api/datasets/R/paths-info/REV) and files (/datasets/R/resolve/REV/PATH). Large files are redirected, as the hub does.
It takes models from whoever has the token `right`, each file in the commit itself, and serves them in the same way.

POST /_faults {"kind": ..., "path": ..., "times": ...} makes the next `times` requests whose path contains `path` fail:
`reset` closes the connection, `half` sends half of the file and closes, `429`, `503` and `404` answer so. GET /_asked
lists what was asked since the last GET.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import struct
import sys
import threading
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.hub.layouts import MAIN, Repository, repositories  # noqa: E402
from tests.hub.others import others  # noqa: E402

PAGE = 4  # entries of a tree; the hub has 1,000
LARGE = (".parquet", ".safetensors")  # redirected, as files in the hub's large storage are
REPOSITORY = r"(?P<name>[^/]+/[^/]+)"
WHAT = "revision|tree|paths-info|preupload|commit"
API = re.compile(rf"/api/(?:datasets|models)/{REPOSITORY}(?:/(?P<what>{WHAT})/(?P<revision>[^/]+)(?P<path>.*))?")
RESOLVE = re.compile(rf"(?:/datasets)?/{REPOSITORY}/resolve/(?P<revision>[^/]+)/(?P<path>.+)")
ACCOUNT = re.compile(r"/api/(?P<what>whoami-v2|repos/create|validate-yaml)")
STORAGE = re.compile(rf"/_storage/{REPOSITORY}/(?P<revision>[^/]+)/(?P<path>.+)")


@dataclass
class Fault:
    """What to do wrong, where, and how often still."""

    kind: str
    path: str
    times: int


class Hub(ThreadingHTTPServer):
    """The data sets, and what was asked."""

    daemon_threads = True

    def __init__(self, data_sets: Mapping[str, Repository]) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.repositories = dict(data_sets)  # by name; models are added
        self.faults: list[Fault] = []
        self.asked: list[str] = []
        self.lock = threading.Lock()

    def fault(self, path: str) -> str | None:
        """The kind of fault that this request meets."""
        with self.lock:
            for fault in self.faults:
                if fault.times > 0 and fault.path in path:
                    fault.times -= 1
                    return fault.kind
        return None


class Answers(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    server: Hub

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: what was asked is told at /_asked."""

    def do_HEAD(self) -> None:
        """A file's headers."""
        self.answer()

    def do_GET(self) -> None:
        """A file, or an answer of the API."""
        self.answer()

    def do_POST(self) -> None:
        """Paths-info, what an upload asks, and the stand-in's own /_faults."""
        self.answer()

    def answer(self) -> None:
        """Sends the answer to a request, or the fault that it meets."""
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if url.path == "/_faults":
            self.server.faults = [Fault(**json.loads(body))] if body else []
            return self.send_json({})
        if url.path == "/_asked":
            asked, self.server.asked = self.server.asked, []
            return self.send_json(asked)
        self.server.asked.append(f"{self.command} {self.path} {self.headers.get('Range', '')}".rstrip())
        kind = self.server.fault(unquote(self.path))
        if kind == "reset":
            return self.reset()
        if kind is not None and kind != "half":
            headers = {"RateLimit": '"api";r=0;t=1'} if kind == "429" else {}
            return self.send_error_code(int(kind), {"404": "EntryNotFound"}.get(kind), headers=headers)
        for pattern, send in (
            (ACCOUNT, self.account),
            (API, self.api),
            (STORAGE, self.storage),
            (RESOLVE, self.resolve),
        ):
            if match := pattern.fullmatch(url.path):
                parts = {key: unquote(value or "") for key, value in match.groupdict().items()}
                return send(parts, body.decode(), half=kind == "half")
        self.send_error_code(404, None)

    def api(self, parts: Mapping[str, str], body: str, *, half: bool) -> None:
        """An answer in JSON."""
        found = self.found(parts)
        if found is None:
            return
        repository, commit = found
        files, path = repository.commits[commit], parts["path"].strip("/")
        if parts["what"] in ("preupload", "commit"):
            return self.upload(parts, repository, body)
        if parts["what"] == "tree":
            return self.tree(repository, commit, path)
        if parts["what"] == "paths-info":
            asked = parse_qs(body)["paths"]
            entries = [entry for each in asked for entry in listing(files, each) if entry["path"] == each]
            return self.send_json(entries)
        siblings = [{"rfilename": name} for name in files]
        card = {"cardData": {"license": repository.licence}} if repository.licence and "README.md" in files else {}
        answer = {
            "_id": commit,
            "id": parts["name"],
            "sha": commit,
            "private": False,
            "gated": False,
            "disabled": False,
        }
        self.send_json({**answer, "downloads": 0, "likes": 0, "tags": [], "siblings": siblings, **card})

    def account(self, parts: Mapping[str, str], body: str, *, half: bool) -> None:
        """Whose token it is; a new repository; what is wrong with a model card: nothing."""
        if self.headers.get("Authorization") != "Bearer right":
            return self.send_error_code(401, None, "Invalid username or password.")
        if parts["what"] == "repos/create":
            asked = json.loads(body)
            name = f"{asked['organization']}/{asked['name']}"
            self.server.repositories.setdefault(name, Repository({MAIN: "0" * 40}, {"0" * 40: {}}))
            return self.send_json({"url": f"{self.base()}/{name}"})
        self.send_json({"name": "me", "type": "user", "orgs": [], "errors": [], "warnings": []})

    def upload(self, parts: Mapping[str, str], repository: Repository, body: str) -> None:
        """How the files of an upload are to be sent, or the commit that has them."""
        if self.headers.get("Authorization") != "Bearer right":
            return self.send_error_code(401, None, "Invalid username or password.")
        if parts["what"] == "preupload":
            files = [{**each, "uploadMode": "regular", "shouldIgnore": False} for each in json.loads(body)["files"]]
            return self.send_json({"files": files})
        lines = [json.loads(line) for line in body.splitlines()]
        sent = {line["value"]["path"]: b64decode(line["value"]["content"]) for line in lines if line["key"] == "file"}
        before = repository.commits[repository.branches[MAIN]]
        made = {**before, **{path: partial(bytes, content) for path, content in sent.items()}}
        commit = hashlib.sha1(body.encode()).hexdigest()
        new = Repository({MAIN: commit}, {**repository.commits, commit: made})
        self.server.repositories[parts["name"]] = new
        self.send_json({"commitUrl": f"{self.base()}/{parts['name']}/commit/{commit}", "commitOid": commit})

    def tree(self, repository: Repository, commit: str, path: str) -> None:
        """Entries below a folder, PAGE at a time, the next page in a header."""
        query = parse_qs(urlsplit(self.path).query)
        recursive = query.get("recursive", ["false"])[0].lower() == "true"
        entries = [
            entry
            for entry in listing(repository.commits[commit], path)
            if recursive or "/" not in entry["path"].removeprefix(f"{path}/" if path else "")
        ]
        if path and not entries:
            return self.send_error_code(404, "EntryNotFound")
        begin = int(query.get("cursor", ["0"])[0])
        headers = {}
        if begin + PAGE < len(entries):
            rest = re.sub(r"&?cursor=\d+", "", self.path)
            joint = "&" if "?" in rest else "?"
            headers["Link"] = f'<{self.base()}{rest}{joint}cursor={begin + PAGE}>; rel="next"'
        self.send_json(entries[begin : begin + PAGE], headers)

    def resolve(self, parts: Mapping[str, str], body: str, *, half: bool) -> None:
        """A file, or where it is stored."""
        found = self.found(parts)
        if found is None:
            return
        repository, commit = found
        if parts["path"] not in repository.commits[commit]:
            return self.send_error_code(404, "EntryNotFound", headers={"X-Repo-Commit": commit})
        content = repository.commits[commit][parts["path"]]()
        headers = {"X-Repo-Commit": commit, "ETag": f'"{hashlib.sha1(content).hexdigest()}"', "Accept-Ranges": "bytes"}
        if not parts["path"].endswith(LARGE):
            return self.send_file(content, headers, half=half)
        # A redirect to another host, which the client follows for the content alone
        headers |= {"X-Linked-ETag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Linked-Size": str(len(content))}
        place = f"{self.base().replace('127.0.0.1', 'localhost')}/_storage/{parts['name']}/{commit}/{parts['path']}"
        self.send(302, b"", {**headers, "Location": place})

    def storage(self, parts: Mapping[str, str], body: str, *, half: bool) -> None:
        """The content of a large file."""
        content = self.server.repositories[parts["name"]].commits[parts["revision"]][parts["path"]]()
        headers = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "Accept-Ranges": "bytes"}
        self.send_file(content, headers, half=half)

    def found(self, parts: Mapping[str, str]) -> tuple[Repository, str] | None:
        """The data set and the commit that are asked for; else None, and the answer is sent."""
        repository = self.server.repositories.get(parts["name"])
        if repository is None:  # 401 for those who did not log in, whether it is private or not there
            self.send_error_code(401, "RepoNotFound", "Invalid username or password.")
        elif repository.moved_to:
            self.send(307, b"", {"Location": self.path.replace(parts["name"], repository.moved_to)})
        elif repository.gated and self.path.startswith("/datasets/"):  # what is in it can be seen by anyone
            self.send_error_code(401, "GatedRepo", "Access to this dataset is restricted.")
        elif (commit := repository.commit(parts["revision"] or MAIN)) is None:
            self.send_error_code(404, "RevisionNotFound", f"Invalid rev id: {parts['revision']}")
        else:
            return repository, commit
        return None

    def send_file(self, content: bytes, headers: Mapping[str, str], *, half: bool) -> None:
        """A file, or the range of it that was asked for; or half of that, and the connection ends."""
        status, chosen = 200, content
        if match := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            begin = int(match[1])
            end = min(int(match[2]) if match[2] else len(content) - 1, len(content) - 1)
            if begin >= len(content):
                return self.send(416, b"", {"Content-Range": f"bytes */{len(content)}"})
            status, chosen = 206, content[begin : end + 1]
            headers = {**headers, "Content-Range": f"bytes {begin}-{end}/{len(content)}"}
        self.send(status, chosen, headers, half=half)

    def send_json(self, answer: object, headers: Mapping[str, str] | None = None) -> None:
        """An answer of the API."""
        self.send(200, json.dumps(answer).encode(), {"Content-Type": "application/json", **(headers or {})})

    def send_error_code(
        self, status: int, code: str | None, message: str = "refused", headers: Mapping[str, str] | None = None
    ) -> None:
        """An error in the hub's words."""
        named = {"X-Error-Code": code} if code else {}
        content = json.dumps({"error": message}).encode()
        self.send(status, content, {"X-Error-Message": message, **named, **(headers or {})})

    def send(self, status: int, content: bytes, headers: Mapping[str, str], *, half: bool = False) -> None:
        """Status, headers and content; a HEAD gets no content."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(content[: len(content) // 2] if half else content)
        if half:
            self.close_connection = True

    def reset(self) -> None:
        """Ends the connection so that the other side gets "connection reset by peer"."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def base(self) -> str:
        """The address of this server."""
        return f"http://127.0.0.1:{self.server.server_address[1]}"


def listing(files: Mapping[str, object], folder: str) -> list[dict[str, object]]:
    """Files and folders below a folder, as the hub's tree lists them."""
    inside = sorted(path for path in files if not folder or path == folder or path.startswith(f"{folder}/"))
    depth = folder.count("/") + 1 if folder else 0
    folders = {"/".join(path.split("/")[:n]) for path in inside for n in range(depth + 1, path.count("/") + 1)}
    entries: list[dict[str, object]] = [{"type": "directory", "oid": name, "size": 0, "path": name} for name in folders]
    for path in inside:
        content = files[path]()  # type: ignore[operator]
        entry: dict[str, object] = {"type": "file", "path": path, "size": len(content)}
        entry["oid"] = hashlib.sha1(content).hexdigest()
        if path.endswith(LARGE):
            checksum = hashlib.sha256(content).hexdigest()
            entry["lfs"] = {"oid": checksum, "size": len(content), "pointerSize": 134}
        entries.append(entry)
    return sorted(entries, key=lambda entry: str(entry["path"]))


if __name__ == "__main__":
    hub = Hub({**repositories(), **others()})
    print(f"http://127.0.0.1:{hub.server_address[1]}", flush=True)
    hub.serve_forever()
