"""Which code computed a run: a fingerprint of the source files that its own spec uses, whatever the commit is called.

A commit may be rebased away, and most commits change nothing that a given run uses. So a run stores two fingerprints:
of the files that every run of its kind and kind of task uses, and of those that its model adds to them.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import io
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

from hashbench.coders.registry import find_coder
from hashbench.embeddings.base import ModelSpec
from hashbench.encoders.registry import find_architecture
from hashbench.listing import is_own
from hashbench.objectives.registry import objectives
from hashbench.runs.base import Run, Workplace
from hashbench.runs.registry import kind_of
from hashbench.text.tokenizers import find_tokenizer

# What computes. The rest of the package plans, stores and prints; a change there changes no result.
COMPUTING = {
    "text", "coders", "embeddings", "encoders", "objectives", "metrics", "tasks", "data", "corpora", "training",
    "efficiency", "runs", "layers", "splitmix",
}  # fmt: skip
DIGITS = 8  # hexadecimal, of each fingerprint
IGNORED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def sources_of(run: Run, place: Workplace) -> str:
    """Two fingerprints with a blank between them: of the files of the run's kind, and of those that its model adds."""
    kinds = [located.task.kind for located in place.resolved.tasks if located.task.name == run.task]
    files = files_of(type(each).__module__ for each in (kind_of(run), *kinds))
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
    """Of the code of these files, comments, docstrings and layout apart."""
    codes = sorted((file.name, code_of(file)) for file in files)
    return hashlib.sha256(repr(codes).encode()).hexdigest()[:DIGITS]


@functools.cache
def code_of(file: Path) -> str:
    """The tokens of a Python file without comments and docstrings, with blanks between them."""
    text = file.read_text(encoding="utf-8")
    skipped = set(_docstring_lines(ast.parse(text)))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return " ".join(
        token.string.strip() for token in tokens if token.type not in IGNORED and token.start[0] not in skipped
    )


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                if isinstance(first.value.value, str):
                    yield from range(first.lineno, (first.end_lineno or first.lineno) + 1)


def _file(module: str) -> Path | None:
    """The file of a computing module or of a user's own; None for any other."""
    if not is_own(module):
        parts = module.split(".")
        if parts[0] != "hashbench" or len(parts) < 2 or parts[1] not in COMPUTING:
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
