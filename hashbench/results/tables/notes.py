"""The lines above and below a table: warnings, and the data, recipes, code and machines behind its numbers."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from hashbench.common.declared import (
    CHOSEN_NOTE,
    LEARNED,
    LEARNED_MORE,
    SEARCHED_ON_NOTE,
    UNSELECTED_NOTE,
    searched_values,
)
from hashbench.common.showing import batch_text, decimal_text
from hashbench.results.papers.paper import Paper
from hashbench.results.read import queries
from hashbench.results.read.budgets import recorded_budgets
from hashbench.results.read.jumps import JUMPED, before_the_jump
from hashbench.results.read.measured import PERCENT, Measured
from hashbench.results.read.origins import (
    UNDEFINED_DRAWS,
    TaskOrigin,
    counted_classes,
    data_warnings,
    different_sources,
    scratch_warning,
    starts,
    task_origins,
)
from hashbench.results.read.runs import LENGTH, MeasuredRun, RunOrigin, grouped
from hashbench.results.read.texts import cut_line, texts_line
from hashbench.results.tables.recipes import (
    corpora_of,
    distinct,
    encoder_deviation,
    finetuning_deviations,
    learned_vocabularies,
    named_encoders,
    plain,
    pretraining_deviations,
    set_spreads,
    training_noise,
    tuned_on_reported,
    tuning_line,
)
from hashbench.results.tables.table import SCORES, Table

PACKAGES = ("hashbench", "python", "torch", "lightning", "numpy", "scikit-learn")  # whose versions move numbers
EMBEDDING = "emb_params"  # fact: parameters of the embedding
SHORT = 8  # letters of a fingerprint or commit
SPEED_UPS = {"pre-training": "pt_speedup", "inference": "infer_speedup"}  # by what is timed
Thing = TypeVar("Thing")


def warnings(measured: Measured, paper: Paper, table: Table) -> list[str]:
    """Warnings printed above and below a table.

    Other data or scale than the paper's, values tuned on reported rows, a baseline or a pre-training that learned
    nothing.
    """
    corpora = {name for run in measured.pretrainings() for name in corpora_of(run)}
    lines = data_warnings(task_origins(measured, paper), sorted(corpora), published=table.published)
    lines += scratch_warning(measured.runs)
    lines += tuned_on_reported(measured) if {column.measure for column in table.columns} & SCORES else []
    lines += _weak_baseline(measured.experiment.baseline, table)
    lines += jump_warning(measured)
    if not table.published:
        return lines
    scale = encoder_deviation(measured, paper)
    recipes = [*pretraining_deviations(measured, paper), *finetuning_deviations(measured, paper)]
    steps = [line for line in recipes if line.startswith(("steps ", "corpora "))]
    if scale or steps:
        lines.append(f"NOT THE PAPER'S SCALE: {'; '.join(scale + steps)}: published values are no target here.")
    other = list(dict.fromkeys(task for task, _, _ in table.readings if task not in paper.tasks))
    if paper.data and other:
        on_what = f"measured on {', '.join(other)} (paper: {paper.data})"
        lines.append(f"NOT THE PAPER'S DATA: {on_what}: published values are no target here.")
    return lines


def jump_warning(measured: Measured) -> list[str]:
    """The warning that names the models with a pre-training that did not jump; or none."""
    models = [
        f"{model} ({', '.join(f'seed {seed}: {decimal_text(value, 2)}' for seed, value in of_model)})"
        for model, of_model in before_the_jump(measured.separations).items()
    ]
    if not models:
        return []
    return [
        f"NOT JUMPED: {'; '.join(models)}: this pre-training hardly separates shuffled words from intact ones on "
        f"held-out rows (below {JUMPED:g}, by chance 0.5): their scores show too short a training, not the embedding."
    ]


def _weak_baseline(baseline: str, table: Table) -> list[str]:
    """The warning that PRR means little on tasks where the baseline model is not above a trivial baseline; or none."""
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


def score_notes(measured: Measured, table: Table) -> list[str]:
    """Notes on the scores of a table: the class whose F1 is counted, and draws that intervals leave out."""
    if not {column.measure for column in table.columns} & SCORES:
        return []
    readings = _readings(measured, table) or [(run.task or "", run.metric, "") for run in measured.runs if run.metric]
    return [*counted_classes(measured, readings), *_undefined_draws(table)]


def _undefined_draws(table: Table) -> list[str]:
    """A note on cells whose interval leaves out draws without a value, with their share."""
    cells = [
        f"{row.title.strip()} on {column.title} {decimal_text(cell.undefined, 1)} %"
        for row in table.rows
        for column in table.columns
        if (cell := row.cells[column.name]).undefined
    ]
    return [f"{UNDEFINED_DRAWS}: {', '.join(cells)}."] if cells else []


def provenance(measured: Measured, paper: Paper, table: Table) -> list[tuple[str, str]]:
    """The lines under a table as (label, text), without empty ones and those that its columns do not need."""
    measures = {column.measure for column in table.columns}
    scores, facts, items = bool(measures & SCORES), "fact" in measures, measured.hides_items()
    # User-defined models have no paper's recipe, nor have variations of a paper's model: no paper is named for them
    is_foreign = not table.paper and not {model for _, model, _ in paper.numbers} & measured.labels()
    lines = [
        ("experiment", measured.once(_experiment)),
        ("data", _data(task_origins(measured, paper))),
        ("metrics", _metrics(measured, table) if scores else ""),
        ("encoder", measured.once(_encoders)),
        ("budget", measured.once(_budget)),
        ("initial spread", measured.once(set_spreads)),
        ("vocabulary", measured.once(learned_vocabularies)),
        ("pre-training", measured.once(_pretraining)),
        ("tokens of pre-training", measured.once(_tokens_read)),
        ("fine-tuning", measured.once(_finetuning) if scores else ""),
        ("search", measured.once(_search) if scores else ""),
        ("rows searched on", _noted(measured, SEARCHED_ON_NOTE) if scores else ""),
        ("noise in training texts", measured.once(training_noise) if scores else ""),
        ("tuning", measured.once(tuning_line) if scores or facts else ""),
        ("constant predictions", measured.once(_constant_predictions) if scores else ""),
        ("outputs that cannot be read", _unread_outputs(measured) if scores else ""),
        ("unknown tokens", _noted(measured, "unknown_tokens") if scores else ""),
        ("words", _noted(measured, "words") if scores else ""),
        ("texts read", texts_line(measured, _readings(measured, table)) if scores else ""),
        ("texts cut otherwise than in train", cut_line(measured, _readings(measured, table)) if scores else ""),
        ("trivial baselines", measured.once(_baselines_learn_more) if scores else ""),
        ("checkpoint", _checkpoint(measured, table) if scores and not items else ""),
        ("deviations", "" if items or is_foreign else _deviations(measured, paper)),
        ("timing", measured.once(_timing) if facts else ""),
        ("commits", measured.once(_commits)),
        ("different code", measured.once(_different_code)),
        ("software", measured.once(_software)),
        ("machines", measured.once(_machines)),
    ]
    return [(label, text) for label, text in lines if text]


def _encoders(measured: Measured) -> str:
    sizes = distinct(run.encoder for run in measured.apart if not run.is_baseline)
    return "; ".join(text for text in (sizes, named_encoders(measured)) if text)


def _budget(measured: Measured) -> str:
    """The budgets of embedding parameters, with the models that are at none of them; empty where all are at one."""
    budgets = recorded_budgets(measured.experiment.config)
    if not budgets.general:
        return ""
    facts = {e.model: measured.fact(e, EMBEDDING) for e in measured.entries if not e.is_baseline}
    outside = [
        f"{model} ({fact.value:,.0f})"
        for model, fact in facts.items()
        if fact is not None and fact.value is not None and budgets.of(model, fact.value)[1] is None
    ]
    sizes = ", ".join(f"{size:,}" for size in budgets.general)
    return (
        f"{sizes} embedding parameters; outside of it, with a size of their own: {', '.join(outside)}"
        if outside
        else ""
    )


def _done(measured: Measured) -> list[RunOrigin]:
    return [run.origin for run in measured.runs if run.state == "done"]


def _each_once(values: Iterable[Thing]) -> list[Thing]:
    """The distinct objects by identity, which is enough since runs that differ only in their seed share objects."""
    return list({id(value): value for value in values}.values())


def _experiment(measured: Measured) -> str:
    ids = {run.run_id for run in measured.runs}
    done = {run.run_id for run in measured.runs if run.state == "done"}
    finished = [origin.finished_at for origin in _done(measured) if origin.finished_at]
    ends = (min(finished), max(finished)) if finished else ()
    dates = dict.fromkeys(datetime.fromtimestamp(moment, UTC).date().isoformat() for moment in ends)
    when = f", {' to '.join(dates)} (UTC)" if dates else ""
    return f"{measured.experiment.name}: {len(done)} of {len(ids)} runs finished{when}"


def _data(origins: Mapping[str, TaskOrigin]) -> str:
    """The data line: origin, notes, reported examples and fingerprint by task, with texts that all share in front."""
    texts = {
        task: [*(name for name in of.origins if not any(note.startswith(name) for note in of.notes)), *of.notes]
        for task, of in origins.items()
    }
    shared = [text for text in next(iter(texts.values()), []) if all(text in of for of in texts.values())]
    parts = []
    for task, origin in origins.items():
        words = [text for text in texts[task] if text and text not in shared]
        words += [f"{origin.n_reported:,} examples"] if origin.n_reported else []
        words += ["data " + " and ".join(of[:SHORT] for of in origin.fingerprints)] if origin.fingerprints else []
        parts.append(f"{task} ({', '.join(words)})" if words else task)
    return (", ".join(shared) + ": " if shared else "") + "; ".join(parts)


def _metrics(measured: Measured, table: Table) -> str:
    """Metric and split of each task: the paper's choice, or the experiment's in its own table."""
    by_reading = grouped(((metric, split), task) for task, metric, split in _readings(measured, table))
    how = f"{table.statistic} over seeds: " if table.statistic != "mean" and by_reading else ""
    return how + "; ".join(f"{metric} on {split}: {', '.join(tasks)}" for (metric, split), tasks in by_reading.items())


def _readings(measured: Measured, table: Table) -> list[tuple[str, str, str]]:
    """(task, metric, split) of all scores behind a table, in the order of the experiment's tasks."""
    readings = list(table.readings)
    if table.paper and not readings:  # a table of ratios
        readings = [(task, *reading) for task, reading in measured.readings(table.paper).items()]
    order = measured.tasks()
    return sorted((reading for reading in readings if reading[0] in order), key=lambda reading: order.index(reading[0]))


