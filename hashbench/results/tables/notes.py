"""The lines above and below a table: warnings, and the data, recipes, code and machines behind its numbers.

A line is a label with values as `key value`, each with the models and tasks that it holds for, where not for all.
"""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from hashbench.common.measured import CHOSEN_NOTE, LEARNED, LEARNED_MORE, SEARCHED_ON_NOTE, UNSELECTED_NOTE, TextCounts
from hashbench.common.showing import FINGERPRINT_LETTERS, decimal_text, percent_text
from hashbench.results.papers.paper import Paper
from hashbench.results.read import queries
from hashbench.results.read.doubts import JUMPED, NOT_COUNTED, before_the_jump, counts_on, is_uncounted
from hashbench.results.read.measured import Measured
from hashbench.results.read.origins import (
    TaskOrigin,
    data_warnings,
    different_sources,
    scratch_warning,
    starts,
    task_origins,
)
from hashbench.results.read.runs import MeasuredRun, encoder_and_start, grouped
from hashbench.results.tables.measures import StoredReading
from hashbench.results.tables.recipes import (
    corpora_of,
    distinct,
    encoder_deviation,
    finetuning_deviations,
    learned_vocabularies,
    place_of,
    placed,
    plain,
    pretraining_deviations,
    settings,
    tuned_on_reported,
    tuning_line,
)
from hashbench.results.tables.table import SCORES, Table
from hashbench.scores.shares import cut_otherwise

PACKAGES = ("hashbench", "python", "torch", "lightning", "numpy", "scikit-learn")  # whose versions move numbers
SPEED_UPS = {"pre-training": "pt_speedup", "inference": "infer_speedup"}  # by what is timed
# Labels of the lines that are printed below every table, each with at most so many characters; --provenance prints all
BRIEF, LINE = ("experiment", "data", "deviations", "code", "machines"), 84
PRETRAINING = ("steps", "batch_size", "words_per_row", "sequence_length", "learning_rate", "precision")
FINETUNING = ("epochs", "steps", "batch_size", "max_length", "learning_rate", "embedding_rate", "noise", "precision")
TIMED = ("pairs", "width", "limit_s", "pretrain_length")  # of an efficiency run


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


def brief(table: Table) -> Table:
    """A table with what is printed of its details and provenance below every table: five facts, cut at words."""
    lines = [
        (label, textwrap.shorten(text, LINE, placeholder=" ...")) for label, text in table.provenance if label in BRIEF
    ]
    further = len(table.details) + bool(table.missing)
    notes = f" and {further} note{'s' if further > 1 else ''}" if further else ""
    more = [("more", f"--provenance prints all facts{notes}")] if table.provenance or further else []
    return replace(table, provenance=(*lines, *more), details=(), missing=())


def provenance(measured: Measured, paper: Paper, table: Table) -> list[tuple[str, str]]:
    """All lines under a table as (label, text), without empty ones and lines that its columns do not need."""
    measures, origins = {column.measure for column in table.columns}, task_origins(measured, paper)
    # User-defined models have no paper's recipe, nor have variations of a paper's model: no paper is named for them
    is_foreign = not table.paper and not {model for _, model, _ in paper.numbers} & measured.labels()
    readings = readings_behind(measured, table) if measures & SCORES else []
    splits = grouped((task, split) for task, _, split in readings)
    lines = {
        "experiment": measured.once(_experiment),
        "data": "; ".join(_data(task, origin, splits.get(task, [])) for task, origin in origins.items()),
        "about the data": _about(origins),
        "encoder": measured.once(_encoders),
        "vocabulary": measured.once(learned_vocabularies),
        "pre-training": measured.once(_pretraining),
        "tokens of pre-training": measured.once(_tokens_read),
        "deviations": "" if measured.hides_items() or is_foreign else _deviations(measured, paper),
    }
    if measures & SCORES:
        lines |= {
            "metrics": _metrics(table, readings),
            "fine-tuning": measured.once(_finetuning),
            **{label: measured.once(line) for label, line in PROVENANCE_LINES.items()},
            "texts read": _texts_read(measured, readings),
            "texts cut otherwise than in train": _texts_cut(measured, readings),
            "trivial baselines": measured.once(_baselines_learn_more),
            "outputs that cannot be read": _unread_outputs(measured),
            "checkpoint": f"{measured.checkpoint} evaluation of each run" if measured.trainings() else "",
        }
    if "fact" in measures:
        lines["timing"] = measured.once(_timing)
    if "fact" in measures or measures & SCORES:
        lines["tuning"] = measured.once(tuning_line)
    lines |= {
        "code": measured.once(_code),
        "several versions": measured.once(_different_code),
        "software": measured.once(_software),
        "machines": measured.once(_machines),
    }
    return [(label, text) for label, text in lines.items() if text]


