"""How a result was made: a fingerprint of the code that its spec uses, and commit, packages and machine.

A commit may be rebased away, and most commits change nothing that a given run uses. So a run stores two fingerprints of
source files: of files that every run of its kind and kind of task uses, and of files that its model adds.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import os
import platform
import socket
import subprocess
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

import torch

from hashbench.common.own_files import is_own
from hashbench.data.tasks.text import TextKind
from hashbench.models.coders.base import find_coder
from hashbench.models.embeddings.base import ModelSpec
from hashbench.models.encoders.base import find_architecture
from hashbench.models.objectives.base import objectives, task_head
from hashbench.models.text.base import find_tokenizer
from hashbench.models.text.pieces import commits_of
from hashbench.running.experiment.identity import cpu_name
from hashbench.running.runs.base import Workplace, kind_of
from hashbench.store.environment import Environment
from hashbench.store.planning import Run

# Packages that compute. The others plan, store and print; a change there changes no result.
COMPUTING = (
    "hashbench.models.", "hashbench.data.", "hashbench.scores.", "hashbench.running.training.",
    "hashbench.running.efficiency.", "hashbench.running.runs.", "hashbench.common.splitmix",
)  # fmt: skip
COMMITS = "hub_commits"  # the topic of a run's notes
DIGITS = 8  # hexadecimal, of each fingerprint


def sources_of(run: Run, place: Workplace) -> str:
    """Fingerprints of a run's source files, a blank between them: its kind's files, and files that its model adds."""
    kinds = [located.task.kind for located in place.resolved.tasks if located.task.name == run.task]
    heads = [task_head(kind.head) for kind in kinds if isinstance(kind, TextKind)]
    files = files_of(
        [*(type(kind).__module__ for kind in (kind_of(run), *kinds)), *(head.__module__ for head in heads)]
    )
    model = place.resolved.models.get(run.model)
    added = files_of(modules_of(model.spec)) - files if model is not None else set()
    return f"{fingerprint(files)} {fingerprint(added)}" if added else fingerprint(files)


def commits_note(run: Run, place: Workplace) -> dict[str, str]:
    """The note on hub names of a run's tokenizer and coder without a commit, which name what was read; {} for none."""
    model = place.resolved.models.get(run.model)
    commits = {} if model is None else commits_of({**model.spec.text.args, **model.spec.code.args})
    return {COMMITS: ", ".join(f"{name}@{commit}" for name, commit in commits.items())} if commits else {}


def commits_in(notes: Mapping[str, str]) -> dict[str, str]:
    """The commit of each hub name in a run's notes.

    >>> commits_in({"hub_commits": "roberta-base@e2da8e, x/y@v1@0123ab"})
    {'roberta-base': 'e2da8e', 'x/y@v1': '0123ab'}
    """
    pairs = [entry.rpartition("@") for entry in notes.get(COMMITS, "").split(", ") if entry]
    return {name: commit for name, _, commit in pairs}


def modules_of(spec: ModelSpec) -> set[str]:
    """The modules of a model's tokenizer, coder, embedding, encoder and objective."""
    parts: list[object] = [*spec.embedding.families(), find_architecture(spec.encoder.kind).build]
    parts += [part for part in (find_coder(spec.code.coder), find_tokenizer(spec.text.tokenizer)) if part is not None]
    objective = objectives().get(spec.training.objective or "")
    parts += [type(objective)] if objective is not None else []
    return {str(getattr(part, "__module__", "")) for part in parts}


def files_of(modules: Iterable[str]) -> set[Path]:
    """The files of these modules and of all computing modules that they import, directly or through others."""
    waiting, seen = list(modules), set[str]()
    files = set[Path]()
    while waiting:
        name = waiting.pop()
        file = None if name in seen else _file(name)
        seen.add(name)
        if file is not None:
            files.add(file)
            waiting += _imports(file)
    return files


def fingerprint(files: Iterable[Path]) -> str:
    """A digest of the statements of these files, independent of file names, imports, comments and layout.

    A statement that moves to another file, or a file that gets another name, leaves it as it was.
    """
    statements = sorted({statement for file in files for statement in statements_of(file)})
    return hashlib.sha256("\n".join(statements).encode()).hexdigest()[:DIGITS]


@functools.cache
def statements_of(file: Path) -> tuple[str, ...]:
    """The top-level statements of a Python file that are no imports, each as the text of its syntax tree."""
    texts = (_structure(node) for node in ast.parse(file.read_text(encoding="utf-8")).body)
    return tuple(text for text in texts if text)


def _structure(node: ast.AST) -> str:
    """A syntax tree as text, equal in all Pythons; "" for imports, docstrings and TYPE_CHECKING blocks."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return ""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return ""
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return ""
    parts = []
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            parts.append(f"{name}={_structure(value)}")
        elif isinstance(value, list):
            inner = [_structure(item) if isinstance(item, ast.AST) else repr(item) for item in value]
            parts.append(f"{name}=[{' '.join(text for text in inner if text)}]" if value else "")
        elif value is not None and name not in ("type_comment", "kind"):
            parts.append(f"{name}={value!r}")
    return f"{type(node).__name__}({' '.join(part for part in parts if part)})"


def _file(module: str) -> Path | None:
    """The file of a computing or a user-defined module; None for any other."""
    if not is_own(module) and not module.startswith(COMPUTING):
        return None
    spec = importlib.util.find_spec(module)
    return Path(spec.origin) if spec is not None and spec.origin is not None else None


@functools.cache
def _imports(file: Path) -> tuple[str, ...]:
    """The hashbench modules that a file imports, by their names or from a package."""
    names: list[str] = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(name for name in names if name.startswith("hashbench.") and _exists(name))


@functools.cache
def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the name of something in a module, not of a module
        return False


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
    """(commit, uncommitted change) of the checkout that holds `folder`; ("release VERSION", "") without a checkout."""
    commit = _git(folder, "rev-parse", "HEAD")
    tracked = _git(folder, "ls-files", "--error-unmatch", "__init__.py")
    if not commit or not tracked:
        versions = packages()
        return f"release {versions['hashbench'] if 'hashbench' in versions else 'unknown'}", ""
    return commit, _git(folder, "diff", "HEAD")[:DIFF_LIMIT]


def git_tree(folder: Path) -> str:
    """The id of the committed content of `folder`, which survives a rebase; "" where there is no checkout."""
    return _git(folder, "rev-parse", "HEAD:./") if _git(folder, "ls-files", "--error-unmatch", "__init__.py") else ""


def packages() -> dict[str, str]:
    """Versions of Python and of the installed packages that can change a number."""
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
