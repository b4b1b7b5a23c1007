"""Published weights: found, identified by their content, read; and what is said where there are none."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from hashbench.common import hub as common_hub
from hashbench.common.errors import InputError
from hashbench.data.sources import weights
from hashbench.data.sources.weights import WEIGHTS_REMEDY, FolderWeights, HubWeights, locate_weights

TENSORS = {"canine.pooler.dense.bias": torch.tensor([1.0, 2.0]), "classifier.bias": torch.tensor([3.0])}
CONFIG = {"model_type": "canine", "hidden_size": 2}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))


def folder(path: Path, *, pickled: bool = False) -> Path:
    path.mkdir()
    (path / "config.json").write_text(json.dumps(CONFIG))
    if pickled:
        torch.save(TENSORS, path / "pytorch_model.bin")
    else:
        save_file(TENSORS, path / "model.safetensors")
    return path


@pytest.mark.parametrize("pickled", [False, True])
def test_a_folder_as_transformers_saves_it(tmp_path: Path, pickled: bool) -> None:
    found = locate_weights(str(folder(tmp_path / "mine", pickled=pickled)))
    model = found.read()
    assert {name: tensor.tolist() for name, tensor in model.tensors.items()} == {
        "pooler.dense.bias": [1.0, 2.0],  # without the prefix of the base model
        "classifier.bias": [3.0],
    }
    assert found.shown == "mine" and found.config() == model.config == CONFIG


def test_the_identity_is_the_content(tmp_path: Path) -> None:
    first = folder(tmp_path / "first")
    shutil.copytree(first, tmp_path / "second")
    digest = hashlib.sha256((first / "model.safetensors").read_bytes()).hexdigest()
    assert FolderWeights(first).fingerprint() == FolderWeights(tmp_path / "second").fingerprint() == digest


def test_a_folder_without_weights(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError) as error:
        locate_weights(str(tmp_path))
    assert str(error.value) == f"weights {tmp_path}: no model.safetensors or pytorch_model.bin in it; {WEIGHTS_REMEDY}"
    with pytest.raises(InputError, match="no config.json in it; name a folder with config.json and model.safetensors"):
        locate_weights(str(folder(tmp_path / "x").joinpath("config.json").unlink() or tmp_path / "x"))


@pytest.mark.parametrize("name", ["./missing", "/nowhere/weights", "a/b/c"])
def test_what_is_neither_folder_nor_hub_name(name: str) -> None:
    with pytest.raises(InputError, match=f"^weights {name}: no such folder, nor can it be a name on the hub; name a"):
        locate_weights(name)


def test_names_of_the_hubs_first_years_have_no_owner() -> None:
    found = locate_weights("bert-base-uncased@main")
    assert isinstance(found, HubWeights) and (found.repository, found.revision) == ("bert-base-uncased", "main")


class Payload:
    """What would run code if a pickle were trusted."""

    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("this must not be printed",)


@pytest.mark.parametrize("content", [b"", b"no pickle", pickle.dumps(Payload(), protocol=2)])
def test_a_file_that_holds_no_weights(tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    (folder(tmp_path / "x", pickled=True) / "pytorch_model.bin").write_bytes(content)
    with pytest.raises(InputError, match=r"x: pytorch_model.bin holds no weights \(.*\); name a folder") as error:
        locate_weights(str(tmp_path / "x")).read()
    assert "\n" not in str(error.value) and "must not" not in capsys.readouterr().out


def test_a_torn_safetensors_file_and_config(tmp_path: Path) -> None:
    place = folder(tmp_path / "x")
    (place / "model.safetensors").write_bytes(b"torn")
    with pytest.raises(InputError, match="model.safetensors holds no weights"):
        locate_weights(str(place)).read()
    (place / "config.json").write_text("[1]")
    with pytest.raises(InputError, match="config.json: is no JSON object; put the config of the weights there"):
        locate_weights(str(place)).config()
    (place / "config.json").write_text("{")
    with pytest.raises(InputError, match="config.json: cannot be read"):
        locate_weights(str(place)).config()


@pytest.mark.parametrize("pickled", [False, True])
@given(part=st.floats(0, 1, exclude_max=True))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_that_is_cut_off_is_refused_before_anything_trains(tmp_path: Path, pickled: bool, part: float) -> None:
    place = tmp_path / "x"
    place.exists() or folder(place, pickled=pickled)
    found = FolderWeights(place)
    (file,) = (each for each in place.iterdir() if each.name != "config.json")
    whole = file.read_bytes()
    found.check()
    try:
        file.write_bytes(whole[: min(int(part * len(whole)), len(whole) - 1)])
        with pytest.raises(InputError, match=f"x: {file.name} holds no weights .*; name a folder"):
            found.check()
    finally:
        file.write_bytes(whole)


class Hub:
    """huggingface_hub with one model, out of reach if told so."""

    def __init__(self, files: Path, names: tuple[str, ...] = ("model.safetensors",)) -> None:
        self.files, self.names, self.reachable, self.asked, self.cached = files, names, True, 0, False

    def HfApi(self) -> Hub:  # noqa: N802  # their name
        return self

    def _answer(self) -> None:
        if not self.reachable:
            raise ConnectionError("Couldn't reach\nthe hub")

    def model_info(self, repository: str, **_: object) -> SimpleNamespace:
        self._answer()
        self.asked += 1
        sums = {name: hashlib.sha256((self.files / name).read_bytes()).hexdigest() for name in self.names}
        siblings = [SimpleNamespace(rfilename=name, lfs=SimpleNamespace(sha256=sums[name])) for name in sums]
        return SimpleNamespace(sha="c0ffee", siblings=[*siblings, SimpleNamespace(rfilename="config.json", lfs=None)])

    def hf_hub_download(self, repository: str, file: str, *, revision: str) -> str:
        if not self.cached:
            self._answer()
        assert revision == "c0ffee"
        return str(self.files / file)

    def try_to_load_from_cache(self, repository: str, file: str, *, revision: str | None) -> str | None:
        return str(self.files / file) if self.cached and (self.files / file).exists() else None


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    made = Hub(folder(tmp_path / "c0ffee"))
    for module in (common_hub, weights):
        monkeypatch.setattr(module, "import_package", lambda _: made)
    return made


def test_the_hub_tells_the_content_without_sending_it_and_is_asked_once(hub: Hub, tmp_path: Path) -> None:
    found = locate_weights("google/canine-c")
    assert isinstance(found, HubWeights) and found.shown == "google/canine-c"
    assert found.fingerprint() == FolderWeights(hub.files).fingerprint()
    hub.reachable = False
    assert locate_weights("google/canine-c").fingerprint() == found.fingerprint() and hub.asked == 1


def test_the_hubs_weights_are_read(hub: Hub) -> None:
    model = locate_weights("google/canine-c@main").read()
    assert sorted(model.tensors) == ["classifier.bias", "pooler.dense.bias"]
    assert model.where == "weights google/canine-c@main"


def test_without_a_network_the_remedy_is_named(hub: Hub) -> None:
    hub.reachable = False
    with pytest.raises(InputError) as error:
        locate_weights("google/canine-c").fingerprint()
    assert str(error.value) == (
        "weights google/canine-c: no folder of this name, and the hub at https://huggingface.co cannot be reached "
        "(Couldn't reach); name a folder with config.json and model.safetensors or "
        "pytorch_model.bin (weights: FOLDER), or take a model that starts from random weights (canine-c-scratch)"
    )


def test_without_a_network_what_was_fetched_before_serves(hub: Hub) -> None:
    hub.reachable, hub.cached = False, True
    found = locate_weights("google/canine-c")
    assert found.fingerprint() == FolderWeights(hub.files).fingerprint()
    assert found.read().tensors["classifier.bias"].tolist() == [3.0]


def test_a_model_without_known_files(hub: Hub) -> None:
    hub.names = ()
    with pytest.raises(InputError, match="the hub has no model.safetensors or pytorch_model.bin of it; name a folder"):
        locate_weights("google/canine-c").fingerprint()


def test_a_file_that_changed_on_the_way(hub: Hub) -> None:
    found = locate_weights("google/canine-c")
    assert found.fingerprint()
    save_file({"other": torch.zeros(1)}, hub.files / "model.safetensors")
    with pytest.raises(InputError, match="is not what the hub promised; remove it and start again"):
        found.read()


@pytest.mark.parametrize("content", [[1, 2], {"a": 5}, {1: torch.zeros(2)}, {"a": torch.tensor([1.0, float("nan")])}])
def test_what_is_no_tensor_by_name_or_not_finite_is_refused(tmp_path: Path, content: object) -> None:
    torch.save(content, folder(tmp_path / "x", pickled=True) / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"x: pytorch_model.bin holds no weights \(.*\); name a folder"):
        locate_weights(str(tmp_path / "x")).read()


def test_a_config_that_is_nested_without_end_is_one_line(tmp_path: Path) -> None:
    (folder(tmp_path / "x") / "config.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match="config.json: cannot be read"):
        locate_weights(str(tmp_path / "x")).config()
