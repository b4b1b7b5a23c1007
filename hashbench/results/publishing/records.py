"""Results as records of the schema Every Eval Ever, version 0.3.0 (every-eval-ever on the package index, MIT).

A record is a row of an experiment's own table: a model with its score on each task, the interval over examples and the
standard error over seeds. It is the file data/hashbench_EXPERIMENT/ORGANISATION/MODEL/ID.json of a folder. All that it
says comes from the database, and its id is a hash of its content, so that equal results give equal files.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import statistics
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hashbench.common.atomic import replace_text
from hashbench.common.errors import InputError, near_match
from hashbench.results.exchange.export import scrub_text
from hashbench.results.read.evidence import Evidence, Sample
from hashbench.results.read.measured import Measured, measure
from hashbench.results.read.runs import Entry, MeasuredRun, SeedScore
from hashbench.results.tables.request import DRAWS as TABLE_DRAWS
from hashbench.scores.base import Metric, metric_of
from hashbench.scores.draws import CONFIDENCE
from hashbench.store.engine import Store
from hashbench.store.status import experiment_names

SCHEMA = "0.3.0"
LIBRARY = "hashbench"
# What a file name may not have on some system, what no name may be there, and what the schema's store keeps for itself
INVALID = re.compile(r'[<>:"\\|?*/\x00-\x1f]')
RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com[1-9]|lpt[1-9])(\..*)?|data|unknown|")
ORGANISATION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
HUB = re.compile(r"hub (?P<repository>\S+?)(@(?P<commit>[0-9a-f]+))?")  # the origin of data from the hub
PACKAGE = "hashbench"  # among the packages of an environment


@dataclass(frozen=True)
class Publication:
    """The number of records that were written, and notes on what was left out."""

    records: int
    notes: list[str]


def publish(
    store: Store, folder: Path, organisation: str, experiments: Sequence[str] = (), *, draws: int = TABLE_DRAWS
) -> Publication:
    """Writes the records of some experiments (none named: of all) below a folder, which is made.

    `draws`: of examples, for intervals; tables take the default. Raises InputError for an unknown experiment, a name
    that is none of an organisation, and a folder with other files, or in which no file can be written.
    """
    checked_organisation(organisation)
    names = list(dict.fromkeys(experiment_names(store)))
    for name in experiments:
        if name not in names:
            raise InputError(f"{store.name}: no experiment {name!r}{near_match(name, names) or '; see hashbench list'}")
    written: set[Path] = set()
    try:
        others = sorted(path.name for path in folder.glob("[!.]*"))
        if others and not any(folder.glob("data/hashbench_*")):
            raise InputError(
                f"{folder}: has other files, as {others[0]}, and no results; name a new or an empty folder"
            )
        folder.mkdir(parents=True, exist_ok=True)
        for name in experiments or names:
            for place, record in aggregates(measure(store, name), organisation, draws):
                file = folder / place
                file.parent.mkdir(parents=True, exist_ok=True)
                replace_text(file, json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
                written.add(file)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); name another folder") from error
    notes = [] if written else ["no experiment has a score yet, so there is no record"]
    if older := sorted({*(folder / "data").glob("*/*/*/*.json")} - written):
        notes.append(f"{len(older)} files of other results are in {folder / 'data'} and stay, as {older[0].name}")
    return Publication(len(written), notes)


def path_part(name: str) -> str:
    """A name as one part of a path on any system, and of an id.

    >>> path_part("sib200:deu_Latn"), path_part("a/b."), path_part("nul"), path_part("data")
    ('sib200_deu_Latn', 'a_b', '_nul', '_data')
    """
    part = INVALID.sub("_", name).strip().rstrip(". ")
    return f"_{part}" if RESERVED.fullmatch(part) else part


def checked_organisation(name: str) -> str:
    """The name of an organisation, if it can be a part of paths and ids. Raises InputError otherwise."""
    if not ORGANISATION.fullmatch(name) or path_part(name) != name:
        raise InputError(
            f"--organisation {name!r}: is no name of an organisation; give the one on the hub, as my-lab: letters, "
            "digits, '-', '_' and '.'"
        )
    return name


def aggregates(measured: Measured, organisation: str, draws: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place below the folder, record) of each row of an experiment's table that has a score."""
    evidence = Evidence(measured.store, measured, draws=draws)
    of_entries = [
        (entry, [sample for task in measured.tasks() if (sample := evidence.own(entry, task)) is not None])
        for entry in measured.entries
    ]
    evidence.draw(sample for _, samples in of_entries for sample in samples)
    for entry, samples in of_entries:
        if scored := [sample for sample in samples if sample.by_seed()]:
            yield _aggregate(measured, evidence, entry, scored, organisation)


