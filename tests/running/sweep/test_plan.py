"""running/sweep/plan.py: which runs, in which order, under which ids."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.data.tasks.named.public import TOPICS
from hashbench.data.tasks.text import LocatedTexts
from hashbench.running.experiment.identity import run_id
from hashbench.running.experiment.schema import LARGEST_KEPT
from hashbench.running.runs.base import keeps_best, weight_bytes
from hashbench.running.sweep.dry_run import weights_line
from hashbench.running.sweep.plan import check_data, plan, refuse_other_runs
from hashbench.running.sweep.stored_plan import data_origins
from hashbench.store import packing
from hashbench.store.planning import Run

MODELS = "models: [bert-mlm, hashformer-md-proj]\n"
RAW = "{name: raw, like: hashformer-md-proj, objective: none}"


def ids(runs: tuple[Run, ...], kind: str) -> list[str]:
    return [run.id for run in runs if run.kind == kind]


def test_kinds_and_order(experiment) -> None:
    """Pre-trainings, floors task by task, then seed by seed and task by task all models, timings last."""
    runs = plan(experiment(MODELS + "efficiency: true\nfloors: [majority]")).runs
    assert [(run.kind, run.model, run.task, run.seed) for run in runs] == [
        ("pretrain", "bert-mlm", None, 0),
        ("pretrain", "hashformer-md-proj", None, 0),
        ("floor", "majority", "cola", None),
        ("floor", "majority", "stsb", None),
        ("finetune", "bert-mlm", "cola", 0),
        ("finetune", "hashformer-md-proj", "cola", 0),
        ("finetune", "bert-mlm", "stsb", 0),
        ("finetune", "hashformer-md-proj", "stsb", 0),
        ("finetune", "bert-mlm", "cola", 1),
        ("finetune", "hashformer-md-proj", "cola", 1),
        ("finetune", "bert-mlm", "stsb", 1),
        ("finetune", "hashformer-md-proj", "stsb", 1),
        ("efficiency", "bert-mlm", None, None),
        ("efficiency", "hashformer-md-proj", None, None),
    ]
    assert len({run.id for run in runs}) == 14


def test_positions_that_pretraining_does_not_train_are_noted(experiment) -> None:
    """Pre-training on 32 tokens, fine-tuning on 128; a model without pre-training trains all that it reads."""
    (note,) = plan(experiment(f"models: [bert-mlm, hashformer-md-proj, {RAW}]\n")).notes
    assert note == (
        "bert-mlm, hashformer-md-proj: fine-tunings read up to 128 tokens (finetune.max_length), and pre-training "
        "trains 32 positions (pretrain.sequence_length): positions 33 to 128 begin untrained"
    )
    assert plan(experiment(MODELS + "finetune: {max_length: 32}")).notes == ()
    by_share = plan(experiment(MODELS + "finetune: {max_length: {keep: 0.99, at_most: 64}}")).notes
    assert "positions 33 to 64 begin untrained" in by_share[0]


def test_a_measurement_is_repeated_as_a_run_of_its_own(experiment) -> None:
    once = ids(plan(experiment(MODELS + "efficiency: true")).runs, "efficiency")
    again = plan(experiment(MODELS + "efficiency: {repeats: 3}")).runs
    repeated = ids(again, "efficiency")
    assert repeated[:2] == once, "what was measured before counts as the first"
    assert len(set(repeated)) == 6
    assert [run.model for run in again if run.kind == "efficiency"] == 3 * ["bert-mlm", "hashformer-md-proj"]


def test_a_finetuning_waits_for_its_models_pretraining(experiment) -> None:
    runs = plan(experiment(MODELS)).runs
    pretrain = {run.model: run.id for run in runs if run.kind == "pretrain"}
    assert {run.kind for run in runs} >= {"pretrain", "finetune"} and len(pretrain) == 2
    for run in runs:
        assert run.needs == ((pretrain[run.model],) if run.kind == "finetune" else ())


def test_streaming_makes_another_run(experiment) -> None:
    """Its order and replacements are others; false is what it was before there was the key."""
    prepared, said, streamed = (
        ids(plan(experiment(f"models: [{{name: hashformer-md-proj, pretrain: {block}}}]")).runs, "pretrain")
        for block in ("{}", "{streaming: false}", "{streaming: true}")
    )
    assert prepared == said != streamed


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("bert-mlm", "its BPE is trained on them"),
        ("hashformer-lsh-proj", "coder lsh-bits learns from them what there is"),
    ],
)
def test_a_model_that_needs_a_pass_cannot_be_streamed(experiment, model: str, reason: str) -> None:
    line = rf"^a\.yaml:\d+: '{model}' needs a pass over the corpora before: {reason}; give it pretrain: \{{streaming: f"
    with pytest.raises(InputError, match=line):
        plan(experiment(f"models: [hashformer-md-proj, {{name: {model}, pretrain: {{streaming: true}}}}]"))


def test_streaming_is_not_timed(experiment) -> None:
    entry = "{name: hashformer-md-proj, pretrain: {streaming: true}}"
    with pytest.raises(InputError, match="efficiency times pre-training on prepared corpora; leave it or streaming"):
        plan(experiment(f"models: [{entry}]\nefficiency: true"))


def test_without_an_objective_there_is_no_pretraining(experiment) -> None:
    runs = plan(experiment(f"models: [{RAW}]")).runs
    assert ids(runs, "pretrain") == []
    assert {run.needs for run in runs} == {()}
    assert {run.spec["corpus"] for run in runs if run.kind == "finetune"} == {None}  # MD5 learns nothing from text


def test_the_experiments_own_reading_of_a_run(experiment) -> None:
    runs = plan(experiment(MODELS)).runs
    assert {(run.task, run.metric, run.split) for run in runs if run.task} == {
        ("cola", "matthews", "validation"),
        ("stsb", "spearman", "validation"),
    }


def test_two_labels_of_one_thing_share_their_runs(experiment) -> None:
    one = plan(experiment("models: [hashformer-md-proj]")).runs
    other = plan(experiment("models: [{name: another-name, like: hashformer-md-proj}]")).runs
    assert [run.id for run in one] == [run.id for run in other]


def test_models_that_differ_in_finetuning_share_the_pretraining(experiment) -> None:
    runs = plan(experiment("models: [bert-mlm, {name: m, like: bert-mlm, finetune: {epochs: 1}}]")).runs
    assert len(set(ids(runs, "pretrain"))) == 1
    assert len(set(ids(runs, "finetune"))) == len(ids(runs, "finetune"))


SAME = {
    "another name": "name: other",
    "more workers": "workers: 7",
    "a device": "device: cpu",
    "more devices": "devices: 2",
    "tracking": "tracking: {wandb: offline}",
    "retries": "retries: 5",
    "kept weights": "keep_weights: best",
    "checkpoints": "checkpoint_minutes: 1",
    "a default spelled out": "finetune: {epochs: 5}",
}


def change(experiment, line: str) -> list[str]:
    """Ids of the small experiment with a line that replaces one of its own or is added."""
    key, value = line.split(": ", 1)
    on_cpu = ["device=cpu"] if key == "devices" else []  # where several devices need no GPUs
    return [run.id for run in plan(experiment(MODELS, f"{key}={value}", *on_cpu)).runs]


@pytest.mark.parametrize("line", SAME.values(), ids=SAME)
def test_what_is_not_part_of_the_identity(experiment, line: str) -> None:
    assert change(experiment, line) == change(experiment, "seeds: [0, 1]")


OTHER = {
    "steps": "pretrain.steps: 11",
    "corpus cut": "pretrain.max_documents: 5",
    "vocabulary": "pretrain.vocabulary_size: 501",
    "precision": "pretrain.precision: bf16",
    "pre-training seed": "pretrain.seed: 1",
    "threads": "threads: 1",
    "encoder": "encoder: mini",
}


@pytest.mark.parametrize("line", OTHER.values(), ids=OTHER)
def test_what_changes_every_trained_run_of_a_bpe_model(experiment, line: str) -> None:
    key, value = line.split(": ")
    before = plan(experiment("models: [bert-mlm]\nfloors: []")).runs
    after = plan(experiment("models: [bert-mlm]\nfloors: []", f"{key}={value}")).runs
    assert not {run.id for run in before} & {run.id for run in after}


def test_a_words_model_does_not_care_for_the_size_of_a_bpe(experiment) -> None:
    before = plan(experiment("models: [hashformer-md-proj]")).runs
    after = plan(experiment("models: [hashformer-md-proj]", "pretrain.vocabulary_size=501")).runs
    assert [run.id for run in before] == [run.id for run in after]


def measured(experiment, lines: str, *overrides: str) -> dict[str, Run]:
    """The efficiency runs of an experiment by model."""
    runs = plan(experiment(f"{lines}\nefficiency: true\nfloors: []", *overrides)).runs
    return {run.model: run for run in runs if run.kind == "efficiency"}


@pytest.mark.parametrize("key", ["pad_to_max=true", "max_length=64", "precision=bf16"])
def test_what_a_measurement_depends_on_is_in_its_id(experiment, key: str) -> None:
    before, after = measured(experiment, MODELS), measured(experiment, MODELS, f"finetune.{key}")
    assert not {run.id for run in before.values()} & {run.id for run in after.values()}
    assert not any(name.startswith("baseline_") and name != "baseline_corpus" for name in after["bert-mlm"].spec)


def test_a_baseline_measured_by_another_recipe_is_in_the_id(experiment) -> None:
    """The models' own recipes are the same in both; only what the baseline does differs."""
    name, change = "hashformer-md-proj", "pretrain: {logits: all}, finetune: {max_length: 64}"
    lines = "models:\n  - {{name: base, like: bert-mlm{}}}\n  - hashformer-md-proj"
    plain = measured(experiment, lines.format(""), "baseline=base")
    other = measured(experiment, lines.format(f", {change}"), "baseline=base")
    assert "baseline_pretrain" not in plain[name].spec and "baseline_finetune" not in plain[name].spec
    on_hardware = {"precision": "32"}
    assert other[name].spec["baseline_pretrain"] == {"logits": "all", **on_hardware}
    assert other[name].spec["baseline_finetune"] == {"max_length": 64, "pad_to_max": False, **on_hardware}
    assert plain[name].id != other[name].id


