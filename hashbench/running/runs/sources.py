"""Which code computed a run: a fingerprint of the source files that its own spec uses, whatever the commit is called.

A commit may be rebased away, and most commits change nothing that a given run uses. So a run stores two fingerprints:
of the files that every run of its kind and kind of task uses, and of those that its model adds to them.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
from collections.abc import Iterable
from pathlib import Path

from hashbench.common.registry import is_own
from hashbench.data.tasks.text import TextKind
from hashbench.models.coders.registry import find_coder
from hashbench.models.embeddings.base import ModelSpec
from hashbench.models.encoders.registry import find_architecture
from hashbench.models.objectives.registry import objectives, task_head
from hashbench.models.text.tokenizers import find_tokenizer
from hashbench.running.runs.base import Run, Workplace
from hashbench.running.runs.registry import kind_of

# Packages that compute. The others plan, store and print; a change there changes no result.
COMPUTING = (
    "hashbench.models.", "hashbench.data.", "hashbench.scores.", "hashbench.running.training.",
    "hashbench.running.efficiency.", "hashbench.running.runs.", "hashbench.common.splitmix",
)  # fmt: skip
DIGITS = 8  # hexadecimal, of each fingerprint


def sources_of(run: Run, place: Workplace) -> str:
    """Two fingerprints with a blank between them: of the files of the run's kind, and of those that its model adds."""
    kinds = [located.task.kind for located in place.resolved.tasks if located.task.name == run.task]
    heads = [task_head(kind.head) for kind in kinds if isinstance(kind, TextKind)]
    files = files_of(
        [*(type(each).__module__ for each in (kind_of(run), *kinds)), *(head.__module__ for head in heads)]
    )
    model = place.resolved.models.get(run.model)
    added = files_of(modules_of(model.spec)) - files if model is not None else set()
    return f"{fingerprint(files)} {fingerprint(added)}" if added else fingerprint(files)


def modules_of(spec: ModelSpec) -> set[str]:
    """The modules that a model names: of its tokenizer, coder, embedding, encoder and objective."""
    parts: list[object] = [*spec.embedding.families(), find_architecture(spec.encoder.kind).build]
    parts += [part for part in (find_coder(spec.code.coder), find_tokenizer(spec.text.tokenizer)) if part is not None]
    objective = objectives().get(spec.training.objective or "")
    parts += [type(objective)] if objective is not None else []
    return {str(getattr(part, "__module__", "")) for part in parts}


def files_of(modules: Iterable[str]) -> set[Path]:
    """The files of these modules and of all computing modules that they import, directly or through others."""
    waiting, known = list(modules), set[str]()
    files = set[Path]()
    while waiting:
        name = waiting.pop()
        file = None if name in known else _file(name)
        known.add(name)
        if file is not None:
            files.add(file)
            waiting += _imports(file)
    return files


def fingerprint(files: Iterable[Path]) -> str:
    """A digest of the statements of these files, wherever they are: imports, file names, comments and layout apart.

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
    """A syntax tree as text, "" for an import or a docstring. Made here since `ast.dump` differs between Pythons."""
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
            inner = [_structure(each) if isinstance(each, ast.AST) else repr(each) for each in value]
            parts.append(f"{name}=[{' '.join(each for each in inner if each)}]" if value else "")
        elif value is not None and name not in ("type_comment", "kind"):
            parts.append(f"{name}={value!r}")
    return f"{type(node).__name__}({' '.join(part for part in parts if part)})"


def _file(module: str) -> Path | None:
    """The file of a computing module or of a user's own; None for any other."""
    if not is_own(module) and not module.startswith(COMPUTING):
        return None
    found = importlib.util.find_spec(module)
    return Path(found.origin) if found is not None and found.origin is not None else None


@functools.cache
def _imports(file: Path) -> tuple[str, ...]:
    """The modules that a file names in its imports; a name of a package may be a module of it."""
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
