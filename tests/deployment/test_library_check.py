"""Every family under every encoder, exported and loaded by a new process that has no hashbench."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import hashbench
from hashbench.common.errors import InputError
from hashbench.common.registry import registered
from hashbench.deployment import forms, library_folder
from hashbench.deployment.forms import FACTS, INT8, Wishes, deploy
from hashbench.deployment.library_folder import LIBRARIES, MODELING, checked_line, loaded_elsewhere, write_library_files
from hashbench.deployment.loading import Predictor
from hashbench.deployment.onnx_graph import GraphFile, outputs_of, texts_asked
from hashbench.deployment.text_side import texts_compared
from hashbench.models.embeddings.base import EncoderSpec, ModelSpec
from hashbench.models.embeddings.registry import find_model
from hashbench.models.encoders.base import find_architecture
from hashbench.models.objectives.base import reads_items
from tests.exported import exported_folder

pytest.importorskip("transformers", reason="transformers is not installed")

# Each family, which may be built over another, by the name of its first model. Models of items are not exported.
FAMILIES = {tuple(spec.embedding.families()): name for name, spec in reversed(registered("model").items())
            if not reads_items(spec)}  # fmt: skip
SMALL = {
    "bert": {"layers": 1, "heads": 2, "dim": 16, "feed_forward": 32},
    "average": {"dim": 16},
    "qrnn": {"layers": 1, "dim": 16},
    "prado": {"dim": 16, "bigrams": 4, "trigrams": 4},
    "transformers": {"layers": 1, "heads": 2, "dim": 16, "feed_forward": 32},
}
OWN = "own"  # the encoder that a model names
QUICK = [*((name, OWN) for name in FAMILIES.values()), *(("multi-hash", kind) for kind in SMALL)]
QUICK_TEXTS = 24


def under(name: str, encoder: str) -> ModelSpec:
    """A model under an encoder, with what follows from that in its other parts."""
    spec = find_model(name)
    if encoder not in (OWN, spec.encoder.kind):
        spec = replace(spec, encoder=EncoderSpec(encoder, small=SMALL[encoder]))
    return find_architecture(spec.encoder.kind).of_model(spec)


def exported(name: str, encoder: str, root: Path, **options: Any) -> tuple[Predictor, Path]:
    folder = exported_folder(name, root / f"{name}-{encoder}", small=True, spec=under(name, encoder), **options)
    return hashbench.load(folder), folder


def written(name: str, encoder: str, root: Path, **options: Any) -> tuple[Predictor, Path]:
    predictor, folder = exported(name, encoder, root, **options)
    write_library_files(predictor, folder)
    return predictor, folder


@pytest.mark.e2e
def test_a_new_process_loads_a_model_of_every_family_and_encoder(tmp_path: Path) -> None:
    folders = [written(name, encoder, tmp_path) for name, encoder in QUICK]
    found = loaded_elsewhere(folders, QUICK_TEXTS, ["transformers"])
    assert [(folder.name, each.reasons) for (_, folder), each in zip(folders, found, strict=True) if each.reasons] == []
    assert all(list(each.differences) == ["transformers"] for each in found) and len(found) == len(QUICK) > 25


@pytest.mark.e2e
def test_pairs_and_models_without_a_head(tmp_path: Path) -> None:
    folders = [
        written("multi-hash", OWN, tmp_path / "pair", is_pair=True),
        written("multi-hash", "average", tmp_path / "pair", is_pair=True),
        written("bert-tiny", OWN, tmp_path / "pair", is_pair=True),
        written("multi-hash", OWN, tmp_path / "bare", n_outputs=None),
        written("hashformer-md-proj", "qrnn", tmp_path / "bare", n_outputs=None),
    ]
    found = loaded_elsewhere(folders, QUICK_TEXTS, ["transformers"])
    assert [each.reasons for each in found] == [{}] * 5 and all(each.differences for each in found)


@pytest.mark.e2e
def test_a_model_without_any_parameter_loads_in_both_libraries(tmp_path: Path) -> None:
    """A hash and the mean of its vectors; both libraries take the device of the first parameter."""
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    made = written("eelbert-tiny", "average", tmp_path)
    assert list(made[0].model.parameters()) == []
    (found,) = loaded_elsewhere([made], QUICK_TEXTS)
    assert found.reasons == {} and list(found.differences) == list(LIBRARIES)


ON_DEVICE = """
import json, sys
import numpy as np
sys.modules["hashbench"] = None
import onnxruntime
for line in sys.stdin:
    folder, texts, answers = json.loads(line)
    sys.path.insert(0, folder)
    sys.modules.pop("hashed_text", None)
    import hashed_text
    side, session = hashed_text.load(folder), onnxruntime.InferenceSession(folder + "/model_int8.onnx")
    rows = []
    for text in texts:
        made = side.buffers([text]).items()
        inputs = {name: np.frombuffer(content, kind).reshape(shape) for name, (content, kind, shape) in made}
        rows.append(session.run(None, inputs)[0][0])
    np.save(answers, np.array(rows))
    sys.path.remove(folder)
