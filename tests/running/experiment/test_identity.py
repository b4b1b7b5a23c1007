"""running/experiment/identity.py: the id of a run is the hash of what it computes."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch

from hashbench.models.embeddings.registry import find_model, load_own
from hashbench.running.experiment import identity
from hashbench.running.experiment.identity import canonical, run_id
from hashbench.running.experiment.resolved import ResolvedExperiment, own_code

SPEC = {"kind": "pretrain", "pretrain": {"steps": 3}, "seed": 0}


def test_the_id_is_the_sha256_of_the_canonical_text() -> None:
    text = '{"kind":"pretrain","pretrain":{"steps":3},"seed":0}'
    assert canonical(SPEC) == text
    assert run_id(SPEC) == hashlib.sha256(text.encode()).hexdigest()


def test_the_order_of_keys_does_not_matter() -> None:
    assert run_id(SPEC) == run_id(dict(reversed(SPEC.items())))


def test_settings_are_no_part_of_it() -> None:
    assert run_id({**SPEC, "settings": {"baseline": "x"}}) == run_id(SPEC)


@pytest.mark.parametrize("change", [{"seed": 1}, {"kind": "floor"}, {"pretrain": {"steps": 4}}, {"new": 1}])
def test_anything_else_is(change: dict) -> None:
    assert run_id({**SPEC, **change}) != run_id(SPEC)


def test_a_new_key_keeps_the_id_while_it_means_the_old_behaviour(monkeypatch: pytest.MonkeyPatch) -> None:
    later = {**SPEC, "pretrain": {"steps": 3, "new_key": "as before"}}
    assert run_id(later) != run_id(SPEC)  # without an entry it would change
    monkeypatch.setitem(identity.AS_BEFORE, "pretrain", {"new_key": "as before"})
    assert run_id(later) == run_id(SPEC)
    assert run_id({**SPEC, "pretrain": {"steps": 3, "new_key": "other"}}) != run_id(SPEC)


def test_blocks_inside_a_model_have_entries_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(identity.AS_BEFORE, "coder", {"new": 0})
    one, other = ({"model": {"coder": {"name": "x", **extra}}} for extra in ({}, {"new": 0}))
    assert run_id(one) == run_id(other)
    assert run_id({"baseline": one["model"]}) == run_id({"baseline": other["model"]})


def test_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        run_id({"x": float("nan")})


def test_the_ids_of_finished_runs_stay() -> None:
    """The canonical text of a run as this release writes it; a change here makes every stored result unfindable."""
    spec = {
        "kind": "finetune",
        "model": {"embedding": "Table", "pooling": "first", "code": None, "version": 1},
        "corpus": {"corpora": [], "max_documents": None, "first_chunk_only": False},
        "finetune": {"epochs": 5, "pad_to_max": False, "patience": None},
    }
    assert canonical(spec) == (
        '{"corpus":{"corpora":[]},"finetune":{"epochs":5},"kind":"finetune","model":{"embedding":"Table","version":1}}'
    )


def test_a_baselines_recipes_are_stripped_like_a_models() -> None:
    """ "as before" means the same in both blocks: the first line has no key that the second has not."""
    spec = {"baseline_finetune": {"max_length": 64, "pad_to_max": False}, "baseline_pretrain": {"logits": "labels"}}
    assert canonical(spec) == '{"baseline_finetune":{"max_length":64},"baseline_pretrain":{}}'


def test_apple_machines_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """`platform.processor()` is "arm" on all of them; sysctl knows the chip."""
    asked: list[list[str]] = []

    def run(command: list[str], **_: object) -> SimpleNamespace:
        asked.append(command)
        return SimpleNamespace(stdout="Apple M2 Pro\n")

    monkeypatch.setattr(identity.Path, "exists", lambda self: False)  # no /proc/cpuinfo there
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(platform, "processor", lambda: "arm")
    monkeypatch.setattr(subprocess, "run", run)
    assert identity.cpu_name() == "Apple M2 Pro"
    assert asked == [["sysctl", "-n", "machdep.cpu.brand_string"]]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert identity.device_block("auto") == {"name": "Apple M2 Pro mps", "cores": None}


@pytest.mark.parametrize("error", [FileNotFoundError("sysctl"), subprocess.CalledProcessError(1, "sysctl")])
def test_without_sysctl_the_architecture_serves(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def run(command: list[str], **_: object) -> SimpleNamespace:
        raise error

    monkeypatch.setattr(identity.Path, "exists", lambda self: False)
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(platform, "processor", lambda: "arm")
    monkeypatch.setattr(subprocess, "run", run)
    assert identity.cpu_name() == "arm"


def test_own_code_is_hashed_and_the_suites_is_not(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("from hashbench.models.embeddings.base import Embedding\nclass Mine(Embedding): pass\n")
    assert own_code(load_own(f"{file}:Mine")) == hashlib.sha256(file.read_bytes()).hexdigest()
    assert own_code(find_model("bert-mlm").embedding.family) is None


def test_a_label_is_a_models_or_the_baselines() -> None:
    model, baseline = SimpleNamespace(label="ours"), SimpleNamespace(label="bert-mlm")
    resolved = ResolvedExperiment(Mock(), {"ours": model}, baseline, (), {}, ())  # type: ignore[dict-item, arg-type]
    assert resolved.model("ours") is model and resolved.model("bert-mlm") is baseline
    with pytest.raises(KeyError, match="theirs"):
        resolved.model("theirs")