def _experiment(measured: Measured) -> str:
    ids = {run.run_id for run in measured.runs}
    done = {run.run_id: run.origin.finished_at for run in _done(measured)}
    finished = [moment for moment in done.values() if moment]
    ends = (min(finished), max(finished)) if finished else ()
    dates = dict.fromkeys(datetime.fromtimestamp(moment, UTC).date().isoformat() for moment in ends)
    when = f", {' to '.join(dates)} (UTC)" if dates else ""
    return f"{measured.experiment.name}: {len(done)} of {len(ids)} runs finished{when}"


def _done(measured: Measured) -> list[MeasuredRun]:
    return [run for run in measured.runs if run.state == "done"]


def _data(task: str, origin: TaskOrigin, splits: Sequence[str]) -> str:
    """The data of a task: the reported examples, their split, fingerprints; notes on a sample are in the warnings."""
    of_split = f" of {' and '.join(dict.fromkeys(splits))}" if splits else ""
    words = [f"{origin.n_reported:,} examples{of_split}"] if origin.n_reported else []
    words += [" and ".join(of[:FINGERPRINT_LETTERS] for of in origin.fingerprints)] if origin.fingerprints else []
    return f"{task} ({', '.join(words)})" if words else task


def _about(origins: Mapping[str, TaskOrigin]) -> str:
    """Sources and notes of the data, each with its tasks."""
    texts = [
        (text, ("", task))
        for task, of in origins.items()
        for text in (*(name for name in of.origins if not any(note.startswith(name) for note in of.notes)), *of.notes)
        if text
    ]
    return placed(texts, [("", task) for task in origins])


def _encoders(measured: Measured) -> str:
    """The sizes of encoders, and their kinds where there are several."""
    specs = {(run.model, None): run for run in measured.apart if not run.is_baseline}
    kinds = {place: kind for place, run in specs.items() if (kind := encoder_and_start(run.spec)[0])}
    sizes = distinct(run.encoder for run in specs.values())
    several = len(set(kinds.values())) > 1
    return "; ".join([sizes, *([placed([(kind, place) for place, kind in kinds.items()], kinds)] if several else [])])


def _pretraining(measured: Measured) -> str:
    """Recipes of pre-training with their corpora and seeds, then the starting weights of models without one."""
    runs = measured.pretrainings()
    lines = settings(runs, "pretrain", PRETRAINING)
    # The note names repository and commit of corpora from the hub, and which corpora were streamed
    read = {place_of(run): dict(run.origin.notes).get("corpora") or " and ".join(corpora_of(run)) for run in runs}
    corpora = {place: text or "no corpus" for place, text in read.items()}
    lines += [placed([(f"on {text}", place) for place, text in corpora.items()], corpora), _seeds(runs)] if runs else []
    return "; ".join([*lines, *starts(run for run in measured.trainings() if not run.spec.get("pretrain"))])


def _tokens_read(measured: Measured) -> str:
    """Millions of tokens that pre-trainings on rows of words read, with the models; '' where there are none."""
    by_words = {run.model for run in measured.pretrainings() if run.spec["pretrain"].get("words_per_row")}
    if not by_words:
        return ""
    rows = measured.query(queries.FACT_OF_PRETRAINING, experiment=measured.experiment.id, split="", metric="tokens")
    of_words = [row for row in rows if row["model"] in by_words]
    texts = dict.fromkeys((f"{row['value'] / 1e6:.1f} M", (row["model"], None)) for row in of_words)
    return placed(list(texts), [place for _, place in texts])


