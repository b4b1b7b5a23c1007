"""Exported folders that a stranger made: one line for each fault, and nothing of theirs runs."""

from __future__ import annotations

import copy
import json
import os
import pickle
import random
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from sqlalchemy import select

from hashbench.common.errors import InputError
from hashbench.deployment.loading import exported_model, load
from hashbench.running.runs.further_sets import FurtherRequest
from hashbench.running.sweep.evaluate import evaluate as evaluated
from hashbench.store.engine import Store
from hashbench.store.schema import metadata
from tests.databases.made_up import World, build
from tests.exported import exported_folder

TEXT = "a film about rain"
EVIL = """
from pathlib import Path
Path({marker!r}).touch()
from hashbench.models.embeddings.hashformer import Projection
from hashbench.models.coders.md5 import Md5Bits
class Evil(Projection):
    pass
"""
# A coder of bits, one with a table, one with a learned vocabulary and one whose tokenizer and coder learn from texts.
MODELS = ("hashformer-md-proj", "tfree-1k", "bert-mlm", "hashformer-lsh-pool")
WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    place = tmp_path_factory.mktemp("whole")
    return [exported_folder(name, place / name, small=True) for name in MODELS]


def answer(folder: Path) -> str | None:
    """The line of the error of loading and asking a folder; None where it answers with finite numbers."""
    try:
        outputs = load(folder).outputs([TEXT, ""])
    except InputError as error:
        assert "\n" not in str(error) and len(str(error)) < 1_000
        return str(error)
    assert np.isfinite(outputs).all()
    return None


