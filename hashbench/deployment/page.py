"""A browser page that classifies typed text with the model, text side and runtime in its folder.

It needs only a static file server."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

from hashbench.common.atomic import atomic_write, replace_text
from hashbench.common.errors import InputError
from hashbench.data.sources.fingerprints import cache_room, usable_cache_folder
from hashbench.deployment.loading import Predictor

RUNTIME, VERSION = "onnxruntime-web", "1.30.0"
# Of the package: the smallest bundle, without a GPU, and its machine code.
RUNTIME_FILES = ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")
PAGE = "index.html"


def check_page(predictor: Predictor) -> None:
    """Raises InputError for a model that the page cannot show: one of pairs, or without a head."""
    if predictor.config.is_pair or predictor.head is None:
        raise InputError(f"{predictor.config.name}: the page asks for one text and shows classes; leave --page out")


def write_page(predictor: Predictor, device: Path) -> str:
    """Writes the page and the runtime to `device`, the folder to ship; returns a line on how to open it.

    Raises InputError where npm is missing or gives no runtime, and as `check_page`.
    """
    check_page(predictor)
    model = next(path.name for path in device.iterdir() if path.suffix == ".onnx")
    usable_cache_folder()
    for file in runtime_files(cache_room("npm")):
        shutil.copy(file, device / file.name)
    page = resources.files("hashbench.models.portable").joinpath("page.html").read_text(encoding="utf-8")
    for key, value in {"name": predictor.config.name, "graph": model}.items():
        page = page.replace(f"<<{key}>>", value)
    replace_text(device / PAGE, page)
    return f"{device / PAGE}: open it with python -m http.server --directory {device} 8000"


def runtime_files(cache: Path) -> list[Path]:
    """The files of onnxruntime-web in the cache, fetched by npm the first time."""
    folder = cache / f"{RUNTIME}-{VERSION}"
    if not all((folder / name).is_file() for name in RUNTIME_FILES):
        npm = shutil.which("npm")
        if npm is None:
            raise InputError("export --page: npm is not installed, which fetches onnxruntime-web; install Node.js")
        with TemporaryDirectory() as scratch:
            command = [npm, "pack", "--silent", f"{RUNTIME}@{VERSION}"]
            done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
            if done.returncode:
                reason = (done.stderr.strip() or "no reason given").splitlines()[-1][:160]
                raise InputError(f"export --page: npm gives no {RUNTIME}@{VERSION} ({reason}); check the registry")
            folder.mkdir(parents=True, exist_ok=True)
            with tarfile.open(next(Path(scratch).glob("*.tgz"))) as package:
                for name in RUNTIME_FILES:
                    content = package.extractfile(f"package/dist/{name}")
                    assert content is not None  # a plain file
                    with atomic_write(folder / name) as part:  # a torn one would be taken for the runtime for ever
                        part.write_bytes(content.read())
    return [folder / name for name in RUNTIME_FILES]
