"""`check`: an experiment, or an embedding of the user's own, before any time is spent on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from hashbench.cli.options import Format
from hashbench.cli.output import Value, print_rows
from hashbench.embeddings.base import CodeSpec, EmbeddingSpec, ModelSpec
from hashbench.embeddings.registry import load_own
from hashbench.experiment.contract import contract
from hashbench.experiment.load import load_experiment
from hashbench.experiment.models import OWN_CODER, ResolvedModel
from hashbench.sweep.plan import Plan, check_data, plan


def check_experiment(file: Path, overrides: Sequence[str], data: Sequence[str] | None, *, labels: bool) -> None:
    """Prints what a sweep would do. Raises InputError for whatever would stop it."""
    loaded = load_experiment(file, overrides)
    planned = plan(loaded, data=data)
    if labels:
        check_data(planned)
    print(f"{file}: valid, encoder {loaded.experiment.encoder}, {_summary(planned)}\n")
    rows = [_model_row(model) for model in planned.models.values()]
    print_rows(list(rows[0]), rows, Format.text)
    tasks = [
        {
            "task": found.task.name,
            "from": found.origin,
            "metric": found.task.select_metric,
            "data": found.fingerprint[:8],
        }
        for found in planned.tasks
    ]
    if tasks:  # pre-training alone has none
        print()
        print_rows(list(tasks[0]), tasks, Format.text)
    for name, corpus in planned.corpora.items():
        print(f"\ncorpus {name}: {corpus.origin}")


def check_embedding(reference: str, coder: str | None) -> bool:
    """Runs the contract checks on an embedding and prints one line each; whether all passed."""
    embedding = load_own(reference)
    spec = ModelSpec(embedding.__name__, EmbeddingSpec(embedding), code=CodeSpec(coder or OWN_CODER))
    passed = True
    for finding in contract(spec):
        print(
            f"{'ok  ' if finding.problem is None else 'FAIL'}  {finding.promise}"
            + (f": {finding.problem}" if finding.problem else "")
        )
        passed = passed and finding.problem is None
    return passed


def _summary(planned: Plan) -> str:
    kinds = Counter(run.kind for run in planned.runs)
    return f"{len(planned.runs)} runs: " + ", ".join(f"{n} {kind}" for kind, n in kinds.items())


def _model_row(model: ResolvedModel) -> dict[str, Value]:
    trains = model.spec.pretrains
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
