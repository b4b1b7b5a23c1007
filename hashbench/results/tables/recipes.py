"""Values of recipes in words: how they were chosen, and where they differ from a paper's."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from hashbench.results.papers.paper import Paper, RecipeValue
from hashbench.results.read.measured import Measured
from hashbench.results.read.runs import MeasuredRun

NAMES_SHOWN = 3  # models or tasks that are named before they are only counted
ModelTask = tuple[str, str | None]  # a model and a task; None: of no task


def plain(value: object) -> str:
    """A value of a recipe as a reader writes it.

    >>> plain(500000), plain(1e-4), plain(5e-5), plain([0.9, 0.9999]), plain(None), plain(True)
    ('500,000', '0.0001', '5e-05', '0.9, 0.9999', 'none', 'yes')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return ", ".join(plain(item) for item in value)
    return str(value)


def where_it_holds(places: Collection[ModelTask], everywhere: Collection[ModelTask]) -> str:
    """' for a on mrda', of the models and tasks that a value holds for; nothing where it holds for all.

    >>> everywhere = [("a", "sst2"), ("a", "rte"), ("b", "sst2"), ("b", "rte")]
    >>> where_it_holds(everywhere[:2], everywhere), where_it_holds(everywhere[::2], everywhere)
    (' for a', ' on sst2')
    >>> where_it_holds(everywhere[:1], everywhere), where_it_holds(everywhere, everywhere)
    (' for a on sst2', '')
    """
    some, whole = set(places), set(everywhere)
    if some == whole:
        return ""
    models, tasks = (list(dict.fromkeys(place[i] for place in places)) for i in (0, 1))
    all_models, all_tasks = ({place[i] for place in whole} for i in (0, 1))
    of_models = f" for {_named(models, len(all_models), 'models')}"
    on_tasks = f" on {_named(tasks, len(all_tasks), 'tasks')}"
    if some == {place for place in whole if place[0] in models}:
        return of_models
    if some == {place for place in whole if place[1] in tasks}:
        return on_tasks
    if some == set(product(models, tasks)) & whole:
        return of_models + on_tasks
    return f" in {len(some)} of {len(whole)} pairs of model and task"


def _named(names: Sequence[str | None], n_all: int, what: str) -> str:
    return ", ".join(map(str, names)) if len(names) <= NAMES_SHOWN else f"{len(names)} of {n_all} {what}"


def distinct(values: Iterable[object]) -> str:
    """Each value once, in order.

    >>> distinct([8, 1, 8])
    '8, 1'
    """
    return ", ".join(plain(value) for value in dict.fromkeys(values))


STORED = "tuning"  # key of a stored experiment: by model, by name of the value
NOT_DECLARED = "not declared"
REPORTED = ("test", "dev that is reported")  # rows that scores are read from: what was chosen on them is optimistic
SEARCHED = {"on": "held-out tenth of train", "by": "searched by the sweep in each run"}
Declaration = Mapping[str, Any]  # tried, on, by
Known = Mapping[str, Mapping[str, Declaration]]  # by model, by name of the value


def declarations(measured: Measured) -> dict[str, dict[str, Declaration]]:
    """What is known, by model and name: what the file declared, and the grids that the sweep itself searched."""
    config = measured.experiment.config
    stored: dict[str, dict[str, Declaration]] = config[STORED] if STORED in config else {}  # older sweeps declared none
    known = {model: dict(declared) for model, declared in stored.items()}
    for model, rates in measured.grids.items():
        known.setdefault(model, {})["finetune.learning_rate"] = {"tried": rates, **SEARCHED}
    return known


def declared_words(declaration: Declaration) -> str:
    """A declaration in words.

    >>> declared_words({"tried": [1e-4, 3e-4], "on": "validation", "by": "accuracy of proformer"})
    'tried 0.0001, 0.0003 on validation (accuracy of proformer)'
    """
    by = f" ({declaration['by']})" if declaration["by"] else ""
    return f"tried {', '.join(plain(value) for value in declaration['tried'])} on {declaration['on']}{by}"


