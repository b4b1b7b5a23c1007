"""A run that is stopped and taken up again equals one that was never stopped: bit for bit, wherever it was stopped."""

import contextlib
import threading

import pytest
import torch

from hashbench.common.shared import SharedFolder
from hashbench.running.experiment.recipes import FinetuneRecipe, PretrainRecipe
from hashbench.running.training.checkpoints import CheckpointFiles
from hashbench.running.training.finetuning import Job, finetune
from hashbench.running.training.machine import Interrupted, Machine
from hashbench.running.training.model import build_model, make_head
from hashbench.running.training.pretraining import pretrain
from tests.damage import DAMAGES
from tests.running.training.stopping import StopAfter

STEPS = 17  # not a multiple of an epoch's batches
torch.set_num_threads(1)


def pretrained(prepared, name, folder, stops=(), to_its_end=True, shared=None, words=None, length=16, size=48):
    """Weights and loss points of a pre-training that is interrupted after each number of steps in `stops`."""
    made = prepared(name) if words is None else prepared(name, words)
    recipe = PretrainRecipe(steps=STEPS, learning_rate=1e-3, warmup_steps=2, batch_size=8, sequence_length=length)
    for stop in (*stops, None) if to_its_end else stops:
        torch.manual_seed(torch.seed())  # a new process has other generators
        model = build_model(made.spec, "tiny", seed=0, vocabulary_rows=made.rows)
        head = make_head(model, made.spec.training.objective)
        should_stop = threading.Event() if stop is None else StopAfter(stop)
        machine = Machine(folder, device="cpu", should_stop=should_stop, shared=shared)
        try:
            data = made.pretraining(batch_size=size, sequence_length=length)
            done = pretrain(model, head, data, recipe, total_steps=STEPS, machine=machine)
        except Interrupted:
            assert stop is not None
            continue
        assert stop is None, "the run was not interrupted"
        return done
    assert not to_its_end, "never finished"
    return None


@pytest.mark.parametrize("name", ["bert-mlm", "hashformer-md-pool", "hashformer-lsh-add"])
def test_pretraining_resumes_exactly(prepared, tmp_path, name):
    whole = pretrained(prepared, name, tmp_path / "whole")
    assert whole.steps == STEPS
    assert prepared(name).pretraining(batch_size=48).steps_per_epoch < STEPS, "the test must cross an epoch"
    for stops in ([1], [3, 4], [8], [9, 2], [15]):
        resumed = pretrained(prepared, name, tmp_path / f"stops{stops}", stops)
        assert resumed.steps == STEPS
        assert [vars(point) for point in resumed.points] == [vars(point) for point in whole.points]
        for key, weights in whole.model.state_dict().items():
            assert torch.equal(weights, resumed.model.state_dict()[key]), (stops, key)


@pytest.mark.parametrize("name", ["bert-mlm", "hashformer-md-pool"])
def test_a_pretraining_on_rows_of_words_resumes_exactly(prepared, tmp_path, name):
    rows = {"words": 12, "length": 40, "size": 16}
    whole = pretrained(prepared, name, tmp_path / "whole", **rows)
    data = prepared(name, 12).pretraining(batch_size=16, sequence_length=40)
    assert data.bucketed and data.steps_per_epoch < STEPS, "the test must cross an epoch"
    facts = {(fact.split, fact.name): fact.value for fact in whole.facts}
    assert facts["", "tokens"] == data.tokens_read(STEPS) and facts["held-out rows", "loss"] > 0
    assert (("held-out rows", "separation") in facts) == (name != "bert-mlm")
    for stops in ([3, 4], [9, 2]):
        resumed = pretrained(prepared, name, tmp_path / f"stops{stops}", stops, **rows)
        assert [vars(point) for point in resumed.points] == [vars(point) for point in whole.points]
        assert resumed.facts == whole.facts
        for key, weights in whole.model.state_dict().items():
            assert torch.equal(weights, resumed.model.state_dict()[key]), (stops, key)


def checkpoints(folder):
    return sorted(path.name for path in folder.glob("resume-*.ckpt"))


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_gives_way_to_the_one_before_and_to_a_new_start(prepared, tmp_path, damage, capsys):
    name = "hashformer-md-pool"
    whole = pretrained(prepared, name, tmp_path / "whole")
    for damaged in (["resume-000000015.ckpt"], ["resume-000000005.ckpt", "resume-000000015.ckpt"]):
        folder = tmp_path / str(len(damaged))
        pretrained(prepared, name, folder, (4, 9), to_its_end=False)
        assert checkpoints(folder) == ["resume-000000005.ckpt", "resume-000000015.ckpt"]
        for file in damaged:
            DAMAGES[damage](folder / file)
        resumed = pretrained(prepared, name, folder)
        assert [vars(point) for point in resumed.points] == [vars(point) for point in whole.points]
        for key, weights in whole.model.state_dict().items():
            assert torch.equal(weights, resumed.model.state_dict()[key])
        lines = capsys.readouterr().err
        assert [str(folder / file) in lines for file in damaged] == [True] * len(damaged)
        assert lines.count("set aside") == len(damaged)