"""


@dataclass(frozen=True)
class Row:
    """A row of the table: the largest differences of outputs, as shares of their size.

    Of what `transformers` loads and of the ONNX graph from torch, and of the int8 graph on a device from the same graph
    here. `rounding` is of int8 from float32: these weights are random and large, which says nothing of trained models.
    """

    name: str
    encoder: str
    refused: str = ""
    differences: tuple[float, ...] = ()
    rounding: float = float("nan")

    def __str__(self) -> str:
        shares = " | ".join(f"{share:.0e}" for share in self.differences)
        return f"| {self.name} | {self.encoder} | {self.refused or 'ok'} | {shares} | {self.rounding:.2f} |"


def answered_on_devices(made: Sequence[tuple[Predictor, Path]], root: Path) -> list[np.ndarray]:
    """The outputs of the int8 graphs of folders by a new process, one text at a time."""
    lines, answers = [], []
    for number, (predictor, folder) in enumerate(made):
        answers.append(root / f"int8-{number}.npy")
        lines.append(json.dumps([str(folder / "onnx"), texts_compared(predictor)[:QUICK_TEXTS], str(answers[-1])]))
    command = [sys.executable, "-P", "-c", ON_DEVICE]
    subprocess.run(command, input="\n".join(lines), text=True, check=True, cwd=root)
    return [np.load(place) for place in answers]


def matrix(cases: Sequence[tuple[str, str]], root: Path, libraries: Sequence[str] = LIBRARIES) -> list[Row]:
    """The rows of cases: exported in all forms, and loaded by new processes."""
    rows, made, names = [], [], []
    for name, encoder in cases:
        predictor, folder = exported(name, encoder, root)
        try:
            deploy(folder, Wishes(onnx=True, int8=True), None, lambda _: None)
            write_library_files(predictor, folder)
        except InputError as error:
            rows.append(Row(name, encoder, str(error)))
            continue
        made.append((predictor, folder))
        names.append((name, encoder))
    found = loaded_elsewhere(made, QUICK_TEXTS, libraries)
    for (name, encoder), (predictor, folder), each, int8 in zip(
        names, made, found, answered_on_devices(made, root), strict=True
    ):
        columns, wanted = texts_asked(predictor, texts_compared(predictor)[:QUICK_TEXTS])
        size = float(np.abs(wanted).max())
        here = outputs_of(GraphFile.open(folder / "onnx" / INT8), predictor, columns, rows=1)
        onnx = json.loads((folder / FACTS).read_text())["difference"]
        library = max(each.differences.values(), default=np.nan)
        differences = (library / size, onnx / size, float(np.abs(int8 - here).max()) / size)
        rounding = float(np.abs(int8 - wanted).max()) / size
        rows.append(Row(name, encoder, "; ".join(each.reasons.values()), differences, rounding))
    return rows


@pytest.mark.slow
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("encoder", SMALL)
def test_every_family_under_an_encoder_is_exported_in_all_forms(encoder: str, tmp_path: Path) -> None:
    """Each form gives the same outputs in a new process: within 1e-4 of the outputs' size."""
    rows = matrix([(name, encoder) for name in FAMILIES.values()], tmp_path)
    print("\n".join(["", *map(str, rows)]))  # `pytest -s` shows the table
    assert [row for row in rows if row.refused] == []
    for row in rows:
        assert max(row.differences) < 1e-4, str(row)


