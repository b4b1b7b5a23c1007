"""The shared folder on an S3 server of this machine, which refuses or breaks off a share of its answers."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hashbench.common.checksums import is_listed, sealed_write
from hashbench.common.errors import InputError
from hashbench.common.shared import SharedFolder, make_once

pytestmark = pytest.mark.services
boto3 = pytest.importorskip("boto3", reason="moto[s3] is not installed")
pytest.importorskip("s3fs", reason="the s3 extra is not installed")
moto_server = pytest.importorskip("moto.server", reason="moto[s3] and flask are not installed")
SIZE = 12_000_000  # more than one part of an upload
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class Unreliable:
    """A server that answers a share of the requests with 503, and breaks off a share of what it sends."""

    def __init__(self, application: Application) -> None:
        self.application, self.random = application, random.Random(0)
        self.refused = self.broken_off = 0.0  # shares
        self.failures = 0

    def __call__(self, request: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if self.random.random() < self.refused:
            self.failures += 1
            start("503 Slow Down", [("Content-Length", "0")])
            return [b""]
        if request["REQUEST_METHOD"] == "GET" and self.random.random() < self.broken_off:
            self.failures += 1
            return self._half(self.application(request, start))
        return self.application(request, start)

    def _half(self, answer: Iterable[bytes]) -> Iterator[bytes]:
        content = b"".join(answer)
        yield content[: len(content) // 2]
        raise ConnectionResetError("broken off")


@pytest.fixture(scope="module")
def server() -> Iterator[Unreliable]:
    from werkzeug.serving import make_server

    application = Unreliable(moto_server.DomainDispatcherApplication(moto_server.create_backend_app))
    running = make_server("127.0.0.1", 0, application, threaded=True)
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{running.server_port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "testing")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        boto3.client("s3").create_bucket(Bucket="papers")
        yield application
    running.shutdown()
    thread.join()


@pytest.fixture
def machines(server: Unreliable, tmp_path: Path) -> Iterator[tuple[SharedFolder, SharedFolder]]:
    first, second = (SharedFolder.at(f"s3://papers/{tmp_path.name}", tmp_path / name) for name in ("a", "b"))
    yield first, second
    server.refused = server.broken_off = 0.0


def names(machine: SharedFolder) -> list[str]:
    listed = boto3.client("s3").list_objects_v2(Bucket="papers", Prefix=machine.url.removeprefix("s3://papers/"))
    return [each["Key"] for each in listed["Contents"]] if "Contents" in listed else []


def weights(machine: SharedFolder) -> Path:
    path = machine.cache / "artifacts" / "1234" / "weights.safetensors"
    with sealed_write(path) as part:
        part.write_bytes(random.Random(1).randbytes(SIZE))
    return path


def corpus(folder: Path) -> None:
    folder.mkdir()
    for name in ("ids.int32", "documents.npy", "manifest.json"):
        (folder / name).write_bytes(random.Random(name).randbytes(300_000))


def test_files_and_folders_go_from_one_machine_to_another(machines: tuple[SharedFolder, SharedFolder]) -> None:
    first, second = machines
    path = weights(first)
    first.put(path)
    into = second.cache / "weights"
    second.cache.mkdir()
    assert second.fetch(second.cache / path.relative_to(first.cache), into)
    assert into.read_bytes() == path.read_bytes()
    made = make_once(first.cache / "corpora" / "key", corpus, shared=first)
    there = make_once(second.cache / "corpora" / "key", lambda _: pytest.fail("made again"), shared=second)
    assert is_listed(there) and (there / "files.json").read_bytes() == (made / "files.json").read_bytes()
    assert not [name for name in names(first) if name.endswith(".part")]
    first.remove(path)
    assert not [name for name in names(first) if "weights" in name]


def test_a_server_that_fails_now_and_then_costs_nothing(
    server: Unreliable, machines: tuple[SharedFolder, SharedFolder], capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = machines
    path, into = weights(first), second.cache / "weights"
    second.cache.mkdir()
    server.refused, server.broken_off, before = 0.2, 0.3, server.failures
    for _ in range(3):
        first.put(path)
        assert second.fetch(second.cache / path.relative_to(first.cache), into)
        assert into.read_bytes() == path.read_bytes()
        first.remove(path)
    assert server.failures > before + 5
    assert capsys.readouterr().err == ""


def test_another_bucket_is_refused_before_anything_is_done(server: Unreliable, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--artifacts s3://nobodys/here: cannot be written .*; give another URL"):
        SharedFolder.at("s3://nobodys/here", tmp_path)
