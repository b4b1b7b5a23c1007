"""Published weights: found in a folder or on the hub, identified by their content, read as tensors.

A folder holds what `transformers` saves: config.json, and model.safetensors or pytorch_model.bin; or what
`hashbench export` writes. On the hub the newest
revision counts when it is first requested, or the one behind an @ (google/canine-c@main). The identity is the SHA-256
of the file of weights in both cases, which the hub reports without sending it.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor

from hashbench.common.errors import InputError, first_line
from hashbench.common.hub import REACH_SECONDS, answering, fetched, import_package, not_found
from hashbench.common.untrusted import STATE
from hashbench.data.sources.fingerprints import cache_room, digest, file_fingerprint, read_note, write_note
from hashbench.models.embeddings.base import Published, is_export

RANDOM = "random"  # where the name of weights is allowed: none are loaded
CONFIG = "config.json"
FILES = ("model.safetensors", "pytorch_model.bin")  # the first that is there is read
WEIGHTS_REMEDY = (
    f"name a folder with {CONFIG} and {FILES[0]} or {FILES[1]} (weights: FOLDER), or take a model that starts from "
    "random weights (canine-c-scratch)"
)


def locate_weights(name: str) -> FolderWeights | HubWeights:
    """The weights of a folder or a hub name; nothing is read yet.

    Raises:
        InputError: a folder without weights, or a name that can be neither.
    """
    folder = Path(name).expanduser()
    if folder.exists():
        return FolderWeights(folder)
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise InputError(f"weights {name}: no such folder, nor can it be a name on the hub; {WEIGHTS_REMEDY}")
    repository, _, revision = name.partition("@")
    return HubWeights(repository, revision or None)


class FolderWeights:
    """Weights in a folder."""

    def __init__(self, folder: Path) -> None:
        self.shown = folder.resolve().name  # what tables call them: no path
        self.place = str(folder)  # where other files of the model lie
        self._where = f"weights {folder}"
        missing = [CONFIG] if not (folder / CONFIG).is_file() else []
        files = [folder / file for file in FILES if (folder / file).is_file()]
        if missing or not files:
            raise InputError(f"{self._where}: no {' or '.join(missing or FILES)} in it; {WEIGHTS_REMEDY}")
        self._config, self._file = folder / CONFIG, files[0]

    def fingerprint(self) -> str:
        """SHA-256 (hex) of the file of weights; of an exported model with the state of its coder."""
        weights, state = file_fingerprint(self._file), self._file.with_name(STATE)
        if not (is_export(self.config()) and state.is_file()):
            return weights
        return digest(weights, file_fingerprint(state))

    def config(self) -> dict[str, Any]:
        """The content of config.json."""
        return read_config(self._config)

    def check(self) -> None:
        """Raises InputError for a file of weights that is cut off or is none. Of safetensors the header alone is
        read."""
        if self._file.suffix == ".safetensors":
            with _weights_of(self._file, self._where), safe_open(self._file, "pt"):
                pass
        else:
            self.read()

    def read(self) -> Published:
        """All tensors, and the config."""
        return read_published(self._file, self.config(), self._where)


@dataclass(frozen=True)
class HubWeights:
    """Weights on the Hugging Face hub. `revision` None: the newest one when it was first requested."""

    repository: str
    revision: str | None = None

    @property
    def shown(self) -> str:
        """The repository, and the revision where one was named."""
        return self.repository + (f"@{self.revision}" if self.revision else "")

    def check(self) -> None:
        """Nothing: the file is fetched, and checked, by the first run."""

    @property
    def place(self) -> str:
        """The hub name under which other files of the model lie, at the commit of the weights."""
        return f"{self.repository}@{self._found()['commit']}"

    def fingerprint(self) -> str:
        """SHA-256 (hex) of the file of weights."""
        return self._found()["sha256"]

    def config(self) -> dict[str, Any]:
        """The content of config.json."""
        return read_config(self._fetch(CONFIG))

    def read(self) -> Published:
        """All tensors, and the config; fetched once, kept in the hub's own cache."""
        path = self._fetch(self._found()["file"])
        if file_fingerprint(path) != self.fingerprint():
            raise InputError(f"weights {self.shown}: {path} is not what the hub promised; remove it and start again")
        return read_published(path, self.config(), f"weights {self.shown}")

    def _found(self) -> dict[str, str]:
        """File, commit and SHA-256 of the weights, requested once and remembered."""
        note = cache_room("hub") / f"{digest('weights', self.repository, self.revision or '')}.json"
        remembered = read_note(note)
        if remembered is not None:
            return remembered
        answer = self._ask()
        write_note(note, answer)
        return answer

    def _ask(self) -> dict[str, str]:
        """File, commit and SHA-256 of the weights from the hub's answer, or without one from an earlier download."""
        hub = import_package("huggingface_hub")
        try:
            with answering(self._unfound):
                info = hub.HfApi().model_info(
                    self.repository, revision=self.revision, files_metadata=True, timeout=REACH_SECONDS
                )
        except InputError:
            if fetched := self._fetched_before():
                return fetched
            raise
        sums = {file_info.rfilename: file_info.lfs.sha256 for file_info in info.siblings if file_info.lfs is not None}
        for file in FILES:
            if file in sums:
                return {"file": file, "commit": str(info.sha), "sha256": str(sums[file])}
        raise InputError(f"weights {self.shown}: the hub has no {' or '.join(FILES)} of it; {WEIGHTS_REMEDY}")

    def _fetched_before(self) -> dict[str, str] | None:
        hub = import_package("huggingface_hub")
        for file in FILES:
            path = hub.try_to_load_from_cache(self.repository, file, revision=self.revision)
            if isinstance(path, str):  # the folder of a snapshot has its commit's name
                return {"file": file, "commit": Path(path).parent.name, "sha256": file_fingerprint(Path(path))}
        return None

    def _fetch(self, file: str) -> Path:
        commit = self._found()["commit"]
        with answering(self._unfound):
            return fetched(self.repository, file, commit)

    @property
    def _unfound(self) -> Callable[[Exception], InputError]:
        return not_found(f"weights {self.shown}: no folder of this name", WEIGHTS_REMEDY)