def _pretraining(measured: Measured) -> str:
    """Recipes of pre-training with their steps or checkpoints, then the starting weights of models without one."""
    recipes = grouped((_pretraining_recipe(run), run) for run in measured.pretrainings())
    lines = []
    for (what, precision), runs in recipes.items():
        seeds = sorted({run.seed for run in runs if run.seed is not None})
        steps = distinct(_steps(run.spec) for run in runs)
        lines.append(f"{steps} {what}, seed{'s' if len(seeds) > 1 else ''} {distinct(seeds)}, {precision}")
    lines += starts(run for run in measured.trainings() if not run.spec.get("pretrain"))
    return "; ".join(dict.fromkeys(lines))


def _pretraining_recipe(run: MeasuredRun) -> tuple[str, str]:
    """A recipe of pre-training in words, and its precision."""
    recipe, notes = run.block("pretrain"), dict(run.origin.notes)
    corpora = notes["corpora"] if "corpora" in notes else " and ".join(corpora_of(run))
    documents = run.spec["corpus"]["max_documents"] if run.spec["corpus"] else None
    first = f" (first {documents:,} documents)" if documents else ""
    return f"of {batch_text(recipe)} on {corpora or 'no corpus'}{first}", f"precision {recipe['precision']}"


def _tokens_read(measured: Measured) -> str:
    """Millions of tokens that pre-trainings on rows of words read, with the models; '' where there are none."""
    by_words = {run.model for run in measured.pretrainings() if run.spec["pretrain"].get("words_per_row")}
    if not by_words:
        return ""
    key = {"experiment": measured.experiment.id, "split": "", "metric": "tokens"}
    rows = measured.query(queries.FACT_OF_PRETRAINING, **key)
    by_number = grouped((f"{row['value'] / 1e6:.1f} M", row["model"]) for row in rows if row["model"] in by_words)
    return "; ".join(f"{number}: {', '.join(dict.fromkeys(models))}" for number, models in by_number.items())


