"""`check`: an experiment, or an embedding of the user's own, before any time is spent on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hashbench.cli.options import Data, Overrides
from hashbench.cli.output import print_rows
from hashbench.errors import InputError, located
from hashbench.rendering.rows import Value

if TYPE_CHECKING:
    from hashbench.experiment.contract import Finding
    from hashbench.experiment.models import ResolvedModel
    from hashbench.sweep.plan import Plan

PROMISE_BROKEN = 1  # exit code


def check(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="An experiment file.", show_default=False)
    ] = None,
    overrides: Overrides = None,
    data: Data = None,
    embedding: Annotated[
        str | None,
        typer.Option("--embedding", help="FILE.py:Class: run the contract checks on an embedding of your own."),
    ] = None,
    coder: Annotated[
        str | None,
        typer.Option(
            "--coder",
            help="The codes that embedding takes, by name or FILE.py:Class (md5-bits if not given). Without "
            "--embedding: run the contract checks on a coder of your own.",
        ),
    ] = None,
    labels: Annotated[bool, typer.Option(help="Also read every data set once and check its labels.")] = True,
) -> None:
    """Validate an experiment without running it, or an embedding or a coder of your own.

    Examples: hashbench check my.yaml; hashbench check --embedding my_file.py:MyEmbedding
    """
    if (file is None) == (embedding is None and coder is None):
        raise InputError(
            "check: give an experiment file, --embedding FILE.py:Class or --coder FILE.py:Class; "
            "see hashbench check --help"
        )
    if file is None:
        kept = check_coder(str(coder)) if embedding is None else check_embedding(embedding, coder)
        raise typer.Exit(0 if kept else PROMISE_BROKEN)
    check_experiment(file, overrides or [], data or None, labels=labels)


def check_experiment(file: Path, overrides: Sequence[str], data: Sequence[str] | None, *, labels: bool) -> None:
    """Prints what a sweep would do. Raises InputError for whatever would stop it."""
    from hashbench.experiment.load import load_experiment
    from hashbench.sweep.plan import check_data, plan

    loaded = load_experiment(file, overrides)
    planned = plan(loaded, data=data)
    notes = check_data(planned) if labels else {}
    print(f"{file}: valid, encoder {loaded.experiment.encoder}, {_summary(planned)}\n")
    rows = [_model_row(model) for model in planned.resolved.models.values()]
    print_rows(list(rows[0]), rows, "text")
    print(f"\nhow values were chosen: {_tuning(planned)}")
    tasks = [
        {
            "task": entry.task.name,
            "from": entry.origin,
            "metric": entry.task.select_metric,
            "data": entry.fingerprint[:8],
        }
        for entry in planned.resolved.tasks
    ]
    if tasks:  # pre-training alone has none
        print()
        print_rows(list(tasks[0]), tasks, "text")
    for remark in planned.notes:
        print(f"\n{remark}")
    for name, said in notes.items():
        for line in said:
            print(f"\n{name}: {line}")
    for corpus in planned.resolved.corpora.values():
        documents = corpus.n_documents() if labels else None
        count = "" if documents is None else f", {documents:,} document{'' if documents == 1 else 's'}"
        print(f"\ncorpus {corpus.name}: {corpus.origin}{count}")


def check_embedding(reference: str, coder: str | None) -> bool:
    """Runs the contract checks on an embedding and prints one line each; whether all passed."""
    from hashbench.coders.base import Coder
    from hashbench.coders.registry import make_coder
    from hashbench.embeddings.base import CodeSpec, EmbeddingSpec, ModelSpec
    from hashbench.embeddings.registry import load_own
    from hashbench.experiment.contract import contract, parameters_left_out, rows_never_reached
    from hashbench.experiment.used import OWN_CODER
    from hashbench.listing import own_name

    embedding = load_own(reference)
    with located("--coder"):
        name = own_name(coder or OWN_CODER, Path(), Coder, "coder")
        make_coder(name)  # a wrong name is wrong input, no promise that the embedding breaks
    spec = ModelSpec(embedding.__name__, EmbeddingSpec(embedding), code=CodeSpec(name))
    print(f"coder {coder or OWN_CODER}" + ("" if coder else ", the one of an embedding that names none (--coder NAME)"))
    passed = _print_findings(contract(spec))
    for line in (*rows_never_reached(spec), *parameters_left_out(spec)) if passed else ():
        print(f"note  {line}")
    return passed


def check_coder(reference: str) -> bool:
    """Runs the contract checks on a coder of one's own and prints one line each; whether all passed."""
    from hashbench.experiment.coder_contract import coder_contract

    if ".py:" not in reference:
        raise InputError(f"--coder {reference}: no file; write FILE.py:Class, or add --embedding FILE.py:Class")
    return _print_findings(coder_contract(reference))


def _print_findings(findings: Iterable[Finding]) -> bool:
    passed = True
    for finding in findings:
        kept = finding.problem is None
        print(f"ok    {finding.promise}" if kept else f"FAIL  {finding.promise}: {finding.problem}")
        passed = passed and kept
    return passed


def _summary(planned: Plan) -> str:
    kinds = Counter(run.kind for run in planned.runs)
    return f"{len(planned.runs)} runs: " + ", ".join(f"{n} {kind}" for kind, n in kinds.items())


def _tuning(planned: Plan) -> str:
    """What the file declares, each declaration once with the models where it does not hold for all."""
    from hashbench.tables.tuning import NOT_DECLARED, declared_words
    from hashbench.tables.wording import where_it_holds

    places: dict[str, list[tuple[str, str | None]]] = {}
    for label in planned.resolved.models:
        for name, declaration in planned.resolved.tuning_of(label).items():
            places.setdefault(f"{name} {declared_words(declaration)}", []).append((label, None))
    everywhere = [(label, None) for label in planned.resolved.models]
    return "; ".join(words + where_it_holds(some, everywhere) for words, some in places.items()) or NOT_DECLARED


def _model_row(model: ResolvedModel) -> dict[str, Value]:
    from hashbench.objectives.registry import pretrains

    trains = pretrains(model.spec)
    rate = model.finetune.learning_rate
    return {
        "model": model.label,
        "tokenizer": model.spec.text.tokenizer,
        "coder": model.spec.code.coder,
        "objective": model.spec.training.objective or "none",
        "steps": model.pretrain.steps if trains else None,
        "pretrain_lr": model.pretrain.learning_rate if trains else None,
        "warmup": model.pretrain.warmup_steps if trains else None,
        "epochs": None if model.finetune.steps else model.finetune.epochs,
        "finetune_steps": model.finetune.steps,
        "finetune_lr": rate if not isinstance(rate, tuple) else ", ".join(f"{each:g}" for each in rate),
    }
