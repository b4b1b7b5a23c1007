"""The identity of a run: the SHA-256 of what it computes, and of nothing else.

In it: the kind, the model as resolved with its version, the task, seed, encoder and recipe as requested, fingerprints
of the input data, the recipe of what is derived from them (a trained BPE, an n-gram dictionary), and the hash of a
user's own code. Not in it: labels, paths, hosts, worker counts, devices of training, how a batch is split up or
compiled (SETTINGS of `experiment/recipes.py`), and what is under "settings".
"""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hashbench.models.text.compiled import usable_cores

# Values that mean "as if the key did not exist". A key that joins a block later enters here with the value that equals
# the behaviour before it; the ids of finished runs then stay what they are. Never change or remove an entry.
AS_BEFORE: dict[str, dict[str, Any]] = {
    "model": {
        "code": None,
        "pooling": "first",
        "dense_head": True,
        "dense_dropout": True,
        "weights": None,
        "below": None,
        "initial_spread": None,
    },
    "template": {"pad_multiple": 1},
    "coder": {"special_items": 3},
    "corpus": {"max_documents": None, "first_chunk_only": False},
    "pretrain": {"logits": "labels", "matmul_precision": "highest", "streaming": False, "words_per_row": None},
    "finetune": {
        "matmul_precision": "highest",
        "pad_to_max": False,
        "evaluations_per_epoch": None,
        "select_metric": None,
        "patience": None,
        "steps": None,
        "warmup_steps": None,
        "evaluations": None,
        "per_task": {},  # the block itself has the values for the run's task
        "evaluation_steps": None,
        "noise": None,
        "embedding_rate": None,
    },
}
BLOCK_OF = {  # the same kind of block under another key
    "baseline": "model",
    "baseline_corpus": "corpus",
    "baseline_pretrain": "pretrain",
    "baseline_finetune": "finetune",
}
NOT_IDENTITY = "settings"


def run_id(spec: Mapping[str, Any]) -> str:
    """The id of a run (64 hex digits) from its spec.

    >>> run_id({"kind": "floor", "settings": {"a": 1}}) == run_id({"kind": "floor"})
    True
    """
    return hashlib.sha256(canonical(spec).encode()).hexdigest()


def canonical(spec: Mapping[str, Any]) -> str:
    """The identity of a run's spec as JSON with sorted keys, without settings and values that equal an absent key.

    >>> canonical({"seed": 0, "corpus": {"corpora": [], "max_documents": None}})
    '{"corpus":{"corpora":[]},"seed":0}'
    """
    kept = {key: _strip(key, value) for key, value in spec.items() if key != NOT_IDENTITY}
    return json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _strip(key: str, value: Any) -> Any:
    """A mapping, and those in it, without values that mean the same as no key (AS_BEFORE); any other value as it is.

    `key` is the name of `value` in its mapping, which decides the values that mean nothing.
    """
    if not isinstance(value, Mapping):
        return value
    neutral = AS_BEFORE.get(BLOCK_OF.get(key, key), {})
    return {k: _strip(k, v) for k, v in value.items() if not (k in neutral and neutral[k] == v)}


def whole(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A stored spec with the keys filled in that were left out, or not known to its version.

    >>> whole({"finetune": {"epochs": 3}})["finetune"]["steps"] is None
    True
    """
    return {key: _filled(key, value) for key, value in spec.items()}


def _filled(key: str, value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    neutral = AS_BEFORE.get(BLOCK_OF.get(key, key), {})
    return {**neutral, **{k: _filled(k, v) for k, v in value.items()}}


def device_block(device: str) -> dict[str, Any]:
    """The device on which an efficiency run measures: its name, and the cores in use where it is a CPU."""
    import torch

    kind, _, index = device.partition(":")
    if kind in ("auto", "gpu", "cuda") and torch.cuda.is_available() and int(index or 0) < torch.cuda.device_count():
        return {"name": torch.cuda.get_device_name(int(index or 0)), "cores": None}
    if kind in ("auto", "gpu", "mps") and torch.backends.mps.is_available():
        return {"name": f"{cpu_name()} mps", "cores": None}
    return {"name": cpu_name(), "cores": usable_cores()}


def cpu_name() -> str:
    """The processor's model name, or the architecture where the system does not give it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    apple = _apple_name() if platform.system() == "Darwin" else ""
    return apple or platform.processor() or platform.machine()


def _apple_name() -> str:
    """The chip of an Apple machine, which `platform` gives as "arm" only; empty where sysctl fails."""
    command = ["sysctl", "-n", "machdep.cpu.brand_string"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
