"""running/sweep/estimate.py: how long a sweep still takes, by its finished runs."""

from __future__ import annotations

from hashbench.common.showing import duration_text
from hashbench.running.sweep.estimate import half_line, seconds_left
from hashbench.running.sweep.plan import Plan, plan
from hashbench.store.planning import Run


def runs_of(kind: str, number: int) -> list[Run]:
    return [Run(f"{kind}{n}", kind, f"m{n}", "tiny", {"kind": kind}) for n in range(number)]


def test_each_kind_has_the_mean_of_its_finished_runs() -> None:
    runs = runs_of("pretrain", 2) + runs_of("finetune", 5)
    taken = {"pretrain0": 600.0, "finetune0": 10.0, "finetune1": 30.0}
    assert seconds_left(runs, taken, 1) == 600 + 3 * 20
    assert seconds_left(runs, taken, 2) == (600 + 3 * 20) / 2


def test_nothing_is_known_before_a_run_of_each_kind_is_finished() -> None:
    runs = runs_of("pretrain", 1) + runs_of("finetune", 2)
    assert seconds_left(runs, {}, 1) is None and seconds_left(runs, {"pretrain0": 600.0}, 1) is None
    assert seconds_left(runs, {"finetune0": 9.0}, 1) is None


def test_timings_run_alone_and_nothing_is_left_when_all_is_done() -> None:
    runs = runs_of("efficiency", 3)
    assert seconds_left(runs, {"efficiency0": 30.0}, 4) == 60
    assert seconds_left(runs, {run.id: 9.0 for run in runs}, 4) == 0


def test_two_labels_of_a_run_are_one() -> None:
    first, second = runs_of("finetune", 2)
    assert seconds_left([first, second, second], {first.id: 8.0}, 1) == 8


RAW = "models: [{name: raw, like: hashformer-md-proj, objective: none}]\nbaseline: raw\nfloors: []\n"
PRETRAINED = "models: [hashformer-md-proj]\nbaseline: hashformer-md-proj\nfloors: []\n"


def halved(planned: Plan, seconds: dict[str, float], done: int = 1) -> str:
    """The line, where the first `done` runs of each kind took so many seconds."""
    taken: dict[str, float] = {}
    for kind, each in seconds.items():
        taken |= dict.fromkeys([run.id for run in planned.runs if run.kind == kind][:done], each)
    return half_line(planned.resolved, planned.runs, taken, 1)


def about(text: str, seconds: float) -> str:
    return f"half the time: {text} (about {duration_text(seconds)} left)"


def test_nothing_is_known_of_half_the_time_before_a_run_is_finished(experiment) -> None:
    planned = plan(experiment(RAW))
    assert half_line(planned.resolved, planned.runs, {}, 1) == ""


def test_nothing_is_said_where_all_is_done(experiment) -> None:
    planned = plan(experiment(RAW))
    assert half_line(planned.resolved, planned.runs, {run.id: 5.0 for run in planned.runs}, 1) == ""


def test_fewer_seeds_of_which_finished_runs_stay_finished(experiment) -> None:
    planned = plan(experiment(RAW, "seeds=[0,1,2,3]", "tasks=[cola,stsb,mrpc]", "finetune.epochs=1"))
    # 11 of 12 are left; two seeds leave 5 of 6, and one task, 3 of 4, leaves less
    assert halved(planned, {"finetune": 60.0}) == about("seeds=[0,1]", 5 * 60)
    # of two seeds all are done: three leave 3 of 6
    assert halved(planned, {"finetune": 60.0}, done=6) == about("seeds=[0,1,2]", 3 * 60)


def test_fewer_epochs_are_done_anew(experiment) -> None:
    planned = plan(experiment(RAW, "seeds=[0]", "tasks=[cola,stsb,mrpc,rte]", "finetune.epochs=8"))
    # three of four are left, 240 s: all four with 3 epochs take 120 s, with 4 they take 160 s; two tasks leave one
    assert halved(planned, {"finetune": 80.0}) == about("finetune.epochs=3", 4 * 80 * 3 / 8)


def test_a_model_with_epochs_of_its_own_keeps_them(experiment) -> None:
    lines = RAW.replace("objective: none}", "objective: none, finetune: {epochs: 7}}")
    planned = plan(experiment(lines, "seeds=[0]", "tasks=[cola,stsb]", "finetune.epochs=8"))
    assert halved(planned, {"finetune": 80.0}) == "half the time: no override of seeds, epochs, steps or tasks alone"


def test_a_pre_training_that_takes_most_of_the_time_is_halved_by_its_steps(experiment) -> None:
    options = ("pretrain.steps=1000", "pretrain.seeds=[0,1]", "seeds=[0,1]", "tasks=[cola]")
    planned = plan(experiment(PRETRAINED, *options))
    # of two pre-trainings one is left, of two fine-tunings too; all are done anew with fewer steps, in
    # 2 n / 1000 hours and two seconds
    assert halved(planned, {"pretrain": 3600.0, "finetune": 1.0}) == about("pretrain.steps=274", 2 * 3600 * 0.274 + 2)


def test_steps_stay_above_a_warm_up_that_the_file_names(experiment) -> None:
    options = (
        "pretrain.steps=1000",
        "pretrain.warmup_steps=900",
        "pretrain.seeds=[0,1]",
        "seeds=[0,1]",
        "tasks=[cola]",
    )
    planned = plan(experiment(PRETRAINED, *options))
    line = halved(planned, {"pretrain": 3600.0, "finetune": 1.0})
    assert line == "half the time: no override of seeds, epochs, steps or tasks alone"
