"""tests/mutants.py: what it draws and stores are faults of one line, and its verdict is that of the tests."""

import ast
from pathlib import Path

import pytest

from tests import mutants


@pytest.mark.e2e
def test_drawn_faults_are_single_lines_of_valid_python() -> None:
    drawn = list(mutants.draw(2, seed=0))
    assert len(drawn) == 18 and drawn == list(mutants.draw(2, seed=0))
    for fault in drawn:
        place = mutants.locate(fault)
        assert place is not None and fault.before != fault.after
        lines = (mutants.ROOT / place[0]).read_text(encoding="utf-8").split("\n")
        lines[place[1]] = lines[place[1]].replace(fault.before, fault.after)
        ast.parse("\n".join(lines))


@pytest.mark.e2e
def test_most_stored_faults_are_still_in_the_code() -> None:
    faults = mutants.stored_faults()
    assert len(faults) >= 200
    assert sum(mutants.locate(fault) is not None for fault in faults) >= 160


@pytest.mark.e2e
def test_a_fault_is_caught_where_a_test_sees_it(tmp_path: Path) -> None:
    (tmp_path / "hashbench").mkdir()
    (tmp_path / "hashbench" / "__init__.py").touch()
    (tmp_path / "hashbench" / "toy.py").write_text("def half(n):\n    return n // 2\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "covered_by.txt").touch()
    test = "from hashbench.toy import half\n\n\ndef test_half():\n    assert half({n}) == {half}\n"
    fault = mutants.Fault("half", "return n // 2", "return n * 2")
    for n, half, expected in ((4, 2, {"tests/test_toy.py::test_half"}), (0, 0, set())):
        (tmp_path / "tests" / "test_toy.py").write_text(test.format(n=n, half=half))
        assert mutants.failures(tmp_path, fault) == expected
    (tmp_path / "tests" / "test_toy.py").write_text("from hashbench.toy import other\n")
    assert mutants.failures(tmp_path, fault) == {"tests/test_toy.py"}
    assert (tmp_path / "hashbench" / "toy.py").read_text().endswith("n // 2\n")
