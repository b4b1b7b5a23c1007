"""`check`: validates an experiment, or a user-defined embedding or coder; `schema`: the keys of experiment files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hashbench.cli.options import OF_EXPERIMENT, Data, Overrides
from hashbench.cli.output import note, print_rows, show
from hashbench.common.errors import InputError

if TYPE_CHECKING:
    from hashbench.running.experiment.contract import Finding
    from hashbench.running.experiment.load import Loaded

PROMISE_BROKEN = 1  # exit code


def check(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help=OF_EXPERIMENT, show_default=False)] = None,
    overrides: Overrides = None,
    data: Data = None,
    embedding: Annotated[
        str | None,
        typer.Option("--embedding", help="Check an embedding of your own: FILE.py:Class."),
    ] = None,
    coder: Annotated[
        str | None,
        typer.Option(
            "--coder",
            help="With --embedding: the coder whose codes it takes, by name or FILE.py:Class. Default: md5-bits. "
            "Without --embedding: check a coder of your own, FILE.py:Class.",
        ),
    ] = None,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure",
            help="Also count the texts that models read, and measure their word vectors; learns vocabularies.",
        ),
    ] = False,
    code: Annotated[
        bool,
        typer.Option("--code/--no-code", help="Import the Python files that the experiment names, which runs them."),
    ] = True,
) -> None:
    """Check an experiment file without running it, or a user-defined embedding or coder.

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
    check_experiment(file, overrides or [], data or None, measure=measure, code=code)


def check_experiment(
    file: Path, overrides: Sequence[str], data: Sequence[str] | None, *, measure: bool, code: bool
) -> None:
    """Prints the plan of an experiment's sweep. Raises InputError for anything that would stop it.

    Without `code`, an experiment that names Python files has these listed in place of a plan.
    """
    from hashbench.running.experiment.load import load_experiment

    loaded = load_experiment(file, overrides)  # before torch, which a plan needs, is imported
    if not code and _print_code(loaded):
        return
    from hashbench.results.tables.recipes import NOT_DECLARED, declared_lines
    from hashbench.running.experiment.resolved import model_rows, task_rows
    from hashbench.running.sweep import measuring
    from hashbench.running.sweep.plan import check_data, plan

    planned = plan(loaded, data=data, here=False)
    resolved = planned.resolved
    notes = check_data(planned)
    print(f"{file}: valid, encoder {loaded.experiment.encoder}, {planned.counts}\n")
    for remark in planned.notes:
        print(f"note: {remark}\n")
    models, tasks = model_rows(resolved), task_rows(resolved)
    print_rows(list(models[0]), models, "text")
    declared = declared_lines({label: resolved.tuning_of(label) for label in resolved.models}, resolved.models)
    print(f"\nhow values were chosen: {'; '.join(declared) or NOT_DECLARED}")
    if tasks:  # pre-training alone has none
        print()
        print_rows(list(tasks[0]), tasks, "text")
    if measure:
        measuring.measure(resolved, progress=note)
    else:
        measuring.print_results(resolved)
    for name, lines in notes.items():
        for line in lines:
            print(f"\n{name}: {line}")
    for corpus in resolved.corpora.values():
        documents = corpus.n_documents()
        count = "" if documents is None else f", {documents:,} document{'' if documents == 1 else 's'}"
        notes_on = (*corpus.notes, *corpus.row_notes())
        remarks = f" ({'; '.join(notes_on)})" if notes_on else ""
        print(f"\ncorpus {corpus.name}: {corpus.origin}{count}{remarks}")


def _print_code(loaded: Loaded) -> bool:
    """Prints the Python files that an experiment names, without importing them; returns True if there are any."""
    from hashbench.running.experiment.code import code_of, sha256

    named = code_of(loaded)
    if named:
        print(f"{loaded.shown}: valid keys and names; not imported, and their models not checked:")
        rows = []
        for code in named:
            shown = {"model": code.model, "code": code.reference}
            files = [{"file": str(path), "sha256": sha256(path)} for path in code.files()]
            rows += [{**shown, **file} for file in files or [{"file": "not there", "sha256": ""}]]
        print_rows(list(rows[0]), rows, "text")
    return bool(named)


def check_embedding(reference: str, coder: str | None) -> bool:
    """Prints a line for each contract check of an embedding; returns True if all passed."""
    from hashbench.running.experiment.contract import contract, remarks, spec_to_check
    from hashbench.running.experiment.used import OWN_CODER

    spec = spec_to_check(reference, coder)
    print(f"coder {coder or OWN_CODER}" + ("" if coder else ", the one of an embedding that names none (--coder NAME)"))
    passed = _print_findings(contract(spec))
    for line in remarks(spec) if passed else ():
        print(f"note  {line}")
    return passed


def check_coder(reference: str) -> bool:
    """Prints a line for each contract check of a user-defined coder; returns True if all passed."""
    from hashbench.running.experiment.coder_contract import coder_contract

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


def schema() -> None:
    """Print the JSON Schema of experiment files, from which editors complete keys.

    Example: hashbench schema > experiment.schema.json
    """
    show(schema_text(), end="")


def schema_text() -> str:
    """The JSON Schema of experiment files as a text."""
    from hashbench.results.rendering.rows import json_text
    from hashbench.running.experiment.schema import json_schema

    return json_text({"$schema": "https://json-schema.org/draft/2020-12/schema", **json_schema()})
