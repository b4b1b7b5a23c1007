"""A stand-in for a W&B server on loopback: it takes what the client sends and answers as far as the client asks.

It knows the calls that wandb 0.31 makes for a run (its facts, history, summary, files, tables as artifacts) and for a
workspace and a report. What it cannot be is W&B itself: it draws no chart, and that the real server accepts the spec
of a view is not shown by it.
"""

from __future__ import annotations

import gzip
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "k" * 40
ENTITY = "someone"


@dataclass
class SentRun:
    """What a server knows of one run."""

    project: str = ""
    facts: dict[str, Any] = field(default_factory=dict)  # groupName, displayName, jobType, tags
    config: dict[str, Any] = field(default_factory=dict)
    history: dict[int, dict[str, Any]] = field(default_factory=dict)  # line -> row
    summary: dict[str, Any] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    complete: bool = False
    exit_code: int | None = None


@dataclass
class WandbStandIn:
    """The state of the server. `refuse_after` and `silent_after`: so many complete runs later it does so."""

    runs: dict[str, SentRun] = field(default_factory=dict)
    views: dict[str, dict[str, Any]] = field(default_factory=dict)
    artifacts: dict[str, bool] = field(default_factory=dict)  # by id: whether it is committed
    asked: list[str] = field(default_factory=list)  # GraphQL fields and paths, in order
    refuse_after: int | None = None
    silent_after: int | None = None
    ended: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    address: str = ""

    def n_complete(self) -> int:
        return sum(run.complete for run in self.runs.values())

    def answer(self, query: str, values: dict[str, Any]) -> dict[str, Any]:
        """The data of a GraphQL call."""
        name = re.search(r"\{\s*(\w+)", query)
        asked = name[1] if name else ""
        self.asked.append(asked)
        handler = getattr(self, f"_{asked}", None)
        return {asked: handler(values, query)} if handler else {}

    def _viewer(self, values: dict[str, Any], query: str) -> dict[str, Any]:
        teams = {"edges": [{"node": {"name": ENTITY}}]}
        return {"id": "V", "entity": ENTITY, "username": ENTITY, "email": "", "flags": "{}", "teams": teams}

    def _serverInfo(self, values: dict[str, Any], query: str) -> dict[str, Any]:
        return {"features": [], "cliVersionInfo": {"max_cli_version": "1"}, "latestLocalVersionInfo": None}

    def _upsertBucket(self, values: dict[str, Any], query: str) -> dict[str, Any]:
        run = self.runs.setdefault(values["name"], SentRun())
        run.project = values["project"]
        names = ("groupName", "displayName", "jobType", "tags")
        run.facts |= {name: values[name] for name in names if values.get(name) is not None}
        if values.get("config"):
            run.config |= {name: value["value"] for name, value in json.loads(values["config"]).items()}
        project = {"id": "P", "name": values["project"], "entity": {"id": "E", "name": values["entity"]}}
        bucket = {"id": values["name"], "name": values["name"], "displayName": values["displayName"] or ""}
        nothing = {"description": None, "config": None, "sweepName": None, "historyLineCount": 0}
        return {"bucket": bucket | nothing | {"project": project}, "inserted": True}

    def _createRunFiles(self, values: dict[str, Any], query: str) -> dict[str, Any]:
        files = [{"name": name, "uploadUrl": self._storage(values["run"], name)} for name in values["files"]]
        return {"runID": values["run"], "uploadHeaders": [], "files": files}

    def _createArtifact(self, values: dict[str, Any], query: str) -> dict[str, Any]:
        name = values["input"]["artifactCollectionName"]
        self.artifacts.setdefault(name, False)
        return {"artifact": {"id": name, "state": "PENDING", "artifactSequence": {"latestArtifact": None}}}

    def _createArtifactFiles(self, values: dict[str, Any], query: str) -> dict[str, Any]:
        edges = []
        for file in values["input"]["artifactFiles"]:
            url = self._storage(file["artifactID"], file["name"])
            node = {"storagePath": file["name"], "uploadUrl": url, "uploadHeaders": [], "uploadMultipartUrls": None}
            edges.append({"node": node | {"artifact": {"id": file["artifactID"]}}})
        return {"files": {"edges": edges}}

    def _createArtifactManifest(self, values: dict[str, Any], query: str) -> dict[str, Any]:
        url = self._storage(values["artifactID"], "manifest")
        return {"artifactManifest": {"id": "M", "file": {"id": "F", "uploadUrl": url, "uploadHeaders": []}}}

    def _commitArtifact(self, values: dict[str, Any], query: str) -> dict[str, Any]:
        self.artifacts[values["artifactID"]] = True
        return {"artifact": {"id": values["artifactID"], "digest": "x"}}

    def _project(self, values: dict[str, Any], query: str) -> dict[str, Any]:
        kind, name = values.get("viewType") or "runs", values.get("viewName")  # the query's own default
        known = [view for view in self.views.values() if view["type"] == kind and name in (None, view["name"])]
        views = {"edges": [{"node": view, "cursor": ""} for view in known], "pageInfo": NO_MORE}
        return {"id": "P", "internalId": "P", "name": values.get("name"), "allViews": views}

    def _models(self, values: dict[str, Any], query: str) -> dict[str, Any]:
        """The projects of an entity."""
        facts = {"entityName": ENTITY, "createdAt": "2026-11-01T00:00:00", "isBenchmark": False, "user": None}
        projects = sorted({run.project for run in self.runs.values()})
        edges = [{"node": {"id": name, "name": name} | facts} for name in projects]
        return {"pageInfo": NO_MORE, "edges": edges}

    def _upsertView(self, values: dict[str, Any], query: str) -> dict[str, Any]:
        key = values.get("id") or f"view{len(self.views)}"
        kept = {name: values.get(name) for name in ("name", "displayName", "description", "type", "spec")}
        facts = {"id": key, "user": {"id": "U", "username": ENTITY}, "updatedAt": "2026-11-01T00:00:00"}
        new = key not in self.views
        kept["name"] = kept["name"] or key
        kept["type"] = kept["type"] or ("runs" if "runs" in query else "project-view")
        self.views[key] = self.views.get(key, {}) | {k: v for k, v in kept.items() if v is not None} | facts
        return {"view": self.views[key], "inserted": new}

    def _storage(self, owner: str, name: str) -> str:
        return f"{self.address}/storage/{owner}/{name}"

    def stored(self, path: str, body: bytes) -> None:
        """A file of a run; those of artifacts hold the same tables once more."""
        owner, _, name = path.removeprefix("/storage/").partition("/")
        if owner in self.runs:
            self.runs[owner].files[name] = body

    def streamed(self, path: str, sent: dict[str, Any]) -> None:
        """A piece of a run's stream: /files/ENTITY/PROJECT/RUN/file_stream."""
        run = self.runs[path.split("/")[4]]
        for name, piece in sent.get("files", {}).items():
            if name == "wandb-history.jsonl":
                lines = enumerate(piece["content"], piece["offset"])
                run.history |= {number: json.loads(line) for number, line in lines}
            elif name == "wandb-summary.json":
                run.summary = json.loads(piece["content"][-1])
        if sent.get("complete"):
            run.complete, run.exit_code = True, sent.get("exitcode")