def _steps(spec: Mapping[str, Any]) -> str:
    """Steps of a pre-training in words: '1,000 steps', or '400 of 1,000 steps' for a checkpoint before its end."""
    steps = f"{spec['pretrain']['steps']:,} steps"
    return f"{spec['checkpoint']:,} of {steps}" if "checkpoint" in spec else steps


def _finetuning(measured: Measured) -> str:
    runs = [run for run in measured.trainings_apart if "finetune" in run.spec]
    if not runs:
        return ""
    recipes = _each_once(run.spec["finetune"] for run in runs)
    steps = [recipe["steps"] for recipe in recipes if recipe.get("steps") is not None]  # older runs have no such key
    length = f"epochs {_values(recipes, 'epochs')}"
    if len(steps) == len(recipes):
        length = f"steps {_values(recipes, 'steps')} at most"
    precisions = {of: distinct(tasks) for of, tasks in grouped((run.precision, run.task or "") for run in runs).items()}
    precision = " and ".join(f"{of} ({tasks})" if len(precisions) > 1 else of for of, tasks in precisions.items())
    of_all = {run.seed for run in measured.trainings() if "finetune" in run.spec}
    seeds = distinct(sorted(seed for seed in of_all if seed is not None))
    return (
        f"{length}, batch {_values(recipes, 'batch_size')}, {_lengths(runs)}, "
        f"{_rates(measured, recipes)}, seeds {seeds}, precision {precision}{_pooling(runs)}"
    )


