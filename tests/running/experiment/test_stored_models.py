"""An experiment that comes back from the store resolves to the models that were trained, whatever keys its file had."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.models.text.base import make_tokenizer
from hashbench.results.exchange.export import scrub_text
from hashbench.running.experiment.load import Loaded, load_experiment
from hashbench.running.experiment.models import ResolvedModel, resolve_models
from hashbench.running.experiment.recipes import GONE, without_gone
from hashbench.running.experiment.resolved import model_block
from hashbench.running.experiment.stored_models import model_of_run, task_data_of_run
from hashbench.running.experiment.tasks import task_of
from hashbench.running.sweep.plan import plan
from hashbench.store.engine import Store, open_results, open_store
from hashbench.store.planning import Run, add_experiment
from hashbench.store.status import run_spec

HUB = {"canine", "eelbert", "glue"}  # of models with published weights, which are asked of the hub
FILES = [path for path in sorted((Path(__file__).parents[3] / "experiments").glob("*.yaml")) if path.stem not in HUB]
TASK = "sst2"
MIXED = """
name: mixed
models: [bert-tiny, eelbert-tiny, uno-eelbert, bert-mlm, proformer, canine-c-scratch, hashformer-lsh-proj]
baseline: bert-tiny
encoder: tiny
"""


def row(loaded: Loaded, model: ResolvedModel) -> Run:
    """A fine-tuning of a model, with as much of its spec as is read."""
    spec = {
        "kind": "finetune", "label": model.label, "task": {"name": TASK},
        "model": model_block(replace(model, spec=model.spec.without_training()), loaded.experiment.encoder),
        "finetune": model.recipe(TASK).model_dump(mode="json"),
    }  # fmt: skip
    return Run(model.label, "finetune", model.label, loaded.experiment.encoder, spec, TASK, 0)


def stored(path: Path, loaded: Loaded) -> tuple[Store, dict[str, ResolvedModel]]:
    """A database with a run of each model of an experiment, called by the label."""
    store, models = open_store(path), resolve_models(loaded)
    config = loaded.experiment.model_dump(mode="json")
    rows = [row(loaded, model) for model in models.values()]
    add_experiment(store, loaded.experiment.name, config, rows, baseline=loaded.experiment.baseline)
    return store, models


def same(one: ResolvedModel, other: ResolvedModel) -> bool:
    return (one.spec, one.recipe(TASK)) == (other.spec, other.recipe(TASK)) and (
        one.pretrain.vocabulary_size == other.pretrain.vocabulary_size or "words" in one.spec.text.tokenizer
    )


@pytest.mark.e2e
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_models_of_the_files_come_back(tmp_path: Path, file: Path) -> None:
    store, models = stored(tmp_path / "r.db", load_experiment(file))
    for label in [*models][:: max(1, len(models) // 4)]:  # each resolves the whole experiment
        found = model_of_run(store, label)
        assert found.model.label == label and same(found.model, models[label])


@pytest.mark.parametrize("said", ["", "pretrain: {vocabulary_size: 50_265}", "finetune: {max_length: 128}"])
def test_a_models_own_recipe_gives_way_to_what_the_file_said_alone(tmp_path: Path, said: str) -> None:
    """Also where the file says what is the default: the pieces of EELBERT's BERT are 30,522 if it says nothing."""
    file = tmp_path / "mixed.yaml"
    file.write_text(MIXED + said)
    store, models = stored(tmp_path / "r.db", load_experiment(file))
    assert models["bert-tiny"].pretrain.vocabulary_size == (50_265 if "vocabulary" in said else 30_522)
    for label, model in models.items():
        assert same(model_of_run(store, label).model, model)


@pytest.mark.parametrize("version", [1, 2])
def test_a_run_keeps_the_version_of_its_tokenizer(tmp_path: Path, version: int) -> None:
    """An experiment that names none meant the latest version of its day."""
    file = tmp_path / "own.yaml"
    file.write_text(
        "name: own\nencoder: tiny\nmodels: [{name: a, like: hash-emb-k2, tokenizer: unicode}]\nbaseline: a\n"
    )
    loaded = load_experiment(file)
    then = row(loaded, resolve_models(loaded)["a"])
    then.spec["model"]["tokenizer"]["version"] = version
    store = open_store(tmp_path / "r.db")
    add_experiment(store, "own", loaded.experiment.model_dump(mode="json"), [then], baseline="a")
    text = model_of_run(store, "a").model.spec.text
    assert make_tokenizer(text.tokenizer, **text.args).recipe() == then.spec["model"]["tokenizer"]


def test_a_run_that_this_version_would_read_otherwise_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mixed.yaml"
    file.write_text(MIXED)
    loaded = load_experiment(file)
    model = resolve_models(loaded)["bert-tiny"]
    changed = row(loaded, model)
    changed.spec["model"]["tokenizer"]["vocab"]["train"] = 1_234
    store = open_store(tmp_path / "r.db")
    add_experiment(store, "mixed", loaded.experiment.model_dump(mode="json"), [changed], baseline="bert-tiny")
    with pytest.raises(InputError, match=r"r\.db: 'bert-tiny' is read in another way by this version of hashbench"):
        model_of_run(store, "bert-tiny")


