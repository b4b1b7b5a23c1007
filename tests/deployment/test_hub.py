"""An upload against a stand-in for the hub on loopback: what arrives is the folder."""

from __future__ import annotations

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.deployment.writing import push

pytestmark = pytest.mark.services


class Uploads(BaseHTTPRequestHandler):
    """The four questions of an upload: who, the repository, how files travel, the commit."""

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        self.answer(200, {"id": "me/model", "sha": "0" * 40, "siblings": [], "name": "me", "type": "user", "orgs": []})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Authorization") != "Bearer right":
            return self.answer(401, {"error": "Invalid username or password."})
        if self.path == "/api/repos/create":
            asked = json.loads(body)
            return self.answer(200, {"url": f"http://{self.headers['Host']}/{asked['organization']}/{asked['name']}"})
        if self.path == "/api/validate-yaml":  # of a model card
            return self.answer(200, {"errors": [], "warnings": []})
        if "/preupload/" in self.path:
            files = [{"path": each["path"], "uploadMode": "regular"} for each in json.loads(body)["files"]]
            return self.answer(200, {"files": [{**each, "shouldIgnore": False} for each in files]})
        for line in map(json.loads, body.splitlines()):
            if line["key"] == "file":
                self.server.files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
        self.answer(
            200, {"commitUrl": f"http://{self.headers['Host']}/me/model/commit/{'ab' * 20}", "commitOid": "ab" * 20}
        )

    def answer(self, status: int, value: object) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Uploads)
    server.files = {}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
    monkeypatch.setattr("huggingface_hub.hf_api.ENDPOINT", address, raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    yield server
    server.shutdown()
    server.server_close()


def test_what_arrives_is_the_folder(hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "right")
    folder = tmp_path / "out"
    (folder / "onnx").mkdir(parents=True)
    contents = {"README.md": b"# a card\n", "onnx/model.onnx": b"\0\1graph", "config.json": b"{}"}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    assert push(folder, "me/model").endswith("me/model: commit abababab")
    assert hub.files == contents


def test_a_refusal_is_one_line(hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "wrong")
    (tmp_path / "a").write_text("a")
    with pytest.raises(
        InputError, match="--push-to-hub me/model: not uploaded .*; log in with hf auth login"
    ) as refused:
        push(tmp_path, "me/model")
    assert "\n" not in str(refused.value) and hub.files == {}


def test_a_hub_out_of_reach_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "right")
    for place in ("constants", "hf_api"):
        monkeypatch.setattr(f"huggingface_hub.{place}.ENDPOINT", "http://127.0.0.1:9", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with pytest.raises(InputError, match="--push-to-hub me/model: not uploaded .*and check the name and the network$"):
        push(tmp_path, "me/model")
