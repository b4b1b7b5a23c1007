"""What travels to workers: the user's own files as text, imported on a machine that does not have them."""

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.common.own_files import import_file
from hashbench.running.experiment.load import load_experiment
from hashbench.running.sweep.assignment import OwnFile, files_in, pack, unpack
from hashbench.running.sweep.plan import plan
from hashbench.running.sweep.runner import assign

# One text is imported once a process, from wherever it was first: each test has texts of its own.
OWN = '''
import torch
from torch import nn
from hashbench.models.embeddings.base import Embedding


class Mine(Embedding):
    """A vector for the first code."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.vector, self.special = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(5, dim))

    def embed_types(self, codes):
        return self.vector * codes[:, :1].float()

    def special_rows(self):
        return self.special

    def embedding_parameters(self):
        return self.vector.numel()
'''
ELSEWHERE = """
import sys
from pathlib import Path
from hashbench.running.sweep.assignment import unpack
assignment = unpack(Path("parcel").read_bytes(), Path("cache"))
family = assignment.resolved.models["mine"].spec.embedding.family
from hashbench.running.experiment.resolved import own_code
print(sys.modules[family.__module__].__file__, own_code(family))
"""


def test_own_code_arrives_where_its_file_is_not(tmp_path: Path, small_experiment: str) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here/own.py").write_text(OWN)
    entry = '{name: mine, use: "own.py:Mine", objective: none}'
    text = small_experiment.replace("models: [hashformer-md-proj, hashformer-md-add]", f"models: [{entry}]")
    (tmp_path / "here/a.yaml").write_text(text.replace("baseline: hashformer-md-add", "baseline: mine"))
    planned = plan(load_experiment(tmp_path / "here/a.yaml"))
    parcel = pack(assign(planned, db="r.db", experiment_id=1, n_workers=1))
    ((file,), _) = files_in(parcel)
    assert file.path.endswith("own.py") and file.text == OWN
    there = tmp_path / "there"
    there.mkdir()
    (there / "parcel").write_bytes(parcel)
    (tmp_path / "here/own.py").unlink()
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], cwd=there, capture_output=True, text=True, timeout=300, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    imported, digest = done.stdout.split()
    assert Path(there / imported).read_text() == OWN and Path(there / imported).is_relative_to(there / "cache/own")
    assert digest == file.sha256


def test_files_of_other_sweeps_of_the_process_are_not_sent(tmp_path: Path, small_experiment: str) -> None:
    """One of them may not import in a worker, as it found a neighbour on a path that only its sweep had."""
    (tmp_path / "other.py").write_text("x = 'of another sweep'\n")
    import_file(tmp_path / "other.py")
    (tmp_path / "a.yaml").write_text(small_experiment)
    planned = plan(load_experiment(tmp_path / "a.yaml"))
    parcel = pack(assign(planned, db="r.db", experiment_id=1, n_workers=1))
    assert files_in(parcel)[0] == ()


@pytest.mark.parametrize("meanwhile", ["edited", "gone"])
def test_the_text_that_was_planned_with_is_sent(tmp_path: Path, small_experiment: str, meanwhile: str) -> None:
    own = tmp_path / "own.py"
    own.write_text(f"{OWN}\nTEST = {meanwhile!r}\n")
    entry = '{name: mine, use: "own.py:Mine", objective: none}'
    text = small_experiment.replace("models: [hashformer-md-proj, hashformer-md-add]", f"models: [{entry}]")
    (tmp_path / "a.yaml").write_text(text.replace("baseline: hashformer-md-add", "baseline: mine"))
    planned = plan(load_experiment(tmp_path / "a.yaml"))
    if meanwhile == "gone":
        own.unlink()
    else:
        own.write_text("nothing ( is here\n")
    parcel = pack(assign(planned, db="r.db", experiment_id=1, n_workers=1))
    ((file,), _) = files_in(parcel)
    assert f"TEST = {meanwhile!r}" in file.text and not file.is_here()
    assert unpack(parcel, tmp_path / "cache").resolved.models["mine"].spec.embedding.family.__name__ == "Mine"


def test_a_text_that_changed_on_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("x = 'sent'\n")
    file = OwnFile.of(import_file(tmp_path / "own.py"))
    assert file.is_here() and not file.is_plugin
    (tmp_path / "own.py").write_text("x = 2\n")
    assert not file.is_here()
    assert file.copy(tmp_path / "copies").read_text() == "x = 'sent'\n"
    with pytest.raises(InputError, match=r"own\.py: its text did not arrive as it was sent; start the sweep again"):
        replace(file, text="x = 3\n").copy(tmp_path / "copies")


@pytest.mark.parametrize("place", ["", "own.py"])
def test_a_file_knows_that_it_is_a_plug_in(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.py").write_text(f"x = 'plug-in {place}'\n")
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path / place))
    assert OwnFile.of(import_file(tmp_path / "own.py")).is_plugin


def test_plug_ins_are_named_where_the_same_files_lie_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node of a cluster, started before, has another environment than the sweep."""
    (tmp_path / "own.py").write_text("x = 'the same'\n")
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path))
    parcel = pickle.dumps(((OwnFile.of(import_file(tmp_path / "own.py")),), pickle.dumps("the assignment")))
    monkeypatch.delenv("HASHBENCH_PLUGINS")
    assert unpack(parcel) == "the assignment"
    assert os.environ["HASHBENCH_PLUGINS"] == str(tmp_path / "own.py")


def test_plug_ins_are_named_where_their_copies_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "own.py").write_text(f"x = {folder!r}\n")
    (tmp_path / "a/part.py").write_text("y = 'part'\n")
    monkeypatch.setenv("HASHBENCH_PLUGINS", os.pathsep.join([str(tmp_path / "a"), str(tmp_path / "b/own.py")]))
    files = [OwnFile.of(import_file(tmp_path / name)) for name in ("a/own.py", "a/part.py", "b/own.py")]
    parcel = pickle.dumps((tuple(files), pickle.dumps("the assignment")))
    (tmp_path / "a/part.py").unlink()
    assert unpack(parcel, tmp_path / "cache") == "the assignment"
    copies = [Path(place) for place in os.environ["HASHBENCH_PLUGINS"].split(os.pathsep)]
    assert [copy.read_text() for copy in copies] == ["x = 'a'\n", "y = 'part'\n", "x = 'b'\n"]
    assert copies[0].parent == copies[1].parent != copies[2].parent
    assert all(copy.is_relative_to(tmp_path / "cache/own") for copy in copies)