def test_another_machine_goes_on_from_a_shared_checkpoint(prepared, tmp_path):
    name = "hashformer-md-pool"
    whole = pretrained(prepared, name, tmp_path / "whole")
    first, second = (SharedFolder.at(str(tmp_path / "there"), tmp_path / cache) for cache in ("a", "b"))
    pretrained(prepared, name, first.cache / "running" / "1", (4, 9), to_its_end=False, shared=first)
    folder = second.cache / "running" / "1"
    assert CheckpointFiles(folder, second).newest() == folder / "resume-000000015.ckpt"
    resumed = pretrained(prepared, name, folder, shared=second)
    assert [vars(point) for point in resumed.points] == [vars(point) for point in whole.points]
    for key, weights in whole.model.state_dict().items():
        assert torch.equal(weights, resumed.model.state_dict()[key])


def test_a_checkpoint_without_checksums_is_set_aside(prepared, tmp_path, capsys):
    whole, folder = pretrained(prepared, "hashformer-md-pool", tmp_path / "whole"), tmp_path / "c"
    pretrained(prepared, "hashformer-md-pool", folder, (4,), to_its_end=False)
    (written,) = (folder / file for file in checkpoints(folder))
    (folder / f"{written.name}.files.json").unlink()
    assert CheckpointFiles(folder).newest() is None
    assert f"{written.name}: has no checksums" in capsys.readouterr().err
    resumed = pretrained(prepared, "hashformer-md-pool", folder)
    assert [vars(point) for point in resumed.points] == [vars(point) for point in whole.points]


def finetuned(prepared, folder, stops=(), task="cola", epochs=3, seed=0):
    made = prepared("hashformer-md-proj")
    recipe = FinetuneRecipe(epochs=epochs, batch_size=8, learning_rate=1e-3, evaluations_per_epoch=2)
    for stop in (*stops, None):
        model = build_model(made.spec, "tiny", seed=0)
        should_stop = threading.Event() if stop is None else StopAfter(stop)
        machine = Machine(folder, device="cpu", should_stop=should_stop)
        job = Job(made.spec, recipe, seed)
        try:
            return finetune(model, made.finetuning(task, seed=seed), job, machine=machine)
        except Interrupted:
            assert stop is not None
    raise AssertionError("never finished")


def test_the_time_of_earlier_attempts_is_known(prepared, tmp_path):
    made, spent = prepared("hashformer-md-proj"), []
    job = Job(made.spec, FinetuneRecipe(epochs=2, batch_size=8, learning_rate=1e-3, evaluations_per_epoch=2), 0)
    for stop in (3, 3, None):
        machine = Machine(tmp_path, device="cpu", should_stop=threading.Event() if stop is None else StopAfter(stop))
        with contextlib.suppress(Interrupted):
            data = made.finetuning("cola", seed=0)
            finetune(build_model(made.spec, "tiny", seed=0), data, job, machine=machine)
        spent.append(machine.earlier)
    (second,), (third,) = spent[1:]
    assert spent[0] == [] and 0 < second < third


def test_finetuning_resumes_exactly(prepared, tmp_path):
    whole = finetuned(prepared, tmp_path / "whole")
    assert whole.steps == 3 * 8
    evaluated = [point.step for point in whole.points if point.name == "matthews"]
    assert evaluated == [4, 8, 12, 16, 20, 24]
    for stops in ([1], [5, 7], [11], [18]):
        resumed = finetuned(prepared, tmp_path / f"stops{stops}", stops)
        assert resumed.steps == whole.steps
        assert [vars(point) for point in resumed.points] == [vars(point) for point in whole.points], stops
        assert resumed.best.step == whole.best.step
        for split, outputs in whole.last.outputs.items():
            assert (outputs == resumed.last.outputs[split]).all()
        for split, outputs in whole.best.outputs.items():
            assert (outputs == resumed.best.outputs[split]).all()


def test_another_seed_is_another_run(prepared, tmp_path):
    first = finetuned(prepared, tmp_path / "a", epochs=1)
    second = finetuned(prepared, tmp_path / "b", epochs=1, seed=1)
    assert (first.last.outputs["validation"] != second.last.outputs["validation"]).any()


def test_two_selection_splits_are_evaluated_and_chosen_together(prepared, tmp_path):
    done = finetuned(prepared, tmp_path, task="mnli", epochs=1)
    assert set(done.best.outputs) == {"validation_matched", "validation_mismatched"}
    assert done.last.outputs["validation_matched"].shape[1] == 3
    at_end = {p.split: p.value for p in done.points if p.name == "accuracy" and p.step == done.last.step}
    sizes = {split: len(outputs) for split, outputs in done.last.outputs.items()}
    together = sum(at_end[split] * n for split, n in sizes.items()) / sum(sizes.values())
    assert done.last.selection == pytest.approx(together)


def test_a_regression_has_one_output(prepared, tmp_path):
    done = finetuned(prepared, tmp_path, task="stsb", epochs=1)
    assert done.last.outputs["validation"].shape[1] == 1
    assert {point.name for point in done.points} >= {"loss", "pearson", "spearman"}
