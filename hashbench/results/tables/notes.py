"""What a table stands on, line by line: data, encoder, steps, deviations from the paper's recipe, code, machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from hashbench.results.papers.paper import Paper
from hashbench.results.read.measured import PERCENT, Measured
from hashbench.results.read.origins import (
    SourcesOfRun,
    TaskOrigin,
    data_warnings,
    different_sources,
    scratch_warning,
    sources_of,
    starts,
    task_origins,
)
from hashbench.results.read.runs import MeasuredRun, RunOrigin
from hashbench.results.tables.recipes import (
    corpora_of,
    distinct,
    encoder_deviation,
    finetuning_deviations,
    plain,
    pretraining_deviations,
    tuned_on_reported,
    tuning_line,
)
from hashbench.results.tables.table import SCORES, Table

# That move numbers
PACKAGES = ("hashbench", "python", "torch", "lightning", "numpy", "scikit-learn")
SHORT = 8  # letters of a fingerprint or commit
Thing = TypeVar("Thing")
Lines = list[tuple[str, str]]  # (what, value)


def warnings(measured: Measured, paper: Paper, table: Table) -> list[str]:
    """What must be said loudly above and below a table."""
    corpora = {name for run in measured.pretrainings() for name in corpora_of(run)}
    lines = data_warnings(task_origins(measured, paper), sorted(corpora), published=table.published)
    lines += scratch_warning(measured.runs)
    lines += tuned_on_reported(measured) if {column.measure for column in table.columns} & SCORES else []
    lines += _weak_baseline(measured.experiment.baseline, table)
    if not table.published:
        return lines
    scale = encoder_deviation(measured, paper)
    lines_of_both = [*pretraining_deviations(measured, paper), *finetuning_deviations(measured, paper)]
    steps = [line for line in lines_of_both if line.startswith(("steps ", "corpora "))]
    if scale or steps:
        lines.append(f"NOT THE PAPER'S SCALE: {'; '.join(scale + steps)}: published values are no target here.")
    other = list(dict.fromkeys(task for task, _, _ in table.readings if task not in paper.tasks))
    if paper.data and other:
        on_what = f"measured on {', '.join(other)} (paper: {paper.data})"
        lines.append(f"NOT THE PAPER'S DATA: {on_what}: published values are no target here.")
    return lines


def _weak_baseline(baseline: str, table: Table) -> list[str]:
    """That shares of a baseline's score say little where a trivial one reaches it: dividing by next to nothing."""
    of_baseline = [row for row in table.rows if row.model == baseline]
    weak = [
        column.title
        for column in table.columns
        if column.measure == "prr" and any(row.cells[column.name].under for row in of_baseline if row.cells)
    ]
    if not weak:
        return []
    return [
        f"WEAK BASELINE: {baseline} is not above the best trivial baseline on {', '.join(weak)}: PRR there is a share "
        "of a score that shows nothing learned; the average has it too."
    ]


def provenance(measured: Measured, paper: Paper, table: Table) -> Lines:
    """All lines under a table, without those that its columns do not stand on and those without content."""
    measures = {column.measure for column in table.columns}
    scores, facts = bool(measures & SCORES), "fact" in measures
    lines = [
        ("experiment", _experiment(measured)),
        ("data", _data(task_origins(measured, paper))),
        ("metrics", _metrics(measured, table) if scores else ""),
        ("encoder", distinct(run.encoder for run in measured.runs if not run.is_baseline)),
        ("pre-training", _pretraining(measured)),
        ("fine-tuning", _finetuning(measured) if scores else ""),
        ("tuning", tuning_line(measured) if scores or facts else ""),
        ("constant predictions", constant_predictions(measured) if scores else ""),
        ("unknown tokens", noted(measured, "unknown_tokens") if scores else ""),
        ("words", noted(measured, "words") if scores else ""),
        ("checkpoint", _checkpoint(measured, table) if scores and not measured.hides_items() else ""),
        ("deviations", "" if measured.hides_items() else _deviations(measured, paper)),
        ("timing", timing_line(measured) if facts else ""),
        ("commits", _commits(measured)),
        ("different code", "; ".join(different_sources(_sources(measured)))),
        ("software", _software(measured)),
        ("machines", _machines(measured)),
    ]
    return [(what, value) for what, value in lines if value]


def _done(measured: Measured) -> list[RunOrigin]:
    return [run.origin for run in measured.runs if run.state == "done"]


