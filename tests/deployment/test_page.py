"""The page in a real browser: model, text side and runtime, and what it says beside what hashbench predicts."""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import threading
import time
from pathlib import Path

import pytest

import hashbench
from hashbench.common.errors import InputError
from hashbench.data.sources.fingerprints import usable_cache_folder
from hashbench.deployment.forms import Wishes, deploy
from hashbench.deployment.page import runtime_files
from tests.browser import Browser, find_chromium
from tests.exported import exported_folder

pytestmark = pytest.mark.services
PATIENCE_S = 120.0
TEXTS = ["a gripping film", "", "Don't STOP!!! 東京 😀 naïve", "ΟΔΟΣ " * 30]


class Files(http.server.SimpleHTTPRequestHandler):
    """Hands out files, and says nothing."""

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing."""


@pytest.fixture
def served(tmp_path: Path):
    """A function from a folder to its address."""
    servers = []

    def serve(folder: Path) -> str:
        handler = functools.partial(Files, directory=str(folder))
        servers.append(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}/"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(("model", "int8"), [("hashformer-md-proj", False), ("sgnn", True)])
def test_the_page_classifies_what_one_types(tmp_path: Path, served, model: str, int8: bool) -> None:
    chromium = find_chromium()
    if chromium is None or shutil.which("npm") is None:
        pytest.skip("Chromium or npm is not installed")
    for package in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    try:
        runtime_files(usable_cache_folder() / "npm")
    except InputError as error:
        pytest.skip(str(error))
    folder = exported_folder(model, tmp_path / "out", small=True)
    deploy(folder, Wishes(onnx=True, int8=int8, page=True), None, lambda message: None)
    predictor = hashbench.load(folder)
    with Browser(chromium) as browser:
        browser.call("Page.navigate", url=served(folder / "onnx"))
        until = time.monotonic() + PATIENCE_S
        while browser.run("document.getElementById('state')?.textContent ?? ''") != "ready":
            assert time.monotonic() < until, browser.said()
            time.sleep(0.2)
        for text in TEXTS:
            found = browser.run(f"classify({json.dumps(text)})")
            assert found == pytest.approx(predictor.probabilities(text), abs=0.02 if int8 else 1e-4)
        browser.run("document.getElementById('text').focus()")
        browser.call("Input.insertText", text="a film")
        while browser.run("document.querySelectorAll('#classes tr').length") != 2:
            assert time.monotonic() < until, browser.said()
            time.sleep(0.1)
        assert browser.said() == []
        assert all(url.startswith(("http://127.0.0.1", "data:", "blob:")) for url in browser.requests())
