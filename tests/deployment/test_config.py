"""Whose code a folder may run: the suite's own without a question, any other only when it is trusted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.common.own_files import digest_of
from hashbench.common.registry import own_name
from hashbench.deployment.config import copy_own_code, spec_of
from hashbench.deployment.description import Config, read_config
from hashbench.extend import Coder, Tokenizer
from hashbench.models.embeddings.base import CodeSpec, EmbeddingSpec
from hashbench.models.embeddings.registry import find_model, load_own
from hashbench.running.experiment.exported import spec_values

OWN = """
from pathlib import Path
Path({marker!r}).touch()
from hashbench.models.embeddings.hashformer import Projection
class Mine(Projection):
    pass
"""


def config_with(embedding: str) -> Config:
    values = spec_values(find_model("hashformer-md-proj"), "tiny", None)
    return Config("mine", "ab" * 32, "tiny", values | {"embedding": embedding}, 16)


def test_an_embedding_of_the_suite_needs_no_trust(tmp_path: Path) -> None:
    own = config_with("hashbench.models.embeddings.hashformer:Projection")
    assert spec_of(own, tmp_path).embedding.family.__name__ == "Projection"


@pytest.mark.parametrize("module", ["hashbench.embeddings.hashformer", "hashbench.embeddings.renamed_since"])
def test_folders_of_earlier_versions_name_their_modules_otherwise(tmp_path: Path, module: str) -> None:
    family = spec_of(config_with(f"{module}:Projection"), tmp_path).embedding.family
    assert family is find_model("hashformer-md-proj").embedding.family


def test_a_folder_names_the_module_of_today() -> None:
    values = spec_values(find_model("hashformer-md-proj"), "tiny", None)
    assert values["embedding"] == "hashbench.models.embeddings.hashformer:Projection"


def test_a_class_that_the_suite_has_not_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is none of this version's"):
        spec_of(config_with("hashbench.embeddings.gone:Gone"), tmp_path)


def test_code_in_the_folder_runs_only_when_it_is_trusted(tmp_path: Path) -> None:
    marker = tmp_path / "it ran"
    (tmp_path / "embedding.py").write_text(OWN.format(marker=str(marker)))
    config = config_with("embedding.py:Mine")
    with pytest.raises(InputError, match=r"embedding\.py: code of whoever made this folder.*add --trust-code"):
        spec_of(config, tmp_path)
    assert not marker.exists()
    assert spec_of(config, tmp_path, trust_code=True).embedding.family.__name__ == "Mine"
    assert marker.exists()


OWN_PART = """
from pathlib import Path
Path({marker!r}).touch()
from hashbench.extend import Coder, Tokenizer
from hashbench.models.coders.md5 import Md5Bits
from hashbench.models.text.words import WordTokenizer
class MyCoder(Md5Bits):
    name = ""
class MyTokenizer(WordTokenizer):
    name = ""