def _finetuning(measured: Measured) -> str:
    runs = [run for run in measured.trainings_apart if "finetune" in run.spec]
    if not runs:
        return ""
    lines = settings(runs, "finetune", FINETUNING) + settings(runs, "model", ("pooling", "initial_spread"))
    return "; ".join([*lines, _seeds([run for run in measured.trainings() if "finetune" in run.spec])])


def _seeds(runs: Sequence[MeasuredRun]) -> str:
    return f"seeds {distinct(sorted({run.seed for run in runs if run.seed is not None}))}"


def _deviations(measured: Measured, paper: Paper) -> str:
    lines = encoder_deviation(measured, paper)
    lines += [f"pre-training {line}" for line in pretraining_deviations(measured, paper)]
    lines += [f"fine-tuning {line}" for line in finetuning_deviations(measured, paper)]
    return "; ".join(lines) or f"none from the recipe of {paper.name}"


def _metrics(table: Table, readings: Sequence[StoredReading]) -> str:
    """Metric and split of each task: the paper's choice, or the experiment's in its own table."""
    by_reading = grouped(((metric, split), task) for task, metric, split in readings)
    how = f"{table.statistic} over seeds: " if table.statistic != "mean" and by_reading else ""
    lines = [f"{metric} on {split}: {', '.join(tasks)}" for (metric, split), tasks in by_reading.items()]
    if any(split.startswith("validation") for _, _, split in readings):
        lines.append("what is reported on validation is selected there too")
    return how + "; ".join(lines)


def readings_behind(measured: Measured, table: Table) -> list[StoredReading]:
    """(task, metric, split) of all scores behind a table, in the order of the experiment's tasks."""
    readings = list(table.readings)
    if table.paper and not readings:  # a table of ratios
        readings = [(task, *reading) for task, reading in measured.readings(table.paper).items()]
    order = measured.tasks()
    return sorted((reading for reading in readings if reading[0] in order), key=lambda reading: order.index(reading[0]))


def _noted(topic: str, measured: Measured) -> str:
    """Notes that trainings stored under a topic, with their models and tasks."""
    notes = [(dict(run.origin.notes).get(topic, ""), place_of(run)) for run in measured.trainings_apart]
    return placed([(note, place) for note, place in notes if note], [place for _, place in notes])


def _chosen(measured: Measured) -> str:
    """The values that runs chose on held-out rows, with the number of runs."""
    counts = Counter(note for run in measured.trainings() if (note := dict(run.origin.notes).get(CHOSEN_NOTE)))
    values = {note: ", ".join(f"{key} {plain(value)}" for key, value in json.loads(note).items()) for note in counts}
    return "; ".join(f"{values[note]} in {n} runs" for note, n in sorted(counts.items()))


def _texts_read(measured: Measured, readings: Sequence[StoredReading]) -> str:
    """The shares that models lost of the texts behind scores; "" without texts."""
    by_place_of = grouped((place_of(run), run) for run in measured.runs if run.is_scored and run.state == "done")
    texts = []
    for (model, task), runs in by_place_of.items():
        for _, metric, split in [reading for reading in readings if reading[0] == task]:
            words = [_lost(counts) for counts in counts_on(runs, split)]
            if is_uncounted(runs, metric, split):
                n = sum(not counts_on([run], split) for run in runs)
                words.append(f"{n} of {len(runs)} runs {NOT_COUNTED}" if words else NOT_COUNTED)
            texts += [(" and ".join(words), (model, task))] if words else []
    return placed(texts, [place for _, place in texts])


def _lost(counts: TextCounts) -> str:
    if not counts.texts_cut:
        return "read whole"
    return f"{percent_text(counts.share_lost)} % of characters lost, {percent_text(counts.share_cut, 0)} % of texts cut"


def _texts_cut(measured: Measured, readings: Sequence[StoredReading]) -> str:
    """Tasks whose reported texts are cut more or less often than the texts of train, with the models."""
    splits = grouped((task, split) for task, _, split in dict.fromkeys(readings))
    runs = [run for run in measured.trainings_apart if run.state == "done" and run.texts_read is not None]
    texts = [
        (line, place_of(run))
        for run in runs
        for split in dict.fromkeys(splits.get(run.task or "", ()))
        if run.texts_read is not None and (line := cut_otherwise(run.texts_read, split))
    ]
    return placed(texts, [place_of(run) for run in runs])