def test_what_is_not_measured_leaves_the_measurement_alone(experiment) -> None:
    before, after = measured(experiment, MODELS), measured(experiment, MODELS, "finetune.epochs=1")
    assert [run.id for run in before.values()] == [run.id for run in after.values()]


def test_two_labels_give_one_id_twice_in_a_plan(experiment) -> None:
    planned = plan(experiment("models: [hashformer-md-proj, {name: again, like: hashformer-md-proj}]\nfloors: []"))
    assert len(planned.runs) == 2 * len({run.id for run in planned.runs})
    assert planned.counts == plan(experiment("models: [hashformer-md-proj]\nfloors: []")).counts


def test_a_cache_folder_that_cannot_be_is_found_before_the_first_run(experiment, tmp_path: Path, monkeypatch) -> None:
    loaded = experiment(MODELS)
    monkeypatch.delenv("HASHBENCH_CACHE")
    (tmp_path / ".hashbench").write_text("")
    with pytest.raises(InputError, match=r"\.hashbench is no folder; set HASHBENCH_CACHE to a folder that can be"):
        plan(loaded)


def test_a_device_that_is_not_there_is_found_before_the_first_run(experiment, monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="^override device=cuda: device: this machine has no cuda device"):
        plan(experiment(MODELS, "device=cuda"))