def test_a_data_set_that_is_not_in_the_working_folder_names_the_remedy(tmp_path: Path, monkeypatch) -> None:
    for folder in ("with", "without"):
        (tmp_path / folder).mkdir()
    (tmp_path / "with" / "mine").mkdir()
    for split in ("train", "validation"):
        (tmp_path / "with" / "mine" / f"{split}.csv").write_text("text,label\na,0\nb,1\n")
    file = tmp_path / "with" / "own.yaml"
    file.write_text("name: own\nencoder: tiny\nmodels: [bert-mlm]\nbaseline: bert-mlm\n"
                    "tasks: [{name: mine, path: mine, text: text, label: label}]\n")  # fmt: skip
    store, _ = stored(tmp_path / "r.db", load_experiment(file))
    monkeypatch.chdir(tmp_path / "without")
    with pytest.raises(InputError, match=r"r\.db: task 'mine': no .*without/mine; .* in the folder of the experiment"):
        task_of(model_of_run(store, "bert-mlm").loaded, "mine")
    monkeypatch.chdir(tmp_path / "with")
    assert task_of(model_of_run(store, "bert-mlm").loaded, "mine").name == "mine"


def test_a_data_set_of_an_exported_copy_names_no_path(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(
        "name: own\nencoder: tiny\nmodels: [bert-mlm]\nbaseline: bert-mlm\n"
        f"tasks: [{{name: mine, path: {scrub_text('/home/a/mine', frozenset())}, text: text, label: label}}]\n"
    )
    with pytest.raises(InputError, match=r"'mine': this database is a copy without the paths of data sets; name the"):
        task_of(load_experiment(file), "mine")


@pytest.mark.parametrize(
    ("tokenizer", "changed"), [("{learn_on: [mine, corpus]}", "mine/train.csv"), ("bpe", "corpora/news/a.txt")]
)
def test_texts_that_a_vocabulary_was_not_learned_on_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tokenizer: str, changed: str
) -> None:
    for folder in ("mine", "corpora/news"):
        (tmp_path / folder).mkdir(parents=True)
    for split in ("train", "validation"):
        (tmp_path / "mine" / f"{split}.csv").write_text("text,label\na,0\nb,1\n")
    (tmp_path / "corpora" / "news" / "a.txt").write_text("a b\n")
    file = tmp_path / "own.yaml"
    file.write_text(
        f"name: own\ndata: {tmp_path}\nencoder: tiny\nbaseline: bert-mlm\npretrain: {{corpora: [news]}}\nseeds: [0]\n"
        f"models: [{{name: low, like: bert-mlm, objective: none, tokenizer: {tokenizer}}}]\n"
        f"tasks: [{{name: mine, path: {tmp_path}/mine, text: text, label: label}}]\n"
    )
    monkeypatch.chdir(tmp_path)
    planned = plan(load_experiment(file))
    store = open_store(tmp_path / "r.db")
    config = planned.resolved.experiment.stored()
    add_experiment(store, "own", config, planned.runs, baseline="bert-mlm")
    run = next(run for run in planned.runs if run.model == "low")
    assert model_of_run(store, run.id).sources(None) == (str(tmp_path),)
    (tmp_path / changed).write_text("text,label\nother,0\nb,1\n")
    what = "task mine" if "mine" in changed else "corpus news"
    with pytest.raises(InputError, match=f"{what} is another than the run's, which learned from it; give that"):
        model_of_run(store, run.id).sources(None)


def test_of_an_exported_database_it_is_said_that_the_places_of_data_are_not_known() -> None:
    store = open_results("example")
    run_id = store.query("SELECT id FROM run WHERE model = 'bag-of-words' ORDER BY id LIMIT 1")[0]["id"]
    with pytest.raises(
        InputError, match="^example: is a copy without the paths of its data; say where they are: --data"
    ):
        task_data_of_run(store, run_id, None)


EXAMPLE = Path(__file__).parents[3] / "results.db.example"


def test_every_experiment_of_the_example_opens_though_keys_went(tmp_path: Path) -> None:
    """With its keys that this version has not, as `finetune.graphs`; its runs have their recipes."""
    copy = tmp_path / "example.db"
    shutil.copy(EXAMPLE, copy)
    chosen = (
        "SELECT min(run.id) FROM run JOIN experiment_run ON experiment_run.run_id = run.id "
        "WHERE kind = 'finetune' GROUP BY experiment_id"
    )
    with closing(sqlite3.connect(copy)) as rows:
        runs = [run for (run,) in rows.execute(chosen)]
        kept = [text for (text,) in rows.execute("SELECT config FROM experiment")]
    assert len(runs) > 10 and any('"graphs"' in text for text in kept)
    store = open_results(copy)
    for run in runs:
        opened = model_of_run(store, run).model.finetune.model_dump(mode="json")
        recipe = run_spec(store, run)["finetune"]
        assert {key: opened[key] for key in recipe if key not in GONE} == without_gone(recipe)