def _lengths(runs: Sequence[MeasuredRun]) -> str:
    """The largest numbers of tokens of an input, then those that were found in the data, each with its models."""
    apart = {(id(run.spec["finetune"]), id(run.origin.notes), run.model): run for run in runs}.values()
    by_data = [run for run in apart if isinstance(run.spec["finetune"][LENGTH], dict)]
    if not by_data:
        return f"{distinct(run.block('finetune')[LENGTH] for run in apart)} tokens at most"
    rules = grouped((_rule_of_length(run), (run.block("finetune")[LENGTH], run.model)) for run in apart)
    words = []
    for rule, lengths in rules.items():
        of = [f"{length} ({distinct(models)})" for length, models in grouped(lengths).items()]
        words.append(f"{', '.join(of)}: {rule}")
    return f"tokens at most {'; '.join(words)}"


def _rule_of_length(run: MeasuredRun) -> str:
    """Where the largest number of tokens of an input is from, in words."""
    limit, read = run.spec["finetune"][LENGTH], run.texts_read
    if not isinstance(limit, dict):
        return "as given"
    share = f"{PERCENT * limit['keep']:g} % of train's"
    if read is None:
        return f"at_most, or the fewest that keep {share}, not counted"
    return f"the fewest that keep {share}" if read.keeps(limit["keep"]) else f"at_most, keeps less than {share}"


def _values(recipes: Sequence[Mapping[str, Any]], key: str) -> str:
    values = [searched_values(recipe).get(key, recipe[key]) for recipe in recipes]
    return distinct(f"searched ({plain(value)})" if isinstance(value, list) else value for value in values)


def _search(measured: Measured) -> str:
    """The number of combinations that each run tried on held-out rows of train, and those chosen, by count of runs."""
    recipes = _each_once(run.spec["finetune"] for run in measured.trainings_apart if "finetune" in run.spec)
    grids = [values for recipe in recipes if (values := searched_values(recipe))]
    if not grids:
        return ""
    tries = {math.prod(map(len, values.values())) for values in grids}
    chosen = Counter(note for run in measured.trainings() if (note := dict(run.origin.notes).get(CHOSEN_NOTE)))
    words = [
        f"{', '.join(f'{key} {plain(value)}' for key, value in json.loads(note).items())} in {n}"
        for note, n in sorted(chosen.items())
    ]
    more = f"; chosen: {'; '.join(words)} runs" if words else ""
    n_tries = distinct(f"{n} {'combination' if n == 1 else 'combinations'}" for n in sorted(tries))
    return f"{n_tries} of values tried in each run on a held-out tenth of train{more}"