def _aggregate(
    measured: Measured, evidence: Evidence, entry: Entry, samples: Sequence[Sample], organisation: str
) -> tuple[str, dict[str, Any]]:
    runs = [score.run for sample in samples for score in sample.scores.values()]
    made_at = max((run.origin.finished_at or 0.0 for run in runs), default=0.0) or measured.experiment.called_at
    collection, model = path_part(f"{LIBRARY}_{measured.experiment.name}"), path_part(entry.model)
    model_id = f"{organisation}/{model}"
    settings = f"/{entry.encoder} {entry.settings}".rstrip() if entry.settings else ""
    record: dict[str, Any] = {
        "schema_version": SCHEMA,
        "evaluation_id": f"{collection}/{model_id}/{int(made_at)}{settings}",
        "evaluation_timestamp": _moment(made_at),
        "retrieved_timestamp": str(int(made_at)),
        "source_metadata": {
            "source_name": f"{LIBRARY}, experiment {measured.experiment.name}",
            "source_type": "evaluation_run",
            "source_organization_name": organisation,
            "evaluator_relationship": "first_party",
        },
        "eval_library": {
            "name": LIBRARY,
            "version": ", ".join(sorted({dict(run.origin.packages).get(PACKAGE, "") for run in runs} - {""}))
            or "unknown",
            "additional_details": {
                "code": "; ".join(sorted({run.origin.code() for run in runs})),
                "machine": scrub_text("; ".join(sorted({run.origin.hardware for run in runs} - {""})), frozenset()),
            },
        },
        "model_info": {
            "name": entry.title,
            "id": model_id,
            "developer": organisation,
            "additional_details": _details_of_model(measured, entry, runs),
        },
        "evaluation_results": [_result(evidence, sample) for sample in samples],
    }
    return f"data/{collection}/{organisation}/{model}/{content_id(record)}.json", record


def content_id(record: dict[str, Any]) -> str:
    """An id in the form of a UUID of version 4, with bits of the record's SHA-256.

    >>> content_id({"a": 1})
    'f9d86028-c6e0-464e-a251-86f96acb6933'
    """
    text = json.dumps(record, sort_keys=True, ensure_ascii=False)
    return str(uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4))


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).isoformat().replace("+00:00", "Z")


def _details_of_model(measured: Measured, entry: Entry, runs: Sequence[MeasuredRun]) -> dict[str, str]:
    """Sizes, parts and recipe of a model, as texts."""
    details = {"deployment_type": "self_deployed", "model_availability": "unknown"}
    if entry.is_baseline:
        return details | {"kind": "trivial baseline"}
    facts = {name: measured.fact(entry, name) for name in ("total_params", "emb_params")}
    sizes = {name: f"{fact.value:.0f}" for name, fact in facts.items() if fact is not None and fact.value is not None}
    block = runs[0].spec.get("model", {})
    parts = {name: block[name] for name in ("embedding", "tokenizer", "coder", "objective") if block.get(name)}
    written = {
        name: part if isinstance(part, str) else json.dumps(part, sort_keys=True) for name, part in parts.items()
    }
    recipe = runs[0].spec.get("finetune")
    more = {"finetune": json.dumps(recipe, sort_keys=True)} if isinstance(recipe, dict) else {}
    settings = {"settings": entry.settings} if entry.settings else {}
    texts = {"encoder": entry.encoder, **sizes, **written, **more, **settings}
    return details | {name: scrub_text(text, frozenset()) for name, text in texts.items()}