def values_of(folder: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((folder / "config.json").read_text())
    return values


def write_values(folder: Path, values: Any) -> None:
    (folder / "config.json").write_text(json.dumps(values))


@pytest.mark.parametrize("number", range(len(MODELS)))
def test_a_folder_as_it_was_exported_answers(folders: list[Path], number: int) -> None:
    assert answer(folders[number]) is None


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "unknown pooling": (lambda v: v["spec"].update(pooling="zzz"), r"spec.pooling: input should be 'first', 'max'"),
    "arguments that are a list": (lambda v: v["spec"].update(embedding_args=[]), "spec.embedding_args: input should"),
    "a spec that is a list": (lambda v: v.update(spec=[]), "spec: input should be an object"),
    "an empty spec": (lambda v: v.update(spec={}), "spec.embedding: field required"),
    "an unknown tokenizer": (lambda v: v["spec"].update(tokenizer="wordz"), "tokenizer: unknown kind 'wordz'; did you"),
    "an unknown coder": (lambda v: v["spec"].update(coder="os"), "coder: unknown name 'os'"),
    "an unknown encoder": (lambda v: v["spec"].update(encoder="os"), "encoder: unknown name 'os'"),
    "an unknown argument": (lambda v: v["spec"]["tokenizer_args"].update(x=1), "tokenizer_args: unknown argument 'x'"),
    "a length that is a text": (lambda v: v.update(max_length="64"), "max_length: input should be a valid integer"),
    "a length of nothing": (lambda v: v.update(max_length=0), "max_length: input should be greater than"),
    "too few labels": (lambda v: v.update(labels=["a"]), "1 labels for 2 outputs"),
    "equal labels": (lambda v: v.update(labels=["a", "a"]), "two labels have one name"),
    "several labels of one output": (
        lambda v: v.update(problem_type="multi_label_classification", n_outputs=1, labels=[]),
        "several labels a text need two or more outputs",
    ),
    "no outputs": (lambda v: v.update(n_outputs=-1, labels=[]), "n_outputs: input should be greater than"),
    "more outputs than weights": (lambda v: v.update(n_outputs=9_999, labels=[]), r"head\.out.* has shape \[2"),
    "many outputs": (lambda v: v.update(n_outputs=10**12, labels=[]), "n_outputs: input should be less than"),
    "many layers": (lambda v: v["spec"]["encoder_args"].update(layers=10**7), "layers 10000000 is beyond 4,096"),
    "more layers than weights": (
        lambda v: v["spec"]["encoder_args"].update(layers=10**3),
        "tensors, too few for config.json",
    ),
    "no end of layers": (lambda v: v["spec"]["encoder_args"].update(layers=10**12), "larger than any model is"),
    "a wide encoder": (lambda v: v["spec"]["encoder_args"].update(dim=2**20), "has shape .*config.json means"),
    "half a layer": (lambda v: v["spec"]["encoder_args"].update(layers=1.5), "encoder_args.layers: input should be a"),
    "no layer": (
        lambda v: v["spec"]["encoder_args"].update(layers=0),
        r"/config\.json: encoder_args: encoder: layers 0 is no whole number from 1 on; correct it$",
    ),
    "a tokenizer out of range": (
        lambda v: v["spec"].update(tokenizer="unicode", tokenizer_args={"version": 9}),
        r"/config\.json: tokenizer_args: tokenizer unicode: version 9; versions: 1, 2, 3",
    ),
    "a coder out of range": (lambda v: v["spec"]["coder_args"].update(bits=0), r"/config\.json: "),
    "a long template": (lambda v: v["spec"]["template"].update(single=["A"] * 10**5), "template.single: tuple should"),
    "a template without a text": (lambda v: v["spec"]["template"].update(single=["<s>"]), "must hold A once"),
    "much padding": (lambda v: v["spec"]["template"].update(pad_multiple=10**9), "template.pad_multiple: input should"),
    "an unknown key": (lambda v: v["spec"].update(new=1), "spec.new: extra inputs are not permitted"),
    "an unknown key beside the spec": (lambda v: v.update(own=1), "config.json: own: extra inputs are not permitted"),
    "an embedding beside the spec": (lambda v: v.update(embedding="os:system"), "embedding: input should be an object"),
    "another size": (lambda v: v.update(size="huge"), "encoder: unknown size 'huge'"),
    "no finite number": (lambda v: v["spec"].update(initial_spread=float("nan")), "initial_spread"),
    "a name that moves the cursor": (lambda v: v.update(name="\x1b[2J"), "name: string should match pattern"),
    "a module of Python": (lambda v: v["spec"].update(embedding="os:system"), "is no part of hashbench"),
    "another module": (lambda v: v["spec"].update(embedding="hashbench.cli.app:main"), "is no part of hashbench"),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_each_fault_of_the_config_is_one_line(folders: list[Path], tmp_path: Path, kind: str) -> None:
    change, message = CHANGES[kind]
    folder = shutil.copytree(folders[0], tmp_path / "model")
    values = values_of(folder)
    change(values)
    write_values(folder, values)
    with pytest.raises(InputError, match=message):
        load(folder)


def test_code_in_a_folder_named_like_a_package_never_runs(
    folders: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "it ran"
    folder = shutil.copytree(folders[0], tmp_path / "model")
    for package in ("hashbench.embeddings.x", "hashbench.models.embeddings.x"):
        for place in (folder, tmp_path):
            (place / package).mkdir()
            (place / package / "evil.py").write_text(EVIL.format(marker=str(marker)))
        monkeypatch.chdir(folder)
        for where in (f"{package}/evil.py", f"{tmp_path}/{package}/evil.py", f"{package}.evil", f"./{package}/evil.py"):
            for trust in (False, True):
                values = values_of(folder)
                for key in ("embedding", "below"):
                    reference = f"{where}:Evil"
                    below = {"embedding": reference, "embedding_args": {}}
                    values["spec"].update({"embedding": reference} if key == "embedding" else {"below": below})
                    write_values(folder, values)
                    if not trust or "/" in where:
                        with pytest.raises(InputError, match="config.json: embedding .*evil"):
                            load(folder, trust_code=trust)
    assert not marker.exists()


def test_code_of_a_tokenizer_of_transformers_never_runs(tmp_path: Path) -> None:
    from hashbench.models.text.library import loaded

    marker = tmp_path / "it ran"
    (tmp_path / "evil.py").write_text(EVIL.format(marker=str(marker)))
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "Evil", "auto_map": {"AutoTokenizer": ["evil.Evil", None]}})
    )
    with pytest.raises(InputError, match="cannot be read"):
        loaded(tmp_path, "", "tokenizer of x")
    assert not marker.exists()