def test_a_folder_that_does_not_load_is_not_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the command left one with a name that was missing: it is refused, and nothing of it stays."""
    _, folder = exported("multi-hash", OWN, tmp_path)

    def broken(predictor: Predictor, place: Path) -> list[str]:
        lines = write_library_files(predictor, place)
        text = (place / MODELING).read_text()
        (place / MODELING).write_text(text.replace("def table_rows(", "def other_rows("))
        return lines

    monkeypatch.setattr(forms, "write_library_files", broken)
    with pytest.raises(InputError) as error:
        deploy(folder, Wishes(transformers=True), None, lambda _: None)
    reason = "transformers cannot load what was written: NameError: name 'table_rows' is not defined"
    assert str(error.value) == f"multi-hash: not exported: {reason}; leave --transformers out, or report it"
    assert not folder.exists()


def test_a_folder_with_other_outputs_is_not_exported(tmp_path: Path) -> None:
    predictor, folder = written("multi-hash", OWN, tmp_path)
    with torch.no_grad():
        predictor.model.embedding.mix.weight[::2].mul_(3)
    with pytest.raises(
        InputError, match=r"transformers cannot load what was written: outputs are \S+ from hashbench's"
    ):
        checked_line(predictor, folder)


def test_a_process_that_dies_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = written("multi-hash", OWN, tmp_path)
    monkeypatch.setattr(library_folder, "SCRIPT", "import sys; print('no memory', file=sys.stderr); sys.exit(9)")
    (found,) = loaded_elsewhere([made])
    assert set(found.reasons.values()) == {"the process ended with 9: no memory"} and not found.differences


def test_the_line_says_what_loaded_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = written("multi-hash", OWN, tmp_path)
    found = library_folder.LoadedElsewhere({"transformers": 2e-8, "sentence-transformers": 1e-7}, {})
    monkeypatch.setattr(library_folder, "loaded_elsewhere", lambda _: [found])
    monkeypatch.setattr(library_folder, "_version", lambda package: "9.1")
    assert checked_line(*made) == (
        f"{made[1]}: transformers 5.2 and newer load it by AutoModel, with trust_remote_code=True; "
        "transformers 9.1 and sentence-transformers 9.1 did, with outputs within 1.0e-07 of hashbench's"
    )


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (None, "transformers is not installed, and the folder is tried with it"),
        ("5.1.9", "transformers 5.1.9 is older than 5.2, the first that loads the folder"),
        ("4.60", "transformers 4.60 is older than 5.2, the first that loads the folder"),
    ],
)
def test_without_a_library_that_loads_it_nothing_is_begun(
    version: str | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_folder, "_version", lambda package: version)
    with pytest.raises(InputError) as error:
        Wishes(transformers=True).checked()
    assert str(error.value) == f"export --transformers: {said}; run: pip install -U 'hashbench[transformers]'"


OWN_FAMILY = """
import torch
from torch import nn
from hashbench.extend import Embedding
{imports}

class Model(Embedding):  # the name of one of hashbench's own
    def __init__(self, dim, num_rows=50):
        super().__init__()
        self.table = nn.Embedding(num_rows, dim)
        self.special = nn.Parameter(torch.randn(5, dim))

    def embed_types(self, codes):
        return {vectors}

    def special_rows(self):
        return self.special
"""


def own_family(folder: Path, imports: str, vectors: str) -> ModelSpec:
    from hashbench.models.embeddings.registry import load_own

    (folder / "mine.py").write_text(OWN_FAMILY.format(imports=imports, vectors=vectors))
    family = load_own(f"{folder / 'mine.py'}:Model")
    spec = find_model("hashformer-md-emb-1k")
    return replace(
        spec, name="mine", embedding=replace(spec.embedding, family=family, args={"num_rows": 1_005}, small={})
    )


def test_a_family_of_ones_own_is_exported(tmp_path: Path) -> None:
    spec = own_family(tmp_path, "", "self.table(codes[:, 0].long())")
    folder = exported_folder("mine", tmp_path / "out", small=True, spec=spec)
    predictor = hashbench.load(folder, trust_code=True)
    write_library_files(predictor, folder)
    assert loaded_elsewhere([(predictor, folder)], QUICK_TEXTS, ["transformers"])[0].reasons == {}


@pytest.mark.parametrize(
    ("imports", "vectors", "message"),
    [
        (
            "from beside_mine import scale",
            "scale * self.table(codes[:, 0].long())",
            "transformers cannot load .*beside_mine",
        ),
        (
            "import hashbench.extend as e",
            "e.Embedding and self.table(codes[:, 0].long())",
            "as a whole; import its names",
        ),
    ],
)
def test_a_family_that_needs_more_than_its_file_is_refused(
    imports: str, vectors: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "beside_mine.py").write_text("scale = 2\n")
    monkeypatch.syspath_prepend(str(tmp_path / "beside"))
    spec = own_family(tmp_path, imports, vectors)
    folder = exported_folder("mine", tmp_path / "out", small=True, spec=spec)
    with pytest.raises(InputError, match=message):
        deploy(folder, Wishes(transformers=True), None, lambda _: None)
    assert not folder.exists()