def _source_data(sample: Sample) -> dict[str, Any]:
    """The data of a sample, on the hub where all runs read one data set there."""
    origins = {dict(score.run.origin.notes).get("origin", "") for score in sample.scores.values()}
    hub = HUB.fullmatch(origins.pop()) if len(origins) == 1 else None
    notes = dict(next(iter(sample.scores.values())).run.origin.notes)
    details = {
        "fingerprint": sample.data,
        "origin": scrub_text(notes.get("origin", ""), frozenset()),
        "notes": scrub_text(notes.get("data", ""), frozenset()),
    }
    details = {name: text for name, text in details.items() if text}
    if hub is None:
        return {
            "dataset_name": sample.task,
            "source_type": "other",
            "additional_details": {**details, "split": sample.split},
        }
    revision = {"revision": hub["commit"]} if hub["commit"] else {}
    return {
        "dataset_name": sample.task,
        "source_type": "hf_dataset",
        "hf_repo": hub["repository"],
        "hf_split": sample.split,
        **({"samples_number": sample.n} if sample.n else {}),
        "additional_details": {**details, **revision},
    }


def _result(evidence: Evidence, sample: Sample) -> dict[str, Any]:
    """The entry of evaluation_results of a task: the mean over seeds, as tables print it, in its natural range."""
    metric, by_seed = metric_of(sample.metric), sample.by_seed()
    values = list(by_seed.values())
    least, most = _bounds(metric, values)
    result: dict[str, Any] = {
        "evaluation_result_id": f"{sample.task}/{sample.split}/{sample.metric}",
        "evaluation_name": sample.task,
        "source_data": _source_data(sample),
        "metric_config": {
            "evaluation_description": f"{sample.metric} on {sample.split}, mean over the seeds",
            "metric_id": sample.metric,
            "metric_name": sample.metric,
            "metric_kind": sample.metric,
            "metric_unit": "proportion" if (least, most) == (0, 1) else "coefficient",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": least,
            "max_score": most,
        },
        "score_details": {
            "score": statistics.fmean(values),
            "details": {
                "scores": " ".join(map(repr, values)),
                "seeds": " ".join("none" if seed is None else str(seed) for seed in by_seed),
                "runs": " ".join(sample.scores[seed].run.run_id for seed in by_seed),
            },
        },
    }
    if uncertainty := _uncertainty(evidence, sample, values):
        result["score_details"]["uncertainty"] = uncertainty
    return result


def _bounds(metric: Metric | None, values: Sequence[float]) -> tuple[float | str, float | str]:
    """The bounds of a metric, infinite ones as the schema spells them: where scores show that it has no others."""
    least, most = (0.0, 1.0) if metric is None else (metric.least, metric.most)
    below, above = math.isinf(least) or min(values) < least, math.isinf(most) or max(values) > most
    return "-Infinity" if below else least, "Infinity" if above else most


def _uncertainty(evidence: Evidence, sample: Sample, values: Sequence[float]) -> dict[str, Any]:
    """The interval over examples, and the standard error over seeds, as far as there are any."""
    scores: list[SeedScore] = list(sample.scores.values())
    uncertainty: dict[str, Any] = {}
    if len(values) > 1:
        error = statistics.stdev(values) / math.sqrt(len(values))
        uncertainty["standard_error"] = {
            "value": error,
            "method": f"standard deviation over {len(values)} seeds / sqrt(n)",
        }
    interval = evidence.interval(sample.entry, [scores])
    if interval is not None and all(map(math.isfinite, interval)):
        low, high, n = interval
        uncertainty["confidence_interval"] = {
            "lower": low,
            "upper": high,
            "confidence_level": CONFIDENCE,
            "method": "percentile bootstrap over examples of the mean over seeds",
        }
        uncertainty |= {"num_samples": n, "num_bootstrap_samples": evidence.draws}
    return uncertainty