@pytest.mark.parametrize("options", [{"dry": True}, {"here": False}], ids=["dry run", "check"])
@pytest.mark.parametrize("device", ["gpu", "cuda:1"])
def test_a_plan_that_this_machine_does_not_carry_out_notes_its_device(experiment, monkeypatch, device, options) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: device == "cuda:1")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: ["a card"][index])
    planned = plan(experiment(f"{MODELS}\nefficiency: true", f"device={device}"), **options)
    assert [note for note in planned.notes if "this machine has no" in note] == [planned.notes[0]]


def test_finetuning_keys_leave_the_pretraining_alone(experiment) -> None:
    before, after = (plan(experiment(MODELS, f"finetune.epochs={n}")).runs for n in (1, 2))
    assert ids(before, "pretrain") == ids(after, "pretrain")
    assert not set(ids(before, "finetune")) & set(ids(after, "finetune"))


def test_no_path_stands_in_a_spec(experiment, tmp_path: Path) -> None:
    folder = tmp_path / "sets"
    folder.mkdir()
    for split in ("train", "validation"):
        (folder / f"{split}.csv").write_text("text,label\ngood,1\nbad,0\n")
    task = "tasks=[{name: own, path: sets, text: text}]"
    planned = plan(experiment(MODELS, task))
    assert str(tmp_path) not in json.dumps([run.spec for run in planned.runs])
    moved = tmp_path / "moved"
    folder.rename(moved)
    again = plan(experiment(MODELS, task.replace("sets", "moved")))
    assert [run.id for run in planned.runs] == [run.id for run in again.runs]