def read_config(path: Path) -> dict[str, Any]:
    """The content of config.json. Raises InputError where it is no JSON object."""
    try:
        config = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"weights {path}: cannot be read ({first_line(error)}); put the config of the weights there"
        ) from error
    if not isinstance(config, dict):
        raise InputError(f"weights {path}: is no JSON object; put the config of the weights there")
    return config


def read_published(path: Path, config: Mapping[str, Any], where: str) -> Published:
    """The tensors of a file. Tensors of a model with a head lose the prefix of its base model ("canine.").

    Raises InputError for a file that holds no tensors; code in a pickle is never run.
    """
    with _weights_of(path, where):
        stored = load_file(path) if path.suffix == ".safetensors" else torch.load(path, "cpu", weights_only=True)
        if not isinstance(stored, Mapping) or not all(isinstance(of, str) for of in stored):
            raise ValueError("no tensors with names")
        for name, tensor in stored.items():
            if not isinstance(tensor, Tensor):
                raise ValueError(f"{name[:80]}: {type(tensor).__name__}, no tensor")
            if tensor.dtype.is_floating_point and not torch.isfinite(tensor).all():
                raise ValueError(f"{name[:80]}: numbers that are not finite")
    prefix = f"{config['model_type']}." if "model_type" in config else ""
    tensors: dict[str, Tensor] = {_present(name.removeprefix(prefix)): tensor for name, tensor in stored.items()}
    return Published(tensors, config, where)


@contextmanager
def _weights_of(path: Path, where: str) -> Iterator[None]:
    """Raises InputError for what a file without weights raises in the block."""
    try:
        yield
    except (
        OSError, SafetensorError, RuntimeError, EOFError, pickle.UnpicklingError, ValueError, LookupError, TypeError,
        AttributeError,
    ) as error:  # fmt: skip
        raise InputError(
            f"{where}: {path.name} holds no weights ({first_line(error)[:120]}); {WEIGHTS_REMEDY}"
        ) from error


def _present(name: str) -> str:
    """A tensor's current name: files of BERT's first years call a LayerNorm's tensors gamma and beta.

    >>> _present("embeddings.LayerNorm.gamma")
    'embeddings.LayerNorm.weight'
    """
    for former, now in (("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias")):
        name = name.removesuffix(former) + now if name.endswith(former) else name
    return name