def card_lines(declared: Mapping[str, Declaration], task: str | None) -> list[str]:
    """'name: words' of a model's values that count for a task (None: for its pre-training)."""
    return [f"{name}: {declared_words(declared[name])}" for name in declared if _counts_for(name, task)]


def _counts_for(name: str, task: str | None) -> bool:
    """Whether a value has to do with a task: recipes of other tasks have not.

    >>> _counts_for("finetune.per_task.mrda.epochs", "mrda"), _counts_for("finetune.per_task.mrda.epochs", "atis")
    (True, False)
    >>> _counts_for("pretrain.steps", None), _counts_for("finetune.epochs", None)
    (True, False)
    """
    if task is None:
        return not name.startswith("finetune.")
    return "per_task" not in name or name.startswith(f"finetune.per_task.{task}.")


def rows_that_decided(known: Known, name: str, model: str, task: str | None) -> str:
    """On which rows a value of a run was chosen, '' where that is not declared; a task's own recipe comes first.

    `known`: the declarations of the experiment.
    """
    declared = known.get(model, {})
    block, _, key = name.partition(".")
    for candidate in (f"{block}.per_task.{task}.{key}", name):
        if candidate in declared:
            return str(declared[candidate]["on"])
    return ""


def tuning_line(measured: Measured) -> str:
    """What was declared, models that share a declaration together; what was not is said too."""
    words = declared_lines(declarations(measured), measured.labels())
    return "; ".join([*words, f"all other values: {NOT_DECLARED}"]) if words else NOT_DECLARED


def tuned_on_reported(measured: Measured) -> list[str]:
    """The line that must be said loudly of values that were chosen by the scores that are reported."""

    def said(name: str, declaration: Declaration) -> str:
        return f"{name} on {declaration['on']}" if declaration["on"] in REPORTED else ""

    words = _models_by_words(declarations(measured), measured.labels(), said)
    return [f"TUNED ON WHAT IS REPORTED: {'; '.join(words)}: these scores are optimistic."] if words else []


def declared_lines(known: Known, models: Iterable[str]) -> list[str]:
    """Each declaration in words, once, with those of `models` that it holds for where these are not all."""
    return _models_by_words(known, models, lambda name, declaration: f"{name} {declared_words(declaration)}")


def _models_by_words(known: Known, models: Iterable[str], form: Callable[[str, Declaration], str]) -> list[str]:
    """What `form` says of each declaration, with the models where it does not hold for all; '' says nothing."""
    everywhere: list[ModelTask] = [(model, None) for model in sorted(models)]
    places: dict[str, list[ModelTask]] = {}
    for model, declared in known.items():
        for name, declaration in declared.items():
            if (model, None) in everywhere and (words := form(name, declaration)):
                places.setdefault(words, []).append((model, None))
    return [words + where_it_holds(some, everywhere) for words, some in places.items()]


Values = Mapping[ModelTask, RecipeValue]  # of a key


def pretraining_deviations(measured: Measured, paper: Paper) -> list[str]:
    """Differences of all pre-trainings of the experiment from the paper's."""
    runs = measured.pretrainings()
    lines = _differing(measured, runs, "pretrain", paper.recipe.pretrain)
    lines += _differing(measured, [run for run in runs if run.spec["corpus"]], "corpus", paper.recipe.corpus)
    if paper.recipe.corpora:
        corpora: Values = {_place(run): ", ".join(corpora_of(run)) for run in runs}
        lines += _lines("corpora", corpora, dict.fromkeys(corpora, ", ".join(paper.recipe.corpora)))
    if paper.recipe.vocabulary is None:
        return lines
    trained: Values = {_place(run): rows for run in runs for rows in _trained_rows(run.spec["model"]["tokenizer"])}
    return lines + _lines("trained vocabulary", trained, dict.fromkeys(trained, paper.recipe.vocabulary))


