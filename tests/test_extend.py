"""hashbench.extend: every name of its list is there, and nothing heavy comes with a name that needs none of it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from hashbench import extend


def test_every_name_is_there() -> None:
    assert sorted(extend.__all__) == sorted(extend.PLACES)
    for name in extend.__all__:
        assert getattr(extend, name) is not None
    assert extend.Embedding.__module__ == "hashbench.models.embeddings.base"


def test_type_checkers_see_the_same_names() -> None:
    block = next(node for node in ast.parse(Path(extend.__file__).read_text()).body if isinstance(node, ast.If))
    seen = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names:
            other = f":{alias.name}" if alias.asname else ""
            seen[alias.asname or alias.name] = node.module.removeprefix("hashbench.") + other
    assert seen == extend.PLACES


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match="module 'hashbench.extend' has no attribute 'Embeding'"):
        extend.Embeding  # noqa: B018


@pytest.mark.e2e
def test_a_metric_needs_no_torch() -> None:
    code = "from hashbench.extend import SummedMetric; import sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
