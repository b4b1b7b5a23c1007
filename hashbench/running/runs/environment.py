"""What a result was made with: code, packages, machine."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
from importlib import metadata
from pathlib import Path

import torch

from hashbench.running.experiment.identity import cpu_name
from hashbench.store.environment import Environment

PACKAGES = ("hashbench", "torch", "lightning", "numpy", "numba", "tokenizers", "datasets", "scikit-learn", "scipy")
DIFF_LIMIT = 200_000  # characters of an uncommitted change that are kept


def environment() -> Environment:
    """The state of code and machine as every attempt of this process stores it."""
    folder = Path(__file__).parents[2]
    commit, diff = git_state(folder)
    return Environment(
        host=socket.gethostname(),
        git_commit=commit,
        git_tree=git_tree(folder),
        git_diff=diff,
        packages=packages(),
        hardware=hardware(),
        hardware_name=hardware_name(),
    )


def git_state(folder: Path) -> tuple[str, str]:
    """(commit, uncommitted change) of the checkout that holds `folder`; an installed package has its version."""
    commit = _git(folder, "rev-parse", "HEAD")
    tracked = _git(folder, "ls-files", "--error-unmatch", "__init__.py")
    if not commit or not tracked:
        known = packages()
        return f"release {known['hashbench'] if 'hashbench' in known else 'unknown'}", ""
    return commit, _git(folder, "diff", "HEAD")[:DIFF_LIMIT]


def git_tree(folder: Path) -> str:
    """The id of the committed content of `folder`, which survives a rebase; "" where there is no checkout."""
    return _git(folder, "rev-parse", "HEAD:./") if _git(folder, "ls-files", "--error-unmatch", "__init__.py") else ""


def packages() -> dict[str, str]:
    """Installed versions of what can change a number."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions | {"python": platform.python_version()}


def hardware() -> dict[str, str]:
    """Processor, cores and accelerators of this machine."""
    facts = {
        "processor": cpu_name(),
        "cores": str(os.cpu_count()),
        "system": platform.system(),
    }
    if torch.cuda.is_available():
        facts["gpu"] = torch.cuda.get_device_name(0)
        facts["gpus"] = str(torch.cuda.device_count())
    return facts


def hardware_name() -> str:
    """The machine in one line, as a report prints it."""
    if torch.cuda.is_available():
        return torch.cuda.get_device_name(0)
    return f"{cpu_name()}, {os.cpu_count()} cores"


def _git(folder: Path, *arguments: str) -> str:
    """Output of a git command, empty where there is no git or no checkout."""
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