def _each_once(values: Iterable[Thing]) -> list[Thing]:
    """Objects without repetitions: what runs that differ by seed share is one object, and need not be compared."""
    return list({id(value): value for value in values}.values())


def _experiment(measured: Measured) -> str:
    ids = {run.run_id for run in measured.runs}
    done = {run.run_id for run in measured.runs if run.state == "done"}
    finished = [origin.finished_at for origin in _done(measured) if origin.finished_at]
    ends = (min(finished), max(finished)) if finished else ()
    dates = dict.fromkeys(datetime.fromtimestamp(moment, UTC).date().isoformat() for moment in ends)
    when = f", {' to '.join(dates)} (UTC)" if dates else ""
    return f"{measured.experiment.name}: {len(done)} of {len(ids)} runs finished{when}"


def _data(origins: dict[str, TaskOrigin]) -> str:
    """Origin, notes, reported examples and fingerprint of every task; what all tasks share stands once, in front."""
    texts_of = {
        task: [
            *(place for place in dict.fromkeys(origin.origins) if not any(n.startswith(place) for n in origin.notes)),
            *dict.fromkeys(origin.notes),
        ]
        for task, origin in origins.items()
    }
    shared = [text for text in next(iter(texts_of.values()), []) if all(text in texts for texts in texts_of.values())]
    parts = []
    for task, origin in origins.items():
        words = [text for text in texts_of[task] if text and text not in shared]
        if origin.n_reported:
            words.append(f"{origin.n_reported:,} examples")
        if origin.fingerprints:
            words.append("data " + " and ".join(fingerprint[:SHORT] for fingerprint in origin.fingerprints))
        parts.append(f"{task} ({', '.join(words)})" if words else task)
    return (", ".join(shared) + ": " if shared else "") + "; ".join(parts)


def _metrics(measured: Measured, table: Table) -> str:
    """Metric and split that the table reads for each task: the paper's choice, or the experiment's in its own table."""
    by_reading: dict[tuple[str, str], list[str]] = {}
    for task, metric, split in _readings(measured, table):
        by_reading.setdefault((metric, split), []).append(task)
    how = f"{table.statistic} over seeds: " if table.statistic != "mean" and by_reading else ""
    return how + "; ".join(f"{metric} on {split}: {', '.join(tasks)}" for (metric, split), tasks in by_reading.items())


def _readings(measured: Measured, table: Table) -> list[tuple[str, str, str]]:
    """(task, metric, split) of all scores that a table stands on."""
    readings = list(table.readings)
    if table.paper and not readings:  # a table of ratios
        readings = [(task, *reading) for task, reading in measured.readings(table.paper).items()]
    order = measured.tasks()
    return sorted((reading for reading in readings if reading[0] in order), key=lambda reading: order.index(reading[0]))


def _pretraining(measured: Measured) -> str:
    steps: dict[str, dict[str, None]] = {}  # of each recipe: several where weights were taken on the way
    for run in measured.pretrainings():
        recipe = run.block("pretrain")
        notes = dict(run.origin.notes)
        corpora = notes["corpora"] if "corpora" in notes else " and ".join(corpora_of(run))
        documents = run.spec["corpus"]["max_documents"] if run.spec["corpus"] else None
        first = f" (first {documents:,} documents)" if documents else ""
        words = (
            f"of {recipe['batch_size']} x {recipe['sequence_length']} tokens "
            f"on {corpora or 'no corpus'}{first}, seed {run.seed}, precision {recipe['precision']}"
        )
        steps.setdefault(words, {})[_steps(run.spec)] = None
    recipes = [f"{', '.join(of_recipe)} {words}" for words, of_recipe in steps.items()]
    recipes += starts([run for run in measured.trainings() if not run.spec.get("pretrain")])
    return "; ".join(dict.fromkeys(recipes))


def _steps(spec: Mapping[str, Any]) -> str:
    """Steps of a pre-training, or the one before its end at which the weights were taken."""
    steps = f"{spec['pretrain']['steps']:,} steps"
    return f"{spec['checkpoint']:,} of {steps}" if "checkpoint" in spec else steps