@pytest.mark.parametrize("file", ["config.json", WEIGHTS, "coder.npz", "tokenizer/tokenizer.json"])
@pytest.mark.parametrize("kind", ["pipe", "link", "folder", "missing", "empty"])
def test_what_is_no_file_is_named_at_once(folders: list[Path], tmp_path: Path, file: str, kind: str) -> None:
    folder = shutil.copytree(folders[2], tmp_path / "model")
    path = folder / file
    whole = path.rename(tmp_path / "whole")
    makes: dict[str, Callable[[], object]] = {
        "pipe": lambda: os.mkfifo(path), "link": lambda: path.symlink_to(whole), "folder": path.mkdir,
        "missing": lambda: None, "empty": path.touch,
    }  # fmt: skip
    makes[kind]()
    with pytest.raises(InputError, match=rf"{folder.name}.*(is a link|is no file|missing|cannot be used|no |not )"):
        load(folder)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_refused(folders: list[Path], tmp_path: Path, value: float) -> None:
    folder = shutil.copytree(folders[0], tmp_path / "model")
    tensors = load_file(folder / WEIGHTS)
    tensors["head.out.bias"][1] = value
    save_file(tensors, folder / WEIGHTS)
    with pytest.raises(InputError, match=r"head\.out\.bias holds numbers that are not finite"):
        load(folder)


def test_weights_whose_outputs_are_not_finite_predict_nothing(folders: list[Path], tmp_path: Path) -> None:
    folder = shutil.copytree(folders[0], tmp_path / "model")
    save_file(
        {name: torch.full_like(part, 3e38) for name, part in load_file(folder / WEIGHTS).items()}, folder / WEIGHTS
    )
    with pytest.raises(InputError, match="its outputs are not finite"):
        load(folder).predict(TEXT)


