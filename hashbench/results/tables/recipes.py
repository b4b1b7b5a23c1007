"""Values of recipes in words: how they were chosen, where they hold, and where they differ from a paper's."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from hashbench.common.measured import STORED, Declaration, declared_words, plain
from hashbench.results.papers.paper import Paper, RecipeValue
from hashbench.results.read.measured import Measured
from hashbench.results.read.runs import MeasuredRun, grouped

NAMES_SHOWN = 3  # models or tasks that are named before they are only counted
ModelTask = tuple[str, str | None]  # a model and a task; None: of no task
NOT_DECLARED = "not declared"
REPORTED = ("test", "dev that is reported")  # rows that scores are read from: what was chosen on them is optimistic
SEARCHED = {"on": "held-out tenth of train", "by": "searched by the sweep in each run"}
Declarations = Mapping[str, Mapping[str, Declaration]]  # by model, by name of the value


def distinct(values: Iterable[object]) -> str:
    """The distinct values as text, in order.

    >>> distinct([8, 1, 8])
    '8, 1'
    """
    return ", ".join(plain(value) for value in dict.fromkeys(values))


def by_place(texts: Iterable[tuple[tuple[str, str], ModelTask]], everywhere: Collection[ModelTask]) -> list[str]:
    """The distinct texts, with the models and tasks that each holds for between its two parts.

    >>> everywhere = [("a", "sst2"), ("a", "rte"), ("b", "sst2"), ("b", "rte")]
    >>> by_place([(("steps 8", " (paper: 9)"), place) for place in everywhere[:2]], everywhere)
    ['steps 8 for a (paper: 9)']
    """
    return [before + where_it_holds(of, everywhere) + after for (before, after), of in grouped(texts).items()]


def placed(texts: Iterable[tuple[str, ModelTask]], everywhere: Collection[ModelTask]) -> str:
    """The distinct texts in one line, each with the models and tasks that it holds for behind it."""
    return "; ".join(by_place((((text, ""), place) for text, place in texts), everywhere))


def where_it_holds(places: Collection[ModelTask], everywhere: Collection[ModelTask]) -> str:
    """The models and tasks that a value holds for, as in ' for a on mrda'; '' if it holds for all.

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


def declarations(measured: Measured) -> dict[str, dict[str, Declaration]]:
    """How values were chosen, by model and value's name: as the experiment's file declares, or by a searched grid."""
    stored = measured.experiment.config.get(STORED, {})  # older sweeps declared none
    declared: dict[str, dict[str, Declaration]] = {model: dict(of_model) for model, of_model in stored.items()}
    for model, lists in measured.grids.items():
        searched = {f"finetune.{key}": {"tried": values, **SEARCHED} for key, values in lists.items()}
        declared[model] = declared.get(model, {}) | searched
    return declared


def declared_lines(declared: Declarations, models: Iterable[str]) -> list[str]:
    """The distinct declarations of how values were chosen, in words, with their models unless these are all."""
    return _by_model(declared, models, lambda name, declaration: f"{name} {declared_words(declaration)}")


def tuning_line(measured: Measured) -> str:
    """All declarations of how values were chosen, in one line, with "not declared" for all other values."""
    words = declared_lines(declarations(measured), measured.labels())
    return "; ".join([*words, f"all other values: {NOT_DECLARED}"]) if words else NOT_DECLARED


def tuned_on_reported(measured: Measured) -> list[str]:
    """The warning that values were tuned on the scores that are reported; or none."""
    words = _by_model(
        declarations(measured),
        measured.labels(),
        lambda name, declaration: f"{name} on {declaration['on']}" if declaration["on"] in REPORTED else "",
    )
    return [f"TUNED ON WHAT IS REPORTED: {'; '.join(words)}: these scores are optimistic."] if words else []


def _by_model(declared: Declarations, models: Iterable[str], form: Callable[[str, Declaration], str]) -> list[str]:
    """The texts that `form` makes of declarations, with their models where these are not all; '' is left out."""
    everywhere: list[ModelTask] = [(model, None) for model in sorted(models)]
    texts = [
        ((words, ""), (model, None))
        for model, of_model in declared.items()
        for name, declaration in of_model.items()
        if (model, None) in everywhere and (words := form(name, declaration))
    ]
    return by_place(texts, everywhere)


def encoder_deviation(measured: Measured, paper: Paper) -> list[str]:
    """The difference of the encoder's size from the paper's; none for a paper of several sizes."""
    if paper.recipe.encoder is None:
        return []
    runs = [run for run in measured.runs if not run.is_baseline]
    return _deviations("encoder", {(run.model, None): (run.encoder, paper.recipe.encoder) for run in runs})


def settings(runs: Iterable[MeasuredRun], block: str, keys: Iterable[str]) -> list[str]:
    """Lines 'key value' on a block of the runs' specs, with the models and tasks that each holds for.

    A key that runs lack, or that is not set, is left out.
    """
    apart = {(place_of(run), id(run.spec[block]), id(run.origin.notes)): run for run in runs if block in run.spec}
    values = [(run.block(block), place) for (place, *_), run in apart.items()]
    lines = (
        placed(
            [(f"{key} {_plain(of[key])}", place) for of, place in values if of.get(key) not in (None, "first")],
            [place for _, place in values],
        )
        for key in keys
    )
    return [line for line in lines if line]