def _finetuning(measured: Measured) -> str:
    runs = [run for run in measured.trainings() if "finetune" in run.spec]
    if not runs:
        return ""
    recipes = _each_once(run.spec["finetune"] for run in runs)
    seeds = distinct(sorted({run.seed for run in runs if run.seed is not None}))
    return (
        f"{_length(recipes)}, batch {distinct(recipe['batch_size'] for recipe in recipes)}, "
        f"{distinct(recipe['max_length'] for recipe in recipes)} tokens at most, {_rates(measured, recipes)}, "
        f"seeds {seeds}, precision {_precision(runs)}{_pooling(runs)}"
    )


def _precision(runs: Sequence[MeasuredRun]) -> str:
    """The precision of all runs, or each with its tasks."""
    tasks: dict[str, dict[str, None]] = {}
    for run in runs:
        tasks.setdefault(run.precision, {})[run.task or ""] = None
    if len(tasks) == 1:
        return next(iter(tasks))
    return " and ".join(f"{precision} ({', '.join(names)})" for precision, names in tasks.items())


def _pooling(runs: Sequence[MeasuredRun]) -> str:
    """What the heads read, of the models whose head reads more than the first token."""
    models: dict[str, list[str]] = {}
    for run in runs:
        models.setdefault(run.spec["model"].get("pooling", "first"), []).append(run.model)
    others = {how: list(dict.fromkeys(names)) for how, names in models.items() if how != "first"}
    if len(models) == 1:
        return "".join(f", pooling {how}" for how in others)
    return "".join(f", pooling {how} for {', '.join(names)}" for how, names in others.items())


def _length(recipes: Sequence[dict[str, Any]]) -> str:
    """Epochs, or steps where these were asked for; runs stored before there was such a key have epochs."""
    steps = [recipe["steps"] for recipe in recipes if recipe.get("steps") is not None]
    if len(steps) == len(recipes):
        return f"steps {distinct(steps)} at most"
    return f"epochs {distinct(recipe['epochs'] for recipe in recipes)}"


def _rates(measured: Measured, recipes: Sequence[dict[str, Any]]) -> str:
    """The learning rates, and whether the sweep searched them in a grid; what else is known stands under tuning."""
    grids = [tuple(recipe["learning_rate"]) for recipe in recipes if isinstance(recipe["learning_rate"], list)]
    if not grids:
        return f"learning rate {distinct(recipe['learning_rate'] for recipe in recipes)}"
    chosen = Counter(measured.chosen_rates())
    counts = ", ".join(f"{plain(rate)} in {n}" for rate, n in sorted(chosen.items()))
    grid = "; ".join(plain(list(grid)) for grid in dict.fromkeys(grids))
    return f"learning rate from a grid ({grid}) on a seeded tenth of the training rows" + (
        f", chosen: {counts} runs" if counts else ""
    )


def _checkpoint(measured: Measured, table: Table) -> str:
    if not measured.trainings():
        return ""
    if measured.checkpoint == "last":
        return "last evaluation"
    splits = {split for _, _, split in _readings(measured, table)}
    words = ["best evaluation of each run by the task's metric, ties to the later"]
    if any(split.startswith("validation") for split in splits):
        words.append("what is reported on validation is selected there too, as the papers do with GLUE")
    if "test" in splits:
        words.append("what is reported on test is selected on validation, or on a seeded tenth of train")
    return "; ".join(words)


def _deviations(measured: Measured, paper: Paper) -> str:
    lines = encoder_deviation(measured, paper)
    before, after = pretraining_deviations(measured, paper), finetuning_deviations(measured, paper)
    lines += [f"pre-training {line}" for line in before] + [f"fine-tuning {line}" for line in after]
    return "; ".join(lines) or f"none from the recipe of {paper.name}"


def _commits(measured: Measured) -> str:
    by_code = {(origin.git_commit, origin.git_tree, origin.has_diff): origin for origin in _done(measured)}
    return distinct(origin.code(SHORT) for origin in by_code.values())


def _sources(measured: Measured) -> list[SourcesOfRun]:
    done = (run for run in measured.runs if run.state == "done")
    distinct = {(run.kind, run.task, run.model, id(run.origin.notes)): run for run in done}
    return [sources_of(run.kind, run.task, run.model, dict(run.origin.notes)) for run in distinct.values()]


def _software(measured: Measured) -> str:
    installed = _each_once(origin.packages for origin in _done(measured))
    known = dict.fromkeys(package for packages in installed for package in packages)
    versions = {name: [version for package, version in known if package == name] for name in PACKAGES}
    return ", ".join(f"{name} {' and '.join(some)}" for name, some in versions.items() if some)