def _trained_rows(tokenizer: Mapping[str, Any]) -> list[int]:
    """The size of a vocabulary that a tokenizer learns from the corpus; nothing where it was given or there is none.

    >>> _trained_rows({"kind": "bpe", "bpe": {"train": 50265}}), _trained_rows({"kind": "words", "lowercase": True})
    ([50265], [])
    """
    return [block["train"] for block in tokenizer.values() if isinstance(block, dict) and "train" in block]


def finetuning_deviations(measured: Measured, paper: Paper) -> list[str]:
    """Differences of all fine-tunings of the experiment from the paper's, the number of seeds among them."""
    runs = [run for run in measured.trainings() if "finetune" in run.spec]
    lines = _differing(measured, runs, "finetune", paper.recipe.finetune)
    seeds = len({run.seed for run in runs})
    if runs and paper.recipe.seeds and seeds != paper.recipe.seeds:
        lines.append(f"seeds {seeds} (paper: {paper.recipe.seeds})")
    return lines


def encoder_deviation(measured: Measured, paper: Paper) -> list[str]:
    """The sizes of the encoder where they are not the paper's; nothing where its models have sizes of their own."""
    if paper.recipe.encoder is None:
        return []
    sizes: Values = {(run.model, None): run.encoder for run in measured.runs if not run.is_baseline}
    return _lines("encoder", sizes, dict.fromkeys(sizes, paper.recipe.encoder))


def corpora_of(run: MeasuredRun) -> list[str]:
    """The names of the corpora that a pre-training read."""
    return [corpus["name"] for corpus in run.spec["corpus"]["corpora"]] if run.spec["corpus"] else []


def _place(run: MeasuredRun) -> ModelTask:
    return run.model, run.task


def _differing(
    measured: Measured, runs: Sequence[MeasuredRun], block: str, recipe: Mapping[str, RecipeValue]
) -> list[str]:
    """One line for each key of a recipe whose value is another in some run."""
    lines: list[str] = []
    declared, distinct = declarations(measured), _distinct(runs, block)
    for key, wanted in recipe.items():
        having = [run for run in distinct if key in run.spec[block]]
        ours = {_place(run): run.block(block)[key] for run in having}
        theirs = {_place(run): _wanted(run, wanted) for run in having}
        chosen = {place: rows_that_decided(declared, f"{block}.{key}", *place) for place in ours}
        lines += _lines(key, ours, theirs, chosen)
    return lines


def _distinct(runs: Sequence[MeasuredRun], block: str) -> list[MeasuredRun]:
    """One run for those of a model and task that share a block of their specs, as runs that differ by seed do."""
    by_content = {(*_place(run), id(run.spec[block]), id(run.spec["model"]), run.precision): run for run in runs}
    return list(by_content.values())


def _wanted(run: MeasuredRun, wanted: RecipeValue) -> RecipeValue:
    """The paper's value for a run; a mapping gives it by objective."""
    if not isinstance(wanted, dict):
        return wanted
    objective = run.spec["model"]["objective"]
    return wanted.get(objective["kind"]) if objective else None


def _lines(key: str, ours: Values, theirs: Values, chosen: Mapping[ModelTask, str] | None = None) -> list[str]:
    """'key value (paper: value; tuned on rows)', with models and tasks where they are not all alike."""
    alike: dict[tuple[str, str, str], list[ModelTask]] = {}
    for place, value in ours.items():
        if value != theirs[place]:
            rows = chosen[place] if chosen else ""
            words = (plain(value), plain(theirs[place]), f"; tuned on {rows}" if rows else "")
            alike.setdefault(words, []).append(place)
    return [
        f"{key} {value}{where_it_holds(places, ours)} (paper: {wanted}{tuned})"
        for (value, wanted, tuned), places in alike.items()
    ]