def _plain(value: object) -> str:
    return plain(list(value.values()) if isinstance(value, Mapping) else value)


def learned_vocabularies(measured: Measured) -> str:
    """The tasks on whose training texts vocabularies were learned, with their models; '' where there are none."""
    specs = {(run.model, None): run.spec for run in measured.apart if "model" in run.spec and "corpus" in run.spec}
    texts = {place: _texts_learned(spec) for place, spec in specs.items()}
    return placed([(text, place) for place, text in texts.items() if text], texts)


def _texts_learned(spec: Mapping[str, Any]) -> str:
    """The texts of tasks, and the corpora beside them, that a spec's vocabulary is learned on; '' for no task's."""
    corpus = spec["corpus"] or {}
    if not corpus.get("tasks"):  # most specs have no such key
        return ""
    corpora = [of["name"] for of in corpus["corpora"]] if "corpus" in spec["model"]["tokenizer"]["learn_on"] else []
    tasks = f"the training texts of {distinct(task['name'] for task in corpus['tasks'])}"
    return f"learned on {' and '.join([*corpora, tasks])}"


def pretraining_deviations(measured: Measured, paper: Paper) -> list[str]:
    """Lines on how the experiment's pre-trainings differ from the paper's."""
    runs = measured.pretrainings()
    lines = _differing(measured, runs, "pretrain", paper.recipe.pretrain)
    lines += _differing(measured, [run for run in runs if run.spec["corpus"]], "corpus", paper.recipe.corpus)
    if paper.recipe.corpora:
        wanted = ", ".join(paper.recipe.corpora)
        lines += _deviations("corpora", {place_of(run): (", ".join(corpora_of(run)), wanted) for run in runs})
    if paper.recipe.vocabulary is None:
        return lines
    rows = {place_of(run): (n, paper.recipe.vocabulary) for run in runs for n in _trained_rows(run)}
    return lines + _deviations("trained vocabulary", rows)


def finetuning_deviations(measured: Measured, paper: Paper) -> list[str]:
    """Lines on how the experiment's fine-tunings differ from the paper's, also in the number of seeds."""
    runs = [run for run in measured.trainings_apart if "finetune" in run.spec]
    lines = _differing(measured, runs, "finetune", paper.recipe.finetune)
    seeds = len({run.seed for run in measured.trainings() if "finetune" in run.spec})
    if runs and paper.recipe.seeds and seeds != paper.recipe.seeds:
        lines.append(f"seeds {seeds} (paper: {paper.recipe.seeds})")
    return lines


def corpora_of(run: MeasuredRun) -> list[str]:
    """The names of the corpora that a pre-training read."""
    return [corpus["name"] for corpus in run.spec["corpus"]["corpora"]] if run.spec["corpus"] else []


def _trained_rows(run: MeasuredRun) -> list[int]:
    """The size of a vocabulary that the tokenizer learns from the corpus, in a list; empty for other tokenizers."""
    blocks = run.spec["model"]["tokenizer"].values()
    return [block["train"] for block in blocks if isinstance(block, dict) and "train" in block]


def place_of(run: MeasuredRun) -> ModelTask:
    return run.model, run.task


def _differing(
    measured: Measured, runs: Sequence[MeasuredRun], block: str, recipe: Mapping[str, RecipeValue]
) -> list[str]:
    """Lines on the keys of a recipe whose value in some run is not the paper's."""
    # runs that differ in their seed alone share the block
    apart = {(*place_of(run), id(run.spec[block]), id(run.spec["model"]), run.precision): run for run in runs}.values()
    declared = declarations(measured)
    lines: list[str] = []
    for key, wanted in recipe.items():
        having = [run for run in apart if key in run.spec[block]]
        values = {place_of(run): (run.block(block)[key], value_of_objective(run, wanted)) for run in having}
        chosen_on = {place: _rows_of_choice(declared, f"{block}.{key}", place) for place in values}
        lines += _deviations(key, values, chosen_on)
    return lines


def value_of_objective(run: MeasuredRun, wanted: RecipeValue) -> RecipeValue:
    """The paper's value for a run, looked up by the objective of the run's model if `wanted` is a mapping."""
    if not isinstance(wanted, dict):
        return wanted
    objective = run.spec["model"]["objective"]
    return wanted.get(objective["kind"]) if objective else None


def _rows_of_choice(declared: Declarations, name: str, place: ModelTask) -> str:
    """The rows on which a value was tuned, '' where that is not declared; a recipe for the task has precedence."""
    (model, task), (block, _, key) = place, name.partition(".")
    of_model = declared.get(model, {})
    names = [name for name in (f"{block}.per_task.{task}.{key}", name) if name in of_model]
    return str(of_model[names[0]]["on"]) if names else ""


def _deviations(
    key: str, values: Mapping[ModelTask, tuple[Any, RecipeValue]], chosen_on: Mapping[ModelTask, str] = {}
) -> list[str]:
    """Lines 'key value (paper: value; tuned on rows)', with the models and tasks of each difference from the paper.

    `values`: the experiment's and the paper's.
    """
    texts = []
    for place, (value, wanted) in values.items():
        if value != wanted:
            tuned = f"; tuned on {rows}" if (rows := chosen_on.get(place)) else ""
            texts.append(((f"{key} {plain(value)}", f" (paper: {plain(wanted)}{tuned})"), place))
    return by_place(texts, values)