def _pooling(runs: Sequence[MeasuredRun]) -> str:
    """The poolings in words, with their models, of heads that read more than the first token; or ''."""
    models = grouped((run.spec["model"].get("pooling", "first"), run.model) for run in runs)
    of_models = {how: f" for {distinct(names)}" if len(models) > 1 else "" for how, names in models.items()}
    return "".join(f", pooling {how}{names}" for how, names in of_models.items() if how != "first")


def _rates(measured: Measured, recipes: Sequence[Mapping[str, Any]]) -> str:
    """The learning rates in words, with the grid that the sweep searched and the rates it chose, if it did."""
    grids = [tuple(recipe["learning_rate"]) for recipe in recipes if isinstance(recipe["learning_rate"], list)]
    if not grids:
        return f"learning rate {_values(recipes, 'learning_rate')}"
    chosen = ", ".join(f"{plain(rate)} in {n}" for rate, n in sorted(Counter(measured.chosen_rates()).items()))
    grid = "; ".join(plain(rates) for rates in dict.fromkeys(grids))
    more = f", chosen: {chosen} runs" if chosen else ""
    return f"learning rate from a grid ({grid}) on a seeded tenth of the training rows{more}"


def _constant_predictions(measured: Measured) -> str:
    """Counts of trainings with one constant prediction, by model and task: 'bert-sr: cola 2 of 3, rte 1 of 3 seeds'."""
    done = [run for run in measured.trainings() if run.state == "done"]
    parts = []
    for model, runs in grouped((run.model, run) for run in done).items():
        of_tasks = grouped((run.task, run.run_id in measured.constant_runs) for run in runs)
        words = [f"{task} {sum(are)} of {len(are)}" for task, are in of_tasks.items() if any(are)]
        parts += [f"{model}: {', '.join(words)}"] if words else []
    return f"{'; '.join(parts)} seeds" if parts else ""


def _unread_outputs(measured: Measured) -> str:
    """The runs whose stored outputs cannot be read, or were left out, with the reason: they have no interval."""
    runs = {run.run_id: run for run in measured.runs if measured.without_outputs(run)}.values()
    return "; ".join(
        f"{run.model}{f' on {run.task}' if run.task else ''}, run {run.run_id[:12]} ({measured.without_outputs(run)})"
        for run in runs
    )


def _noted(measured: Measured, topic: str) -> str:
    """Notes that trainings stored under a topic, with their models and tasks.

    `unknown_tokens`: many tokens are unknown; `words`: some fall apart under the tokenizer or run together.
    """
    notes = [(run, dict(run.origin.notes).get(topic, "")) for run in measured.trainings_apart]
    by_note = grouped(((run.task, note), run.model) for run, note in notes if note)
    return "; ".join(f"{distinct(models)} on {task}: {note}" for (task, note), models in by_note.items())


def _baselines_learn_more(measured: Measured) -> str:
    """A line on tasks whose trivial baselines learn from more rows than models: from those held out too; or ''."""
    more = distinct(run.task for run in measured.apart if run.is_baseline and run.spec.get(LEARNED) == LEARNED_MORE)
    if not more:
        return ""
    return f"fitted for the test set of {more} on all of train, with the tenth that is held out of the models' training"


def _checkpoint(measured: Measured, table: Table) -> str:
    if not measured.trainings():
        return ""
    if measured.checkpoint == "last":
        return "last evaluation"
    splits = {split for _, _, split in _readings(measured, table)}
    tuned = [run for run in measured.trainings_apart if "finetune" in run.spec and run.state == "done"]
    is_none_best = bool(tuned) and all(UNSELECTED_NOTE in dict(run.origin.notes) for run in tuned)
    words = [] if is_none_best else ["best evaluation of each run by the task's metric, ties to the later"]
    if unselected := _noted(measured, UNSELECTED_NOTE):
        words.append(f"last evaluation, since none could be compared: {unselected}")
    if any(split.startswith("validation") for split in splits):
        words.append("what is reported on validation is selected there too, as the papers do with GLUE")
    if "test" in splits:
        words.append("what is reported on test is selected on validation, or on a seeded tenth of train")
    return "; ".join(words)


def _deviations(measured: Measured, paper: Paper) -> str:
    lines = encoder_deviation(measured, paper)
    lines += [f"pre-training {line}" for line in pretraining_deviations(measured, paper)]
    lines += [f"fine-tuning {line}" for line in finetuning_deviations(measured, paper)]
    return "; ".join(lines) or f"none from the recipe of {paper.name}"


