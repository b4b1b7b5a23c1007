"""The experiment files that come with the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.models.embeddings.registry import groups
from hashbench.models.embeddings.registry import models as registered
from hashbench.models.objectives.base import pretrains
from hashbench.models.text.base import make_tokenizer
from hashbench.results.papers.paper import load_paper
from hashbench.running.efficiency.parameters import count
from hashbench.running.experiment.load import load_experiment
from hashbench.running.experiment.models import resolve_models
from hashbench.running.experiment.tuning import declared
from hashbench.running.sweep.plan import plan

FOLDER = Path(__file__).parents[3] / "experiments"
FILES = sorted(FOLDER.glob("*.yaml"))


def test_the_four_are_there() -> None:
    assert {"quickstart", "glue", "glue_tiny", "glue_mini"} <= {path.stem for path in FILES}


@pytest.mark.e2e
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_is_valid_and_known_to_editors(path: Path) -> None:
    loaded = load_experiment(path)
    assert loaded.experiment.name == path.stem
    assert set(declared(loaded, resolve_models(loaded))) == set(resolve_models(loaded))
    assert path.read_text().startswith("# yaml-language-server: $schema=schema.json\n")


def test_glue_is_the_papers_scale() -> None:
    """HashFormers, section 4.2 and tables 4 and 5; one sequence an article as in the released code. Every row of tables
    1, 2 and 3 is there."""
    loaded = load_experiment(FOLDER / "glue.yaml")
    experiment, models = loaded.experiment, resolve_models(loaded)
    assert (experiment.encoder, experiment.tasks, experiment.seeds) == ("base", "glue", (0, 1, 2))
    rows = {model for table, model, _ in load_paper("hashformers").numbers if table in ("1", "2", "3")}
    assert rows & set(registered()) <= set(models) and len(models) == 18  # canine-c and proformer-glue too
    assert models["canine-c"].finetune.max_length == 2_048 and models["bert-mlm"].finetune.max_length == 128
    assert {model.pretrain.logits for model in models.values()} == {"all"}  # as table 3 was timed
    for model in models.values():
        assert (model.finetune.learning_rate, model.finetune.epochs, model.finetune.batch_size) == (3e-5, 5, 32)
        if not pretrains(model.spec):
            continue
        rate = 1e-4 if model.spec.training.objective == "mlm" else 5e-5
        assert (model.pretrain.learning_rate, model.pretrain.warmup_steps) == (rate, 10_000)
        assert (model.pretrain.steps, model.pretrain.batch_size, model.pretrain.sequence_length) == (500_000, 128, 512)
        assert model.pretrain.first_chunk_only


def test_proformer_is_the_papers_scale() -> None:
    """Section 3; the number of steps is not stated there."""
    models = resolve_models(load_experiment(FOLDER / "proformer.yaml"))
    for name in ("proformer", "proformer-k4"):
        recipe = models[name].recipe("mrda")
        assert (recipe.learning_rate, recipe.batch_size, recipe.betas) == (1e-4, 256, (0.9, 0.999))
        assert (recipe.weight_decay, recipe.warmup_steps, recipe.schedule) == (0.01, 10_000, "linear")


def test_the_pair_of_superbloom_on_text_has_one_size() -> None:
    """Of 50,000 items: 2 x (5,000 + 3) rows of 128 numbers beside 50,003 of 34."""
    loaded = load_experiment(FOLDER / "superbloom_text_tiny.yaml")
    rows = {"text-a10-d128": 2 * 5_003, "text-plain-d34": 50_003}
    found = {
        label: count(model.spec, loaded.experiment.encoder, vocabulary_rows=rows[label]).total
        for label, model in resolve_models(loaded).items()
    }
    assert loaded.experiment.task_blocks["phrases"].items == 50_000
    assert found == {"text-a10-d128": 1_786_904, "text-plain-d34": 1_798_795}


def test_superbloom_on_text_is_the_papers_scale() -> None:
    """Table 4: a million items; the four models as they are named."""
    loaded = load_experiment(FOLDER / "superbloom_text.yaml")
    assert (
        loaded.experiment.task_blocks["phrases"].items == 1_000_000
        and loaded.experiment.task_blocks["phrases"].sequence_items == 128
    )
    assert set(resolve_models(loaded)) == set(groups()["superbloom-text"])


def test_the_quickstart_plans_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path))
    planned = plan(load_experiment(FOLDER / "quickstart.yaml"))
    assert [task.task.name for task in planned.resolved.tasks] == ["cola", "sst2"]
    assert list(planned.resolved.models) == ["bert-mlm", "hashformer-md-proj", "hashformer-lsh-proj"]
    kinds = [run.kind for run in planned.runs]
    assert [kinds.count(kind) for kind in ("pretrain", "floor", "finetune", "efficiency")] == [3, 6, 6, 3]


def test_embeddings_are_compared_at_equal_size_text_start_and_seeds() -> None:
    loaded = load_experiment(FOLDER / "embeddings_tiny.yaml")
    models = resolve_models(loaded)
    assert {model.pretrain.words_per_row for model in models.values()} == {128}
    assert {model.pretrain.all_seeds for model in models.values()} == {(0, 1, 2, 3)}
    assert {model.spec.initial_spread for model in models.values()} == {"matched"}
    assert {model.spec.training.objective for model in models.values()} == {"shuffle_random"}
    sizes = {label: count(model.spec, "tiny").embedding for label, model in models.items()}
    free = {label: size for label, size in sizes.items() if label not in ("lsh-proj", "eelbert")}
    assert all(abs(size - 230_000) <= 0.02 * 230_000 for size in free.values()), sizes
    texts = [make_tokenizer(model.spec.text.tokenizer, **model.spec.text.args).recipe() for model in models.values()]
    assert [text for text in texts if text["kind"] == "words"] == 8 * [make_tokenizer("words").recipe()]
    starts = [models["bpe"].start_of(seed) for seed in loaded.experiment.seeds]
    assert starts == [0, 1, 0, 1, 2, 3, 2, 3]


SHARED = ("sst2", "stsb", "ag_news")


@pytest.mark.parametrize(
    ("name", "others"), [("embeddings_tiny", ("scratch", "average")), ("embeddings_tiny_2", ("scratch",))]
)
def test_the_common_file_has_the_same_pretrainings_and_what_they_buy(name: str, others: tuple[str, ...]) -> None:
    whole, common = (resolve_models(load_experiment(FOLDER / f"{name}{end}.yaml")) for end in ("", "_common"))
    for label, model in whole.items():
        assert (common[label].spec, common[label].pretrain) == (model.spec, model.pretrain)
        seeds = {"seeds": ()}  # the file's, or the same ones of these models
        assert [common[label].recipe(task).model_copy(update=seeds) for task in SHARED] == [
            model.recipe(task).model_copy(update=seeds) for task in SHARED
        ]
        for other in (common[f"{label}-{end}"] for end in others):
            assert not pretrains(other.spec)
            alike = [
                (of.text.tokenizer, of.text.args, of.code.coder, of.embedding.family,
                 {name: value for name, value in of.code.args.items() if name != "num_buckets"})
                for of in (model.spec, other.spec)
            ]  # fmt: skip
            assert alike[0] == alike[1] and other.spec.initial_spread == "matched"
            # rows of another width fill the same budget as far as whole rows do
            sizes = [count(of, "tiny").embedding for of in (model.spec, other.spec)]
            assert sizes[0] == sizes[1] or all(abs(size - 230_000) <= 0.02 * 230_000 for size in sizes), label