def test_other_data_are_other_runs(experiment, tmp_path: Path) -> None:
    folder = tmp_path / "sets"
    folder.mkdir()
    task = "tasks=[{name: own, path: sets, text: text}]"
    found = []
    for word in ("good", "fine"):
        for split in ("train", "validation"):
            (folder / f"{split}.csv").write_text(f"text,label\n{word},1\nbad,0\n")
        found.append(plan(experiment(MODELS, task)).runs)
    assert ids(found[0], "pretrain") == ids(found[1], "pretrain")
    assert not set(ids(found[0], "finetune")) & set(ids(found[1], "finetune"))


def test_a_run_says_what_its_task_is_grouped_by(experiment, tmp_path: Path) -> None:
    """Tables know tasks by this; it is no part of the identity."""
    for split in ("train", "validation", "test"):
        file = tmp_path / "data" / "multilingual" / "sib200" / "hin_Deva" / f"{split}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(json.dumps({"text": f"{topic} {split}", "category": topic}) for topic in TOPICS))
    overrides = (f"data={tmp_path / 'data'}", "tasks=[sib200:hin_Deva]")
    runs = plan(experiment(f"models: [{RAW}]\nfloors: [majority]", *overrides)).runs
    assert {run.kind for run in runs} == {"floor", "finetune"}
    for run in runs:
        assert run.spec["settings"]["traits"] == {"language": "Hindi", "script": "Devanagari"}
        assert run_id({**run.spec, "settings": {}}) == run.id