def _timing(measured: Measured) -> str:
    """Device, threads, precision, batches, duration of measuring, and the noise; '' where nothing was timed."""
    runs = [run for run in measured.runs if run.measures_time and run.state == "done"]
    if not runs:
        return ""
    devices, hows = [run.spec["device"] for run in runs], [run.spec.get("efficiency") for run in runs]
    names = distinct(of["name"] + (_cores(of["cores"]) if of["cores"] else "") for of in devices)
    threads = distinct(run.spec["threads"] or "as many as cores" for run in runs)
    precisions = distinct(
        run.precision for run in runs if run.precision
    )  # noted: a processor may lack the requested one
    precision = f", precision {precisions}" if precisions else ""
    parts = [
        f"on {names}, threads {threads}{precision}",
        "model and baseline in turn in one process, medians",
        _batches(measured, [how for how in hows if how is not None]),
        distinct(_rule(how) for how in hows if how is not None),
        _noise(measured),
    ]
    return "; ".join(part for part in parts if part)


def _cores(number: int) -> str:
    return f" ({number} core{'s' if number != 1 else ''})"


def _batches(measured: Measured, hows: Sequence[Mapping[str, Any]]) -> str:
    """The timed batch sizes in words: the measured ones, else the requested ones."""
    titles = {
        "pretrain_batch": f"pre-training batches of {{}} x {distinct(how['pretrain_length'] for how in hows)}",
        "infer_batch": "inference batches of {}",
    }
    texts = []
    for name, title in titles.items():
        facts = [fact for entry in measured.entries if (fact := measured.fact(entry, name))]
        sizes = {size for fact in facts for size in (fact.value, fact.value_high) if size}
        sizes = sizes or {how[f"{name}_size"] for how in hows} - {None}
        texts += [title.format(distinct(map(int, sorted(sizes))))] if sizes else []
    return ", ".join(texts)


def _rule(how: Mapping[str, Any]) -> str:
    """The rule in words by which a timing stopped: at an interval's width, or in older runs after a number of pairs."""
    if "width" not in how:
        return f"{how['pairs']} pairs, the model always first"
    until = f"until the interval is narrower than {PERCENT * how['width']:g} % or {how['limit_s']:g} s have passed"
    return f"{how['pairs']} pairs in rounds A B B A, then on {until}"


def _noise(measured: Measured) -> str:
    """The noise of timing in words: the interval of the baseline's speed-up over itself."""
    entry = measured.find_entry(measured.experiment.baseline)
    facts = {name: measured.fact(entry, column) for name, column in SPEED_UPS.items()} if entry else {}
    intervals = {name: fact.interval for name, fact in facts.items() if fact and fact.interval}
    ends = [f"{name} {decimal_text(low, 2)} to {decimal_text(high, 2)}" for name, (low, high) in intervals.items()]
    return f"noise, the baseline against itself: {', '.join(ends)}" if ends else "noise not measured"


def _commits(measured: Measured) -> str:
    by_code = {(origin.git_commit, origin.git_tree, origin.has_diff): origin for origin in _done(measured)}
    return distinct(origin.code(SHORT) for origin in by_code.values())


def _different_code(measured: Measured) -> str:
    """The number of columns and models whose runs were computed by several versions of the code, in one line."""
    done = [run for run in measured.runs if run.state == "done"]
    apart = {(run.kind, run.task, run.model, id(run.origin.notes)): run for run in done}  # not by seed alone
    lines = different_sources((run.kind, run.task, run.model, dict(run.origin.notes)) for run in apart.values())
    if not lines:
        return ""
    what = "a group of runs was" if len(lines) == 1 else f"{len(lines)} groups of runs were"
    return f"{what} computed by several versions of the code; which: hashbench status {measured.experiment.name}"


def _software(measured: Measured) -> str:
    installed = _each_once(origin.packages for origin in _done(measured))
    versions = grouped(dict.fromkeys(package for packages in installed for package in packages))
    return ", ".join(f"{name} {' and '.join(versions[name])}" for name in PACKAGES if name in versions)


def _machines(measured: Measured) -> str:
    counts = Counter(origin.hardware or "unknown" for origin in _done(measured))
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{name} ({n} runs)" for name, n in counts.items())
