"""Classes with all that they use, as one file."""

from __future__ import annotations

import ast
import sys
from types import ModuleType

import pytest

from hashbench.common.errors import InputError
from hashbench.deployment.bundle import bundled
from hashbench.models.embeddings.eelbert import NgramHash
from hashbench.models.embeddings.hashformer import Projection
from hashbench.models.encoders.bert import BertEncoder
from hashbench.models.encoders.canine import CanineEncoder


@pytest.mark.parametrize("roots", [[Projection, BertEncoder], [NgramHash, CanineEncoder]])
def test_a_bundle_runs_alone(roots: list, monkeypatch: pytest.MonkeyPatch) -> None:
    source = bundled(roots, "a model")
    assert "import hashbench" not in source and "from hashbench" not in source
    alone = ModuleType("alone")
    monkeypatch.setitem(sys.modules, "alone", alone)  # dataclasses look there
    exec(compile("from __future__ import annotations\n" + source, "alone.py", "exec"), alone.__dict__)
    assert getattr(alone, roots[0].__name__).__module__ == "alone"


def test_what_hashes_stays_behind() -> None:
    classes = [node.name for node in ast.parse(bundled([NgramHash], "a model")).body if isinstance(node, ast.ClassDef)]
    assert "NgramHash" in classes and "NgramPooling" not in classes


def test_two_meanings_of_a_name_are_refused() -> None:
    """Both encoders' files have their own SIZES; nothing else of them meets."""
    from hashbench.models.encoders import bert, plain

    with pytest.raises(InputError, match="a model: SIZES is in hashbench.models.encoders"):
        bundled([_named(bert, "SIZES"), _named(plain, "SIZES")], "a model")


def _named(module, name: str):
    """Something that calls itself a name of a module."""
    return type(name, (), {"__module__": module.__name__})