def test_planning_reads_no_data_set(experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(self: LocatedTexts) -> None:
        raise AssertionError(f"{self.task.name} was read")

    monkeypatch.setattr(LocatedTexts, "load", read)
    planned = plan(experiment(MODELS))
    with pytest.raises(AssertionError, match="cola was read"):  # the trap works
        check_data(planned)


FAULTS = {
    "unknown task": ("tasks=[colaa]", "unknown task 'colaa'; did you mean 'cola'?"),
    "metric that does not fit": (
        "finetune.select_metric=matthews",
        "override finetune.select_metric=matthews: metric 'matthews' does not fit task 'stsb'; its metrics: ",
    ),
    "unknown metric of an own task": (
        "tasks=[{name: own, path: ., text: t, metric: acuracy}]",
        "unknown metric 'acuracy'; did you mean 'accuracy'",
    ),
    "task without data": ("tasks=[wnli]", "wnli"),
    "corpus that no source has": ("pretrain.corpora=[wikipedia]", "wikipedia"),
    "folder that is not there": ("data=nowhere", "override data=nowhere: data: no folder "),
    "own task without a folder": ("tasks=[{name: own, path: nowhere, text: t}]", "no folder"),
    "own task named like one of the suite": ("tasks=[{name: cola, path: ., text: t}]", "is a task of the suite"),
    "unknown baseline": ("baseline=bert-mln", "unknown model 'bert-mln'; did you mean 'bert-mlm'"),
}


@pytest.mark.parametrize(("override", "message"), FAULTS.values(), ids=FAULTS)
def test_wrong_input_is_found_before_the_first_run(experiment, override: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        plan(experiment(MODELS, override))
    assert message in str(error.value) and "\n" not in str(error.value)
    assert str(error.value).startswith(f"override {override.partition('=')[0]}=")


def test_a_recipe_of_one_task(experiment) -> None:
    """Only the runs of that task change, and they are those of an experiment in which the value holds for all."""
    plain, own, all_tasks = (
        {run.task: run for run in plan(experiment(MODELS, *overrides)).runs if run.kind == "finetune"}
        for overrides in ((), ("finetune.per_task={cola: {epochs: 7}}",), ("finetune.epochs=7",))
    )
    assert own["stsb"].id == plain["stsb"].id
    assert own["cola"].id == all_tasks["cola"].id != plain["cola"].id
    assert own["cola"].spec["finetune"]["epochs"] == 7


def test_a_recipe_of_a_task_that_an_override_leaves_out_stays_unread(experiment) -> None:
    text = MODELS + "\nfinetune:\n  per_task:\n    cola: {epochs: 7}\n    stsb: {epochs: 9}"
    runs = [run for run in plan(experiment(text, "tasks=[cola]")).runs if run.kind == "finetune"]
    assert {(run.task, run.spec["finetune"]["epochs"]) for run in runs} == {("cola", 7)}
    with pytest.raises(InputError, match="no task 'colaa'"):
        plan(experiment(text, "tasks=[cola]", "finetune.per_task={colaa: {epochs: 1}}"))


TASK_FAULTS = {
    "a task that is not there": (
        "    colaa: {epochs: 1}",
        "a.yaml:11: finetune.per_task: no task 'colaa' in this experiment; did you mean 'cola'?; its tasks: cola, stsb",
    ),
    "an unknown key": ("    cola: {epoch: 1}", "a.yaml:11: unknown key 'finetune.per_task.cola.epoch'; did you mean"),
    "a wrong value": ("    cola: {epochs: 0}", "a.yaml:11: finetune.per_task.cola.epochs: must be greater than 0"),
    "a metric": ("    stsb: {select_metric: f1}", "metric 'f1' does not fit task 'stsb'"),
}


@pytest.mark.parametrize(("line", "message"), TASK_FAULTS.values(), ids=TASK_FAULTS)
def test_a_wrong_recipe_of_one_task(experiment, line: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        plan(experiment("models: [hashformer-md-proj]\nfinetune:\n  per_task:\n" + line))
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_data_folder_without_a_train_split(experiment, tmp_path: Path) -> None:
    (tmp_path / "d/glue/cola").mkdir(parents=True)
    (tmp_path / "d/glue/cola/validation.csv").write_text("sentence,label\na,1\n")
    with pytest.raises(InputError, match=r"^a\.yaml:5: .*no train split; put a train file there"):
        plan(experiment(MODELS), data=[str(tmp_path / "d")])


def test_a_label_that_is_none(experiment, tmp_path: Path) -> None:
    (tmp_path / "sets").mkdir()
    for split in ("train", "validation"):
        (tmp_path / f"sets/{split}.csv").write_text("text,label\ngood,1\nbad,\n")
    planned = plan(experiment(MODELS, "tasks=[{name: own, path: sets, text: text}]"))
    with pytest.raises(InputError, match="label"):
        check_data(planned)


@pytest.mark.parametrize("read", [check_data, data_origins])  # of `check`, and of a sweep before its first run
def test_outputs_that_no_reader_would_take_are_refused_before_the_first_run(experiment, monkeypatch, read) -> None:
    planned = plan(experiment(MODELS))
    monkeypatch.setattr(packing, "MOST_BYTES", 100)
    with pytest.raises(InputError, match=r"task '\w+': \w+ has [\d,]+ rows and \d outputs a row, [\d,]+ bytes, and no"):
        read(planned)


def test_small_models_keep_their_best_weights_by_default(experiment) -> None:
    """Uno-EELBERT has 281,986 parameters as deployed (test_export.py); bert-mlm at base has more than 32 MiB."""
    small = plan(experiment("models: [uno-eelbert]", "encoder=tiny"))
    line = weights_line(small.runs, small.resolved)
    (model,) = small.resolved.models.values()
    assert keeps_best(small.resolved.experiment, model)
    assert weight_bytes(model, "tiny") == 4 * 281_986 and "finetune; keep_weights: auto)" in line
    large = plan(experiment("models: [bert-mlm]", "encoder=base"))
    (model,) = large.resolved.models.values()
    assert weight_bytes(model, "base") > LARGEST_KEPT and not keeps_best(large.resolved.experiment, model)
    assert "(1 pretrain; keep_weights: auto)" in weights_line(large.runs, large.resolved)
    for keep, kept in (("best", True), ("pretrained", False), ("none", False)):
        chosen = plan(experiment("models: [uno-eelbert]", "encoder=tiny", f"keep_weights={keep}"))
        assert keeps_best(chosen.resolved.experiment, model) is kept
    assert weights_line(chosen.runs, chosen.resolved) == "weights kept: about 0 MB (none; keep_weights: none)"


def test_a_machine_that_would_plan_other_runs_is_refused(experiment) -> None:
    """Timings apart, which name the machine."""
    planned = plan(experiment(MODELS + "efficiency: true"))
    runs = {run.id: run for run in planned.runs}
    refuse_other_runs(planned.resolved, runs, "worker on a")
    refuse_other_runs(planned.resolved, {key: run for key, run in runs.items() if run.kind != "efficiency"}, "a")
    first, *others = planned.runs
    with pytest.raises(InputError, match=r"^worker on a: another plan than the stored one, 1 of \d+ runs differ; give"):
        other = replace(first, id="0" * 64)
        refuse_other_runs(planned.resolved, {run.id: run for run in (other, *others)}, "worker on a")
    with pytest.raises(InputError, match=r"^worker on a: unknown kind of run 'own'; give this machine the own file"):
        refuse_other_runs(planned.resolved, {other.id: replace(other, kind="own")}, "worker on a")


def test_models_that_an_initial_spread_does_not_apply_to_are_noted(experiment) -> None:
    *_, note = plan(experiment("initial_spread: matched\nmodels: [bert-mlm, canine-c]\n"), dry=True).notes
    assert note == "initial_spread does not apply to published weights: canine-c"


def test_a_learning_rate_above_1_gets_a_note(experiment) -> None:
    changes = ("finetune.learning_rate=[1.0e-3, 3]", "pretrain.learning_rate=1.0e-3")
    (note,) = plan(experiment("models: [bert-mlm]\nfinetune: {max_length: 32}\n", *changes)).notes
    assert note.startswith("bert-mlm: finetune.learning_rate 3 is above 1")


def test_a_recipe_of_one_task_is_for_texts(experiment) -> None:
    lines = "models: [superbloom-d256l1]\nbaseline: superbloom-d256l1\n"
    changes = ("tasks=[entities]", "finetune.per_task={entities: {epochs: 2}}")
    with pytest.raises(InputError, match=r"finetune.per_task: task 'entities' has items, and one recipe for all"):
        plan(experiment(lines, *changes))


def test_what_two_folders_have_is_read_from_the_first_and_named(experiment, tmp_path: Path) -> None:
    for name, tasks in {"new": ["sst2"], "old": ["sst2", "cola"]}.items():
        for task in tasks:
            folder = tmp_path / name / "glue" / task
            folder.mkdir(parents=True)
            for split in ("train", "validation"):
                (folder / f"{split}.csv").write_text(f"sentence,label\n{name},0\nb,1\n")
        (tmp_path / name / "corpora" / "news").mkdir(parents=True)
        (tmp_path / name / "corpora" / "news" / "a.txt").write_text(f"{name}\n")
    loaded = experiment("models: [bert-mlm]\n", "tasks=[sst2, cola]", "pretrain.corpora=[news]")
    new, old = str(tmp_path / "new"), str(tmp_path / "old")
    planned = plan(loaded, data=[new, old])
    named = [note for note in planned.notes if "read from" in note]
    assert named == [f"{what}: read from {new}, not from {old}" for what in ("task sst2", "corpus news")]
    assert [entry.origin for entry in planned.resolved.tasks] == ["folder new", "folder old"]
    assert plan(loaded, data=[old, new]).resolved.tasks[0].fingerprint != planned.resolved.tasks[0].fingerprint
    (tmp_path / "old" / "glue" / "sst2" / "validation.csv").unlink()  # not whole, and still meant for the task
    assert set(named) < set(plan(loaded, data=[new, old]).notes)


def test_an_experiment_without_a_run_is_refused(experiment) -> None:
    with pytest.raises(InputError, match=r"tasks: is empty, and no model is pre-trained, so there is no run; name a t"):
        plan(experiment("models: [{name: m, like: hashformer-md-proj, objective: none}]", "tasks=[]"))
    assert [run.kind for run in plan(experiment("models: [bert-mlm]", "tasks=[]")).runs] == ["pretrain"]


def test_a_baseline_that_is_none_of_the_models_is_noted(experiment) -> None:  # type: ignore[no-untyped-def]
    other = "models: [hashformer-md-proj]\nbaseline: BASELINE\n"

    def notes_with(baseline: str) -> list[str]:
        planned = plan(experiment(other.replace("BASELINE", baseline)), dry=True)
        return [note for note in planned.notes if "none of the models" in note]

    (note,) = notes_with("bert-mlm")
    assert note.startswith("baseline bert-mlm is none of the models") and note.endswith("write baseline: MODEL")
    assert notes_with("hashformer-md-proj") == []