NO_MORE = {"endCursor": None, "hasNextPage": False}


class WandbHandler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    state: WandbStandIn

    def do_POST(self) -> None:
        body = self._body()
        state = self.state
        if state.silent_after is not None and state.n_complete() >= state.silent_after:
            state.ended.wait(120)
            self.close_connection = True
            return
        refused = state.refuse_after is not None and state.n_complete() >= state.refuse_after
        if refused and not self.path.startswith("/sdk"):
            self._reply({"errors": [{"message": "permission denied"}]}, 401)
            return
        with state.lock:
            if self.path == "/graphql":
                asked = json.loads(body)
                self._reply({"data": state.answer(asked["query"], asked.get("variables") or {})})
                return
            state.asked.append(self.path)
            if self.path.endswith("/file_stream"):
                state.streamed(self.path, json.loads(body))
        self._reply({})

    def do_PUT(self) -> None:
        body = self._body()
        with self.state.lock:
            self.state.stored(self.path, body)
        self._reply({})

    def do_GET(self) -> None:
        self._reply({})

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while length := int(self.rfile.readline(), 16):
                body += self.rfile.read(length)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body

    def _reply(self, content: dict[str, Any], code: int = 200) -> None:
        data = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: object) -> None:
        """Says nothing."""


class QuietServer(ThreadingHTTPServer):
    """Clients that are killed break their connections."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Says nothing."""


@contextmanager
def wandb_stand_in() -> Iterator[WandbStandIn]:
    """A server on a free port, for as long as the block lasts."""
    state = WandbStandIn()
    handler = type("Handler", (WandbHandler,), {"state": state})
    server = QuietServer(("127.0.0.1", 0), handler)
    state.address = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield state
    finally:
        state.ended.set()
        server.shutdown()
        server.server_close()
