"""Packages that an installation may be without: the extra that installs each, and the line on one that is missing.

`pip install hashbench` is enough to read, plot, publish and merge results. Everything else comes with an extra.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from hashbench.common.errors import InputError

# What each extra of pyproject.toml installs, by the names under which it is imported. An extra for training brings all
# of `train`, so that one command is enough.
EXTRAS = {
    "train": (
        "torch", "lightning", "pytorch_lightning", "torchmetrics", "datasets", "huggingface_hub", "tokenizers", "numba",
        "llvmlite", "sklearn", "threadpoolctl", "safetensors",
    ),
    "wandb": ("wandb", "wandb_workspaces"),
    "postgres": ("psycopg",),
    "s3": ("s3fs",),
    "transformers": ("transformers",),
    "ray": ("ray",),
    "slurm": ("submitit",),
    "icu": ("icu",),
    "export": ("onnx", "onnxscript", "onnxruntime", "sentence_transformers"),
}  # fmt: skip
EXTRA_OF = {module: extra for extra, modules in EXTRAS.items() for module in modules}
PACKAGES = {"sklearn": "scikit-learn", "icu": "PyICU"}  # names for pip that differ in more than - and _


class NotInstalled(InputError, ImportError):
    """A package of an extra is missing. From Python it is an ImportError, as of any package that is missing."""


def not_installed(module: str) -> NotInstalled:
    """The error on a missing module of an extra, with the command that installs it.

    >>> print(not_installed("sklearn"))
    scikit-learn is not installed; run: pip install 'hashbench[train]'
    """
    package = PACKAGES.get(module, module.replace("_", "-"))
    return NotInstalled(f"{package} is not installed; run: {install(EXTRA_OF[module])}")


def install(extra: str, *options: str) -> str:
    """The command that installs an extra, with options of pip."""
    return " ".join(["pip install", *options, f"'hashbench[{extra}]'"])


@contextmanager
def explained() -> Iterator[None]:
    """Raises NotInstalled where an import in the block fails since a package of an extra is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in EXTRA_OF:
            raise
        raise not_installed(error.name) from error


def required(name: str) -> ModuleType:
    """The imported module of that name. Raises NotInstalled where its package is missing."""
    with explained():
        return importlib.import_module(name)
