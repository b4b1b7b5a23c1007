"""Missing packages: one line with the extra that installs them, from the command line and from Python."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

import hashbench
from hashbench import extend
from hashbench.common.errors import InputError
from hashbench.common.extras import EXTRA_OF, EXTRAS, NotInstalled, explained, required

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FOR_DEVELOPERS = {"dev", "bench"}  # extras that no module of hashbench imports
# Imported here under another name than the package has on PyPI, or brought by another package of the same extra
MODULES = {"scikit-learn": "sklearn", "ruamel.yaml": "ruamel", "PyICU": "icu"}
# Their text is part of the fingerprint of the code of runs, and has the same form.
OWN_TEXT = {"models/text/words.py", "models/text/library.py"}


def modules_of(requirements: list[str]) -> set[str]:
    """The modules that requirements bring, without those on hashbench's own extras."""
    names = [re.match(r"[\w.-]+", requirement) for requirement in requirements]
    packages = [name.group() for name in names if name and name.group() != "hashbench"]
    return {MODULES.get(package, package.replace("-", "_")) for package in packages}


BASE = modules_of(PROJECT["dependencies"])


def imported() -> dict[str, str]:
    """Each module of another package that hashbench imports, with one file that does."""
    files: dict[str, str] = {}
    for file in sorted((ROOT / "hashbench").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            files |= {name.partition(".")[0]: str(file) for name in names}
    return {name: file for name, file in files.items() if name not in {*sys.stdlib_module_names, "hashbench"}}


def test_what_trains_is_no_dependency() -> None:
    train = modules_of(PROJECT["optional-dependencies"]["train"])
    assert {"torch", "lightning", "numba", "tokenizers", "sklearn", "datasets"} <= train
    assert not train & BASE


def test_each_import_is_of_a_dependency_or_of_an_extra() -> None:
    strange = {module: file for module, file in imported().items() if module not in BASE and module not in EXTRA_OF}
    assert not strange


def test_extras_are_those_of_the_project() -> None:
    written = {name: modules_of(needs) for name, needs in PROJECT["optional-dependencies"].items()}
    assert {name: set(modules) for name, modules in EXTRAS.items()} == {
        name: modules for name, modules in written.items() if name not in FOR_DEVELOPERS
    }
    assert not BASE & set(EXTRA_OF)


@pytest.mark.parametrize("extra", ["transformers", "ray", "slurm", "icu", "export", "s3", "bench"])
def test_an_extra_for_training_brings_what_trains(extra: str) -> None:
    assert "hashbench[train]" in PROJECT["optional-dependencies"][extra]


def test_the_line_is_made_in_one_place() -> None:
    files = {str(file.relative_to(ROOT / "hashbench")): file for file in (ROOT / "hashbench").rglob("*.py")}
    writes = {name for name, file in files.items() if "'hashbench[" in file.read_text(encoding="utf-8")}
    assert writes == {"common/extras.py", *OWN_TEXT}
    for name in OWN_TEXT:
        assert re.search(r"is not installed; (run: )?pip install 'hashbench\[", files[name].read_text(encoding="utf-8"))


def test_a_missing_package_is_an_input_error_and_an_import_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(NotInstalled) as error:
        required("sklearn")
    assert str(error.value) == "scikit-learn is not installed; run: pip install 'hashbench[train]'"
    assert isinstance(error.value, InputError) and isinstance(error.value, ImportError)


@pytest.mark.parametrize("name", ["no_such_package", "torch.no_such_part"])
def test_what_no_extra_installs_stays_an_error(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=f"No module named '{name}'"), explained():
        required(name)


@pytest.mark.parametrize("name", ["module", "sweep", "load"])
def test_python_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(hashbench.PLACES, name, "torch")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"^torch is not installed; run: pip install 'hashbench\[train\]'$"):
        getattr(hashbench, name)


def test_a_file_that_extends_hashbench_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extend.PLACES, "Embedding", ("torch", "nn"))
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"^torch is not installed; run: pip install 'hashbench\[train\]'$"):
        _ = extend.Embedding