def test_a_state_that_unpacks_to_any_size_is_refused(folders: list[Path], tmp_path: Path) -> None:
    folder = shutil.copytree(folders[2], tmp_path / "model")
    with np.load(folder / "coder.npz") as arrays:
        np.savez_compressed(folder / "coder.npz", **dict(arrays))
    with pytest.raises(InputError, match="coder.npz: is packed"):
        load(folder)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["first", "words"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def places(values: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The key path of each value in JSON values."""
    parts = values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    return [path for key, part in parts for path in [(*before, key), *places(part, (*before, key))]]


def put(values: Any, path: tuple[Any, ...], value: object) -> Any:
    """A copy of the values with another at one place."""
    changed = part = copy.deepcopy(values)
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return changed


@settings(
    max_examples=40, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(st.data())
def test_any_value_at_any_place_of_the_config_loads_or_is_one_line(
    folders: list[Path], tmp_path: Path, data: st.DataObject
) -> None:
    folder = tmp_path / "model"
    if not folder.exists():
        shutil.copytree(folders[1], folder)
    values = values_of(folders[1])
    write_values(folder, put(values, data.draw(st.sampled_from(places(values))), data.draw(JSON)))
    answer(folder)


@dataclass
class Touching:
    """Makes a file where a pickle of it is loaded."""

    marker: Path

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return Path.touch, (self.marker,)


@dataclass
class Forger:
    """Makes exported folders that no export makes, one kind of forgery at a time, from a seed."""

    random: random.Random
    folder: Path
    marker: Path

    def value(self) -> Any:
        numbers = (-1, 0, 1, 2, 3, 2**20, 2**31, 2**63, 10**12, 0.5, float("nan"), float("inf"))
        names = ("", "words", "os:system", "../x", "\x1b[2J", "x" * 10_000, "/dev/zero", "spec", "mean")
        odd = (None, True, [], {}, [[]] * 9, {"kind": 1}, [1, "a"])
        return self.random.choice(self.random.choice((numbers, names, odd)))

    def a_value(self) -> None:
        values = values_of(self.folder)
        write_values(self.folder, put(values, self.random.choice(places(values)), self.value()))

    def a_key_less(self) -> None:
        values = values_of(self.folder)
        path = self.random.choice([path for path in places(values) if isinstance(path[-1], str)])
        part = values
        for key in path[:-1]:
            part = part[key]
        del part[path[-1]]
        write_values(self.folder, values)

    def a_key_more(self) -> None:
        values = values_of(self.folder)
        blocks = [values["spec"], values["spec"]["template"], values["spec"]["encoder_args"], values]
        self.random.choice(blocks)[self.random.choice(("below", "hashing", "x", "trust_code", "auto_map"))] = (
            self.value()
        )
        write_values(self.folder, values)

    def code(self) -> None:
        values, evil = values_of(self.folder), EVIL.format(marker=str(self.marker))
        name = self.random.choice(("evil", "embedding", "sitecustomize", "hashbench.embeddings.x/evil", "sub/evil"))
        (self.folder / f"{name}.py").parent.mkdir(exist_ok=True)
        (self.folder / f"{name}.py").write_text(evil)
        form = self.random.choice(
            ("{}.py", "./{}.py", "{}", "hashbench.embeddings.{}", "hashbench.models.embeddings.{}")
        )
        reference = f"{form.format(self.random.choice((name, str(self.folder / name), name.replace('/', '.'))))}:Evil"
        key = self.random.choice(("embedding", "coder", "tokenizer", "encoder", "below"))
        values["spec"][key] = {"embedding": reference, "embedding_args": {}} if key == "below" else reference
        write_values(self.folder, values)

    def a_tensor(self) -> None:
        tensors = load_file(self.folder / WEIGHTS)
        name = self.random.choice(sorted(tensors))
        kept = tensors.pop(name)
        new = (
            kept[..., :-1].contiguous(), kept.unsqueeze(0).contiguous(), kept.to(torch.int64), torch.zeros(0),
            torch.full_like(kept, torch.nan), torch.full_like(kept, 1e38), kept.half(), kept.to(torch.complex64),
        )  # fmt: skip
        if (number := self.random.randrange(len(new) + 2)) < len(new):
            tensors[name] = new[number]
        elif number == len(new):
            tensors[f"{name}.more"] = kept
        save_file(tensors, self.folder / WEIGHTS)

    def bytes_of_a_file(self) -> None:
        path = self.random.choice(sorted(path for path in self.folder.rglob("*") if path.is_file()))
        content = bytearray(path.read_bytes())
        kind = self.random.randrange(5)
        if kind == 0:
            content = content[: self.random.randrange(len(content) + 1)]
        elif kind == 1:
            content = bytearray(self.random.randbytes(200))
        elif kind == 2:
            content = bytearray(b"[" * 200_000)
        else:
            for _ in range(1 + kind):
                content[self.random.randrange(len(content))] ^= 1 << self.random.randrange(8)
        path.write_bytes(content)

    def no_file(self) -> None:
        path = self.random.choice(sorted(path for path in self.folder.rglob("*") if path.is_file()))
        path.unlink()
        self.random.choice((lambda: os.mkfifo(path), path.mkdir, lambda: path.symlink_to("/etc/passwd"),
                            lambda: path.symlink_to(path), lambda: None))()  # fmt: skip

    def a_state(self) -> None:
        arrays = {"blob": np.zeros(3, np.uint8), "offsets": np.array([0, 1, 9]), "ngrams": np.zeros((2, 4), np.int64)}
        if (self.folder / "coder.npz").is_file() and self.random.random() < 0.8:
            with np.load(self.folder / "coder.npz") as stored:
                arrays = dict(stored)
            name = self.random.choice(sorted(arrays))
            kept = arrays[name]
            arrays[name] = self.random.choice(
                (kept[:-1], kept[::-1], kept.astype(float), kept.astype(object), np.zeros(0), kept[None], kept + 1)
            )
        np.savez(self.folder / "coder.npz", **arrays)  # type: ignore[arg-type]
        if self.random.random() < 0.2:
            with zipfile.ZipFile(self.folder / "coder.npz", "a") as archive:
                archive.writestr("../out.npy", b"x")

    def a_pickle(self) -> None:
        path = self.folder / self.random.choice((WEIGHTS, "coder.npz", "config.json", "tokenizer/tokenizer.json"))
        path.parent.mkdir(exist_ok=True)
        content = pickle.dumps(Touching(self.marker))
        kind = self.random.randrange(3)
        if kind == 0:
            path.write_bytes(content)
        elif kind == 1:
            torch.save(Touching(self.marker), path)
        else:
            np.savez(path.with_suffix(".npz"), blob=np.array([Touching(self.marker)], object))

    def a_header(self) -> None:
        path = self.folder / WEIGHTS
        content = path.read_bytes()
        size = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + size])
        entry = header[self.random.choice([name for name in header if name != "__metadata__"])]
        change = self.random.choice(("shape", "data_offsets", "dtype", "length"))
        entry["shape"] = [2**40, 2**20] if change == "shape" else entry["shape"]
        entry["data_offsets"] = [0, 2**62] if change == "data_offsets" else entry["data_offsets"]
        entry["dtype"] = "O" if change == "dtype" else entry["dtype"]
        written = json.dumps(header).encode()
        length = 2**62 if change == "length" else len(written)
        path.write_bytes(length.to_bytes(8, "little") + written + content[8 + size :])

    def a_link_to_a_folder(self) -> None:
        path = self.folder / "tokenizer"
        shutil.rmtree(path, ignore_errors=True)
        path.symlink_to(self.random.choice(("/etc", "/proc/self", str(self.folder), "nowhere")))

    def forge(self) -> str:
        kinds = (self.a_value, self.a_value, self.a_value, self.a_key_less, self.a_key_more, self.code, self.a_tensor,
                 self.bytes_of_a_file, self.no_file, self.a_state, self.a_pickle, self.a_header,
                 self.a_link_to_a_folder)  # fmt: skip
        kind = self.random.choice(kinds)
        kind()
        return kind.__name__


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A database with results."""
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    made = build(tmp_path / "results.db", World(tasks=("rte",), seeds=(0,)))
    yield made
    made.close()


def rows_of(store: Store) -> set[tuple[str, ...]]:
    """All rows of a database."""
    with store.read() as connection:
        return {
            (name, *map(str, row))
            for name, table in metadata.tables.items()
            for row in connection.execute(select(table))
        }


def evaluate(store: Store, folder: Path, rows: Path) -> bool:
    """True where an evaluation of a folder is stored, False where one line refuses it."""
    try:
        evaluated(store, exported_model(folder), FurtherRequest(rows), None)
    except InputError as error:
        assert "\n" not in str(error) and len(str(error)) < 1_000
        return False
    return True


def forged(folders: list[Path], place: Path, seeds: range, monkeypatch: pytest.MonkeyPatch, store: Store) -> int:
    """Loads, asks and evaluates a forged folder for each seed; returns how many are refused."""
    refused, n_evaluated, marker = 0, 0, place / "it ran"
    rows = place / "further.csv"
    rows.write_text("sentence,label\na good film,positive\na bad film,negative\n")
    before = rows_of(store)
    for seed in seeds:
        chosen = random.Random(seed)
        folder = shutil.copytree(chosen.choice(folders), place / f"model-{seed}")
        kind = Forger(chosen, folder, marker).forge()
        monkeypatch.chdir(folder)
        path = list(sys.path)
        try:
            refused += answer(folder) is not None
            n_evaluated += evaluate(store, folder, rows)
        except Exception as error:
            raise AssertionError(f"seed {seed}, {kind}: {type(error).__name__} in place of one line") from error
        assert not marker.exists(), f"seed {seed}, {kind}: its code ran"
        assert sys.path == path
        monkeypatch.chdir(place)
        shutil.rmtree(folder)
    assert before <= rows_of(store)
    print(f"{len(seeds)} folders, seeds {seeds[0]} to {seeds[-1]}: {refused} refused, {n_evaluated} evaluated, "
          "no code run, no traceback, no row changed")  # fmt: skip
    return refused


def test_forged_folders_are_one_line_and_run_nothing(
    folders: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    assert forged(folders, tmp_path, range(30), monkeypatch, store) > 20


@pytest.mark.slow
def test_300_forged_folders_are_one_line_and_run_nothing(
    folders: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    assert forged(folders, tmp_path, range(1_000, 1_300), monkeypatch, store) > 200