"""
OWN_NAMES = {"coder": "MyCoder", "tokenizer": "MyTokenizer"}


@pytest.mark.parametrize("file", ["embedding.py", "own"])
@pytest.mark.parametrize("what", list(OWN_NAMES))
def test_a_coder_or_tokenizer_of_the_folder_runs_only_when_it_is_trusted(tmp_path: Path, what: str, file: str) -> None:
    marker = tmp_path / "it ran"
    place = tmp_path / (f"{what}.py" if file == "own" else file)
    place.write_text(OWN_PART.format(marker=str(marker)))
    name = f"{OWN_NAMES[what]}@{digest_of(place)}"
    config = config_with("hashbench.models.embeddings.hashformer:Projection")
    config = replace(config, spec=config.spec | {what: name, f"{what}_args": {}})
    with pytest.raises(InputError, match=rf"{place.name}: code of whoever made this folder.*add --trust-code"):
        spec_of(config, tmp_path)
    assert not marker.exists()
    found = spec_of(config, tmp_path, trust_code=True)
    assert name in (found.code.coder, found.text.tokenizer) and marker.exists()


def test_a_file_with_another_digest_is_not_run(tmp_path: Path) -> None:
    marker = tmp_path / "it ran"
    (tmp_path / "coder.py").write_text(OWN_PART.format(marker=str(marker)))
    config = config_with("hashbench.models.embeddings.hashformer:Projection")
    config = replace(config, spec=config.spec | {"coder": "MyCoder@0123456789ab", "coder_args": {}})
    with pytest.raises(InputError, match="unknown name 'MyCoder@0123456789ab'"):
        spec_of(config, tmp_path, trust_code=True)
    assert not marker.exists()


def test_the_files_of_a_models_code_are_copied_once(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(OWN_PART.format(marker=str(tmp_path / name)) + f"NUMBER = {name!r}\n")
    (tmp_path / "embedding.py").write_text(OWN.format(marker=str(tmp_path / "three")))
    spec = replace(find_model("hashformer-md-proj"), embedding=EmbeddingSpec(load_own(f"{tmp_path}/embedding.py:Mine")))
    coder = own_name("one.py:MyCoder", tmp_path, Coder, "coder")
    tokenizer = own_name("two.py:MyTokenizer", tmp_path, Tokenizer, "tokenizer")
    spec = replace(spec, code=CodeSpec(coder), text=replace(spec.text, tokenizer=tokenizer))
    folder = tmp_path / "folder"
    folder.mkdir()
    copy_own_code(spec, folder)
    for copied, name in (("embedding.py", "embedding"), ("coder.py", "one"), ("tokenizer.py", "two")):
        assert (folder / copied).read_bytes() == (tmp_path / f"{name}.py").read_bytes()
    both = replace(spec, text=replace(spec.text, tokenizer=own_name("one.py:MyTokenizer", tmp_path, Tokenizer, "")))
    again = tmp_path / "again"
    again.mkdir()
    copy_own_code(both, again)
    assert sorted(path.name for path in again.iterdir()) == ["coder.py", "embedding.py", "tokenizer.py"]


@pytest.mark.parametrize(
    "reference",
    ["this:Zen", "hashbench:Zen", "hashbench.cli.app:Zen", "embedding.py/../../other.py:Zen", "../embedding.py:Zen"],
)
def test_no_other_module_is_imported_unasked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], reference: str
) -> None:
    with pytest.raises(InputError, match=r"config\.json: embedding .* is no part of hashbench"):
        spec_of(config_with(reference), tmp_path)
    assert "Zen of Python" not in capsys.readouterr().out


def test_a_path_is_no_module_even_where_code_is_trusted(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no part of hashbench"):
        spec_of(replace(config_with("../embedding.py:Zen")), tmp_path, trust_code=True)


def test_a_vocabulary_that_a_coder_reads_from_the_hub_is_that_of_the_training(tmp_path: Path) -> None:
    values = spec_values(find_model("hashformer-lsh-proj"), "tiny", None)
    config = Config("mine", "ab" * 32, "tiny", values, 16, commits={"roberta-base": "e2da8e"})
    values["coder_args"]["lsh_bpe"] = "roberta-base"
    assert spec_of(config, tmp_path).code.args["lsh_bpe"] == "roberta-base@e2da8e"
    config.write(tmp_path)
    assert read_config(tmp_path).commits == config.commits
    assert "lsh_bpe" not in find_model("hashformer-lsh-proj").code.args  # the named model keeps its own values


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(\w|\w\w)*!", r"\w+(?=x)", r"[a-z]+|(b|b)*"])
def test_a_regular_expression_that_may_take_for_ever_is_refused_unless_trusted(tmp_path: Path, pattern: str) -> None:
    values = spec_values(find_model("hashformer-md-proj"), "tiny", None)
    values |= {"tokenizer": "words", "tokenizer_args": {"pattern": pattern}}
    config = Config("mine", "ab" * 32, "tiny", values, 16)
    with pytest.raises(InputError, match=r"config\.json: tokenizer_args: a regular expression that may take for ever"):
        spec_of(config, tmp_path)
    assert spec_of(config, tmp_path, trust_code=True).text.args["pattern"] == pattern


@pytest.mark.parametrize("pattern", ["default", "whitespace", r"[^\W\d_]+|\d", r"\w+"])
def test_classes_of_characters_need_no_trust(tmp_path: Path, pattern: str) -> None:
    values = spec_values(find_model("hashformer-md-proj"), "tiny", None)
    values |= {"tokenizer": "words", "tokenizer_args": {"pattern": pattern}}
    assert spec_of(Config("mine", "ab" * 32, "tiny", values, 16), tmp_path).text.args["pattern"] == pattern
