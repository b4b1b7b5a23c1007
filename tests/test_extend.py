"""hashbench.extend: every name of its list is there, and nothing heavy comes with a name that needs none of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hashbench import extend


def test_every_name_is_there() -> None:
    assert len(extend.__all__) > 50
    for name in extend.__all__:
        assert getattr(extend, name) is not None
    assert extend.Embedding.__module__ == "hashbench.models.embeddings.base"


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match="module 'hashbench.extend' has no attribute 'Embeding'"):
        extend.Embeding  # noqa: B018


@pytest.mark.e2e
def test_a_metric_needs_no_torch() -> None:
    code = "from hashbench.extend import SummedMetric; import sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