def _machines(measured: Measured) -> str:
    counts = Counter(origin.hardware or "unknown" for origin in _done(measured))
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{name} ({n} runs)" for name, n in counts.items())


def constant_predictions(measured: Measured) -> str:
    """'bert-sr: cola 2 of 3, rte 1 of 3 seeds': trainings whose predictions are one for every example."""
    counts: dict[str, dict[str, list[bool]]] = {}  # model -> task -> whether each finished training is constant
    for run in measured.trainings():
        if run.state == "done":
            is_constant = run.run_id in measured.constant_runs
            counts.setdefault(run.model, {}).setdefault(str(run.task), []).append(is_constant)
    parts = []
    for model, tasks in counts.items():
        words = [f"{task} {sum(found)} of {len(found)}" for task, found in tasks.items() if any(found)]
        if words:
            parts.append(f"{model}: {', '.join(words)}")
    return f"{'; '.join(parts)} seeds" if parts else ""


def noted(measured: Measured, key: str) -> str:
    """Models and tasks whose trainings left a note under a key: `unknown_tokens`, many of which are unknown; `words`,
    which fall apart under the tokenizer or run together."""
    found: dict[tuple[str, str], list[str]] = {}
    for run in measured.trainings():
        note = dict(run.origin.notes).get(key, "")
        if note and run.model not in found.setdefault((str(run.task), note), []):
            found[str(run.task), note].append(run.model)
    return "; ".join(f"{', '.join(models)} on {task}: {note}" for (task, note), models in found.items())


SPEED_UPS = {"pre-training": "pt_speedup", "inference": "infer_speedup"}  # by what is timed


def timing_line(measured: Measured) -> str:
    """Device, threads, precision, batches, how long was measured, and the noise; '' where nothing was timed."""
    runs = [run for run in measured.runs if run.measures_time and run.state == "done"]
    if not runs:
        return ""
    devices = [run.spec["device"] for run in runs]
    names = distinct(device["name"] + _cores(device["cores"]) for device in devices)
    how_long = distinct(_rule(run.spec["efficiency"]) for run in runs if "efficiency" in run.spec)
    threads = distinct(run.spec["threads"] or "as many as cores" for run in runs)
    how = "model and baseline in turn in one process, medians"
    found = [run.precision for run in runs if run.precision]  # a processor may compute in another than was asked for
    precision = f", precision {distinct(found)}" if found else ""
    parts = [f"on {names}, threads {threads}{precision}", how, _batches(measured, runs), how_long, _noise(measured)]
    return "; ".join(part for part in parts if part)


def _cores(number: int | None) -> str:
    return f" ({number} core{'s' if number != 1 else ''})" if number else ""


def _batches(measured: Measured, runs: Sequence[MeasuredRun]) -> str:
    """The timed batches, as they were found where the experiment leaves them open."""
    chosen = [run.spec["efficiency"] for run in runs if "efficiency" in run.spec]
    lengths = distinct(how["pretrain_length"] for how in chosen)
    texts = []
    titles = {"pretrain_batch": f"pre-training batches of {{}} x {lengths}", "infer_batch": "inference batches of {}"}
    for name, title in titles.items():
        facts = (measured.fact(entry, name) for entry in measured.entries)
        sizes = sorted({size for fact in facts if fact for size in (fact.value, fact.value_high) if size})
        asked = {how[f"{name}_size"] for how in chosen} - {None}
        texts += [title.format(distinct(map(int, sizes or sorted(asked))))] if sizes or asked else []
    return ", ".join(texts)


def _rule(how: Mapping[str, Any]) -> str:
    """How long was measured; runs that were stored before there was a width measured a number of pairs."""
    if "width" not in how:
        return f"{how['pairs']} pairs, the model always first"
    until = f"until the interval is narrower than {PERCENT * how['width']:g} % or {how['limit_s']:g} s have passed"
    return f"{how['pairs']} pairs in rounds A B B A, then on {until}"


def _noise(measured: Measured) -> str:
    """What the baseline against itself gives: the ratio that means no difference."""
    entry = measured.find_entry(measured.experiment.baseline)
    facts = {name: measured.fact(entry, column) for name, column in SPEED_UPS.items()} if entry else {}
    known = {name: fact.interval for name, fact in facts.items() if fact and fact.interval}
    ends = [f"{name} {low:.2f} to {high:.2f}" for name, (low, high) in known.items()]
    return f"noise, the baseline against itself: {', '.join(ends)}" if ends else "noise not measured"