def _baselines_learn_more(measured: Measured) -> str:
    """A line on tasks whose trivial baselines learn from more rows than models: from those held out too; or ''."""
    more = distinct(run.task for run in measured.apart if run.is_baseline and run.spec.get(LEARNED) == LEARNED_MORE)
    return f"fitted for the test set of {more} on all of train, with the tenth that models do not train on" * bool(more)


def _unread_outputs(measured: Measured) -> str:
    """The runs whose stored outputs cannot be read, or were left out, with the reason: they have no interval."""
    runs = {run.run_id: run for run in measured.runs if measured.without_outputs(run)}.values()
    return "; ".join(
        f"{run.model}{f' on {run.task}' if run.task else ''}, run {run.run_id[:12]} ({measured.without_outputs(run)})"
        for run in runs
    )


def _timing(measured: Measured) -> str:
    """Device, threads, precision, batches and effort of timing, and its noise; '' where nothing was timed."""
    runs = [run for run in measured.runs if run.measures_time and run.state == "done"]
    if not runs:
        return ""
    devices = [run.spec["device"] for run in runs]
    blocks = [block for run in runs if (block := run.spec.get("efficiency"))]
    values = {
        "on": [of["name"] + (f" ({of['cores']} cores)" if of["cores"] else "") for of in devices],
        "threads": [run.spec["threads"] or "as many as cores" for run in runs],
        "precision": [run.precision for run in runs if run.precision],
        **{key: [block[key] for block in blocks if block.get(key) is not None] for key in TIMED},
    }
    for key in ("pretrain_batch", "infer_batch"):  # as measured, else as the file says
        facts = [fact for entry in measured.entries if (fact := measured.fact(entry, key))]
        sizes = {int(size) for fact in facts for size in (fact.value, fact.value_high) if size}
        values[key] = sorted(sizes) or [block[f"{key}_size"] for block in blocks if block.get(f"{key}_size")]
    words = [f"{key} {distinct(of)}" for key, of in values.items() if of]
    return "; ".join([*words, "model and baseline in turn in one process, medians", _noise(measured)])


def _noise(measured: Measured) -> str:
    """The noise of timing in words: the interval of the baseline's speed-up over itself."""
    entry = measured.find_entry(measured.experiment.baseline)
    facts = {name: measured.fact(entry, column) for name, column in SPEED_UPS.items()} if entry else {}
    intervals = {name: fact.interval for name, fact in facts.items() if fact and fact.interval}
    ends = [f"{name} {decimal_text(low, 2)} to {decimal_text(high, 2)}" for name, (low, high) in intervals.items()]
    return f"noise, the baseline against itself: {', '.join(ends)}" if ends else "noise not measured"


def _code(measured: Measured) -> str:
    return distinct(dict.fromkeys(run.origin.code(FINGERPRINT_LETTERS) for run in _done(measured)))


def _different_code(measured: Measured) -> str:
    """The number of columns and models whose runs were computed by several versions of the code, in one line."""
    apart = {(run.kind, run.task, run.model, id(run.origin.notes)): run for run in _done(measured)}  # not by seed alone
    lines = different_sources((run.kind, run.task, run.model, dict(run.origin.notes)) for run in apart.values())
    return f"{len(lines)} groups of runs; which: hashbench status {measured.experiment.name}" if lines else ""


def _software(measured: Measured) -> str:
    versions = grouped(dict.fromkeys(package for run in _done(measured) for package in run.origin.packages))
    return ", ".join(f"{name} {' and '.join(versions[name])}" for name in PACKAGES if name in versions)


def _machines(measured: Measured) -> str:
    counts = Counter(run.origin.hardware or "unknown" for run in _done(measured))
    return ", ".join(f"{name} ({n} runs)" if len(counts) > 1 else name for name, n in counts.items())


# Lines on notes that trainings store about themselves, by label
PROVENANCE_LINES: Mapping[str, Callable[[Measured], str]] = {
    "chosen values": _chosen,
    "rows searched on": partial(_noted, SEARCHED_ON_NOTE),
    "last evaluation, as none could be compared": partial(_noted, UNSELECTED_NOTE),
    "unknown tokens": partial(_noted, "unknown_tokens"),
    "words": partial(_noted, "words"),
}
