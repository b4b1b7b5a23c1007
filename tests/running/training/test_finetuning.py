"""Which evaluation counts, which learning rate is taken, and what is read once."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from hashbench.common.measured import MetricRow
from hashbench.data.tasks.catalogue import find_task
from hashbench.data.tasks.noise import TrainingNoise
from hashbench.data.tasks.text import no_value
from hashbench.data.tasks.text_batches import FinetuningData
from hashbench.models.objectives.heads import ClassificationHead
from hashbench.running.experiment.recipes import Finetune, FinetuneRecipe
from hashbench.running.training.finetuning import (
    FinetuningModule,
    Job,
    best_recipe,
    finetune,
    report_once,
    score_splits,
    undecided,
    without_value,
)
from hashbench.running.training.machine import Machine
from hashbench.running.training.model import build_model
from hashbench.running.training.module import Curves
from hashbench.running.training.recipe import training_length
from hashbench.running.training.task_training import Evaluation, Progress, evaluation_interval

SPLIT = {"one": slice(0, 1), "other": slice(1, 4)}  # of four rows


def taken(*selections):
    progress = Progress()
    for step, selection in enumerate(selections, 1):
        progress.add(Evaluation(step, selection, {}))
    return progress


def test_the_first_evaluation_counts():
    assert taken(0.9, 0.5).best.step == 1


def test_ties_go_to_the_later_one():
    assert taken(0.5, 0.7, 0.7, 0.6).best.step == 3


def test_an_undefined_score_never_beats_a_defined_one():
    assert taken(None, None).best.step == 2
    assert taken(0.1, None).best.step == 1
    assert taken(None, 0.1).best.step == 2


def test_patience_counts_evaluations_without_gain():
    assert taken(0.5, 0.5, 0.4).without_gain == 2
    assert taken(0.5, 0.6).without_gain == 0


def test_patience_does_not_count_evaluations_without_a_value():
    assert taken(None, None, None).without_gain == 0
    assert taken(0.5, None, 0.4, None).without_gain == 1
    assert taken(None, 0.5, None).without_gain == 0


@pytest.mark.parametrize(
    ("task", "rows", "expected"),
    # The paper's numbers for n training rows: s = ceil(ceil(n / 32) / 5), three times that for CoLA and its like.
    [("cola", 8551, 162), ("mrpc", 3668, 69), ("rte", 2490, 48), ("stsb", 5749, 108), ("sst2", 67349, 421)],
)
def test_evaluations_follow_the_papers_rule(prepared, task, rows, expected):
    data = prepared("hashformer-md-proj").finetuning(task, rows=40)
    data.rows["train"] = replace(data.rows["train"], offsets=np.arange(rows + 1))
    data.batch_size = 32
    assert evaluation_interval(Finetune(epochs=5, batch_size=32), data.data.task, data.steps_per_epoch) == expected


def test_steps_take_the_place_of_epochs(prepared):
    data = prepared("hashformer-md-proj").finetuning("cola", rows=40)  # five batches of eight an epoch
    assert training_length(Finetune(epochs=3), data.steps_per_epoch) == (15, 3)
    assert training_length(Finetune(epochs=3, steps=7), data.steps_per_epoch) == (7, 2)
    task, per_epoch = data.data.task, data.steps_per_epoch
    assert evaluation_interval(Finetune(steps=7, evaluation_steps=3, evaluations=2), task, per_epoch) == 3
    assert evaluation_interval(Finetune(epochs=3, steps=7, evaluations=2), task, per_epoch) == 4
    assert evaluation_interval(Finetune(epochs=3, evaluations=5), task, per_epoch) == 3
    assert evaluation_interval(Finetune(steps=2, evaluations_per_epoch=1), task, per_epoch) == 2


def test_a_training_of_so_many_steps_ends_there(prepared, tmp_path):
    """Seven steps are an epoch and two fifths; evaluated at steps 4 and, the end always counts, 7."""
    made = prepared("hashformer-md-proj")
    recipe = FinetuneRecipe(batch_size=8, learning_rate=1e-3, steps=7, evaluations=2, warmup_steps=3, schedule="linear")
    data, model = made.finetuning("cola", rows=40), build_model(made.spec, "tiny", seed=0)
    done = finetune(model, data, Job(made.spec, recipe, 0), machine=Machine(tmp_path, device="cpu"))
    assert done.steps == 7 and done.last.step == 7
    assert sorted({point.step for point in done.points if point.split == "validation"}) == [4, 7]


def test_a_table_is_whole_where_noise_makes_other_types(prepared, tmp_path):
    made, noise = prepared("hash-emb-k2"), TrainingNoise(kind="delete", rate=1.0)
    recipe = FinetuneRecipe(batch_size=8, learning_rate=1e-3, steps=2, evaluations=1, noise=noise)
    data, model = made.finetuning("cola", rows=16, noise=noise), build_model(made.spec, "tiny", seed=0)
    done = finetune(model, data, Job(made.spec, recipe, 0), machine=Machine(tmp_path, device="cpu"))
    assert done.steps == 2 and all(part.places is None for part in model.embedding.modules() if hasattr(part, "places"))


def module_of(prepared, recipe, *, keep_best_weights=False):
    """The module of a training on 40 rows of CoLA, before its first step."""
    made = prepared("hashformer-md-proj")
    model = build_model(made.spec, "tiny", seed=0)
    head, data = ClassificationHead(model.config.dim, 2), made.finetuning("cola", rows=40)
    options = {"seed": 0, "keep_best_weights": keep_best_weights}
    return FinetuningModule(model, head, recipe, data, **options)


def test_weights_that_are_kept_do_not_follow_the_training(prepared):
    module = module_of(prepared, FinetuneRecipe(batch_size=8, learning_rate=1e-3), keep_best_weights=True)
    before = {name: value.clone() for name, value in module.state_dict().items() if name[:5] in ("model", "head.")}
    module.take_in(Evaluation(1, 0.5, {}), keep_weights=True)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(1.0)
    kept = module.progress.best.weights
    assert kept.keys() == before.keys() and all(torch.equal(kept[name], before[name]) for name in kept)


@pytest.mark.parametrize(("select_metric", "expected"), [(None, 2 / 12**0.5), ("accuracy", 0.75)])
def test_evaluations_are_compared_by_the_recipes_metric_or_the_tasks(select_metric, expected):
    """Three of four right: Matthews' correlation, which is CoLA's, is (1 * 2 - 0 * 1) / sqrt(1 * 2 * 3 * 2)."""
    data = SimpleNamespace(
        data=SimpleNamespace(task=find_task("cola")), targets=lambda split: np.array([1, 1, 0, 0])[SPLIT[split]]
    )
    outputs = {split: np.eye(2)[[1, 0, 0, 0]][rows] for split, rows in SPLIT.items()}
    found = score_splits(data, outputs, Curves(10, None), 1, select_metric)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(("values", "rates"), [({"warmup_steps": 3}, [0, 1 / 3, 2 / 3, 1, 6 / 7]), ({}, [0, 1, 8 / 9])])
def test_warm_up_in_steps_or_as_a_share(prepared, values, rates):
    """Of ten steps, linear: three of warm-up, or a tenth."""
    recipe = FinetuneRecipe(
        batch_size=8, learning_rate=1e-3, steps=10, schedule="linear", warmup_fraction=0.1, **values
    )
    factor = module_of(prepared, recipe).configure_optimizers()["lr_scheduler"]["scheduler"].lr_lambdas[0]
    assert [factor(step) for step in range(len(rates))] == pytest.approx(rates)


def run(prepared, folder, rate, data=None, **changes):
    made = prepared("hashformer-md-proj")
    recipe = FinetuneRecipe(epochs=2, batch_size=8, learning_rate=rate, evaluations_per_epoch=1)
    job = Job(made.spec, recipe, 0, **changes)
    model = build_model(made.spec, "tiny", seed=0)
    data = data or made.finetuning("cola", rows=40)
    return finetune(model, data, job, machine=Machine(folder, device="cpu")), data


def test_best_weights_give_the_best_outputs_again(prepared, tmp_path):
    done, data = run(prepared, tmp_path, 1e-3, keep_best_weights=True)
    done.restore_best()
    model, head = done.model.eval(), done.head.eval()
    batches = list(data.evaluation_loader("validation"))
    assert sum(map(len, batches)) == len(done.best.outputs["validation"]) > 0
    for batch in batches:
        with torch.inference_mode():
            outputs = head(model(batch), batch.mask).numpy()
        expected = done.best.outputs["validation"][batch.row_ids.numpy()]
        np.testing.assert_allclose(outputs, expected, atol=1e-6)


@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_rows_of_types_outside_the_task_change_by_decay_alone(prepared, tmp_path, decay):
    made = prepared("bert-mlm")
    model = build_model(made.spec, "tiny", seed=0, vocabulary_rows=made.rows)
    before = model.embedding.weight.detach().clone()
    recipe = FinetuneRecipe(epochs=1, batch_size=8, learning_rate=1e-3, evaluations_per_epoch=1, weight_decay=decay)
    data = made.finetuning("cola", rows=16)
    job = Job(made.spec, recipe, 0, keep_best_weights=True)
    done = finetune(model, data, job, machine=Machine(tmp_path, device="cpu"))
    done.restore_best()
    done.model.embedding.widen()
    after = done.model.embedding.weight
    outside = torch.ones(len(before), dtype=torch.bool)
    outside[torch.tensor(data.codes[:, 0].astype(int))] = False
    outside[:5] = False
    assert after.shape == before.shape
    assert outside.any() and torch.equal(after[outside], before[outside]) == (decay == 0.0)
    assert (after != before)[~outside].any()


def test_a_test_set_is_read_once_at_the_end_with_the_best_weights(prepared, tmp_path):
    made = prepared("hashformer-md-proj")
    data = made.finetuning("cola", rows=40)
    task = replace(data.data.task, report_splits=("test",))
    splits = data.data.splits | {"test": data.data.splits["validation"]}
    data.data = replace(data.data, task=task, splits=splits)
    data.rows["test"] = data.rows["validation"]
    done, _ = run(prepared, tmp_path, 1e-3, data=data)
    assert "test" not in done.best.outputs
    assert not [point for point in done.points if point.split == "test"]
    done.restore_best()
    points = []
    outputs = report_once(done, data, points, Machine(tmp_path, device="cpu"), Finetune())
    np.testing.assert_allclose(outputs["test"], done.best.outputs["validation"], atol=1e-6)
    assert {(point.split, point.step) for point in points} == {("test", done.best.step)}


def test_one_learning_rate_is_taken_as_it_is(prepared, tmp_path):
    spec, machine = prepared("hashformer-md-proj").spec, Machine(tmp_path, device="cpu")
    recipe, tried = best_recipe(
        Finetune(learning_rate=3e-4), spec, lambda: pytest.fail("nothing is trained"), seed=0, machine=machine
    )
    assert recipe.learning_rate == 3e-4 and tried == []


def test_a_grid_takes_the_rate_with_the_best_held_out_score(prepared, tmp_path):
    made = prepared("hashformer-md-proj")
    recipe = Finetune(epochs=3, batch_size=8, learning_rate=(3e-3, 1e-9), evaluations_per_epoch=1)
    splits = []

    def held_out(_recipe):
        data = made.finetuning("sst2", rows=400)
        held = FinetuningData(
            data.data.held_out(seed=0),
            made.corpus.tokenizer,
            made.coder,
            template=made.spec.text.template,
            batch_size=8,
            max_length=32,
            seed=0,
            folder=made.folder,
        )
        splits.append((len(held.rows["train"]), held.select_splits))
        return build_model(made.spec, "tiny", seed=0), held

    machine = Machine(tmp_path, device="cpu")
    best, tried = best_recipe(recipe, made.spec, held_out, seed=0, machine=machine)
    assert splits == [(360, ("holdout",))] * 2
    assert [point.name for point in tried] == ["learning_rate=1e-09", "learning_rate=0.003"]
    highest = max(tried, key=lambda point: point.value)
    assert best.learning_rate == (3e-3 if highest.name == "learning_rate=0.003" else 1e-9)


def test_a_grid_without_a_score_says_that_nothing_was_chosen():
    scores = [MetricRow(f"learning_rate={rate}", None, "holdout", reason="no span is there") for rate in (1, 2)]
    assert undecided(scores) == (
        "no combination has a score (no span is there), so that nothing was chosen and the first is taken: "
        "learning_rate=1"
    )
    assert undecided([]) == undecided([scores[0], MetricRow("learning_rate=2", 0.5, "holdout")]) == ""


def test_a_search_on_rows_of_one_class_says_which_metric_has_no_value(prepared, tmp_path):
    made = prepared("hashformer-md-proj")
    data = made.finetuning("cola", rows=40)
    one = data.data.splits["validation"].take(np.flatnonzero(data.data.splits["validation"].labels == 1)[:8])
    constant = replace(data.data, splits={**data.data.splits, "validation": one})
    assert without_value(SimpleNamespace(data=constant, select_splits=("validation",))) == (
        "matthews has no value on validation: the targets are constant"
    )
    assert no_value(data.data, "matthews", ["validation"]) == ""


def test_a_rate_of_a_grid_at_which_the_loss_is_lost_loses(prepared, tmp_path):
    made = prepared("hashformer-md-proj")
    recipe = Finetune(epochs=1, batch_size=8, learning_rate=(1e-3, 1e30), evaluations_per_epoch=1)

    def held_out(_recipe):
        return build_model(made.spec, "tiny", seed=0), made.finetuning("cola", rows=40)

    machine = Machine(tmp_path, device="cpu")
    best, tried = best_recipe(recipe, made.spec, held_out, seed=0, machine=machine)
    assert best.learning_rate == 1e-3 and tried[0].value is not None
    assert tried[1].value is None and tried[1].reason.startswith("the loss is ")
