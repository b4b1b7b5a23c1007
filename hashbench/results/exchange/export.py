"""A small copy of the database to publish: the numbers, without where and by whom they were made.

Left out: host and worker names, paths, commands, uncommitted changes, logs and artifacts. The spec of a run is never
changed, since its hash is the run's id: one with a path, a host or a password is refused, or its run is left out. Kept:
scores, facts, commits, package versions, machine models, up to 25 points of each curve of a training, the
newest version of each experiment (an older one where it has a finished run that no newer one has), and of the
predictions what intervals and comparisons need: those of the best checkpoint on the split that is reported, classes in
place of logits, ordered by their targets. So they do not say which example has which label: data sets may not be passed
on, and counts of labels are all that is left of them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from hashbench.common.atomic import BESIDE, atomic_write
from hashbench.common.errors import InputError
from hashbench.common.showing import without_passwords
from hashbench.results.exchange.checked_rows import CheckedDatabase
from hashbench.results.exchange.merge import CURVES, copy_attempt
from hashbench.scores.base import Metric, metrics
from hashbench.store import sums
from hashbench.store.engine import Store, open_results, open_store
from hashbench.store.environment import LEFT_OUT, Environment, as_json
from hashbench.store.kinds import KEY
from hashbench.store.malformed import check_numbers
from hashbench.store.packing import pack
from hashbench.store.queue import published
from hashbench.store.result import Predictions
from hashbench.store.schema import (
    attempt,
    dependency,
    environment,
    experiment,
    experiment_run,
    insert_rows,
    metric,
    predictions,
    run,
    setting,
)

# keys of an experiment whose values may be paths of any form
PLACES = ("path", "data", "sources", "use")
PATHS_BY_NAME = ("pairs",)  # keys of a mapping whose every value is a path
NO_PATHS = ("hub", "builtin")  # values of these keys that are no path
# What begins like a path, /x ./x ../x ~/x C:\x, at the start of a word. Hub names (owner/name), addresses (https://),
# the token </s> and regular expressions are none.
PATH = re.compile(
    r"(?:(?<![^\s\"'(=,\[{])|(?<=file://)|(?<=:)(?=/[^/]))(?:(?:~\w*|\.{1,2})?/|[A-Za-z]:[\\/])[^\s\"',;)]+"
)


ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://[^/\s@]+@", re.IGNORECASE)  # of a user, perhaps with a password
MOST_RUNS = 10  # runs that a message names
PAGE = 8_192  # bytes: predictions end in pages that are part empty; of 4,096 bytes the file was 4 % larger
CURVE_POINTS = 25  # of the curve of a training, whose hundred were three quarters of all numbers
FINISHED_SPECS = """
SELECT r.id, r.spec, e.name AS experiment FROM run r
JOIN experiment_run er ON er.run_id = r.id JOIN experiment e ON e.id = er.experiment_id
WHERE r.state = 'done' ORDER BY e.id, er.position
"""

COPIED = (experiment, run, experiment_run, attempt, environment, metric, predictions)


def export_example(
    store: Store, file: Path, experiments: Sequence[str] = (), *, replace: bool = False, leave_out: Collection[str] = ()
) -> list[str]:
    """Writes the finished runs of some experiments (none named: of all) to a new SQLite file.

    `leave_out`: ids of runs that are not copied, nor are the runs that need them; returns the ids of all left out.

    Raises:
        InputError: an unknown experiment, a missing folder, or something in the file's place that is no store; a
            store only where it may not be replaced. A run whose spec names a path, a host or an address with a user.
    """
    _check_place(file, replace)
    missing = sorted(set(experiments) - {row["name"] for row in store.query("SELECT name FROM experiment")})
    if missing:
        raise InputError(f"{store.name}: no experiment {missing[0]!r} to export")
    hosts = frozenset(row["host"] for row in store.query("SELECT DISTINCT host FROM environment") if row["host"])
    without = _with_dependents(store, leave_out)
    _check_specs(store, hosts, experiments, without)
    with atomic_write(file, over_database=True) as part:
        try:
            with contextlib.closing(open_store(part)) as example:
                with store.read() as source, example.write() as target:
                    for table in COPIED:
                        check_numbers(source, store.name, table.name, None)
                    _Copy(store, example, source, target, hosts, without).experiments(experiments)
                    sums.write_all(target)
            _seal(part)
        finally:
            for end in BESIDE:
                part.with_name(f"{part.name}{end}").unlink(missing_ok=True)
    return sorted(without)


def _with_dependents(store: Store, run_ids: Collection[str]) -> frozenset[str]:
    """The ids of runs and of all runs that need them."""
    needed_by: dict[str, list[str]] = {}
    for row in store.query("SELECT run_id, needs_run_id FROM dependency") if run_ids else ():
        needed_by.setdefault(row["needs_run_id"], []).append(row["run_id"])
    reached, waiting = set(run_ids), list(run_ids)
    while waiting:
        new = set(needed_by.get(waiting.pop(), ())) - reached
        reached |= new
        waiting += new
    return frozenset(reached)


def _check_specs(store: Store, hosts: frozenset[str], experiments: Sequence[str], without: Collection[str]) -> None:
    """Raises InputError for the finished runs that would be copied whose specs have what is not to be published."""
    rows = store.query(FINISHED_SPECS)
    copied = {row["id"]: row["spec"] for row in rows if not experiments or row["experiment"] in experiments}
    private = {}
    for run_id, spec in copied.items():
        if run_id not in without and (place := next(_private_places(json.loads(spec), hosts), None)):
            private[run_id] = place
    if not private:
        return
    (run_id, (key, what)), *more = private.items()
    also = f", and {len(more)} more runs" if len(more) > 1 else ", and 1 more run" if more else ""
    listed = " ".join(f"--leave-out {name[:12]}" for name in list(private)[:MOST_RUNS])
    raise InputError(
        f"{store.name}: run {run_id[:12]}: {key} of its spec names {what}{also}; a spec is never changed, since its "
        f"hash is the run's id: leave them out, with the runs that need them: {listed}"
        + (" ..." if len(private) > MOST_RUNS else "")
    )


def _private_places(value: Any, hosts: frozenset[str], key: str = "") -> Iterator[tuple[str, str]]:
    """The keys of a spec whose texts are not to be published, each with what they name."""
    if isinstance(value, dict):
        for name, part in value.items():
            place = f"{key}.{name}" if key else str(name)
            if what := _private_part(str(name), hosts):
                yield place, what
            yield from _private_places(part, hosts, place)
    elif isinstance(value, list):
        for part in value:
            yield from _private_places(part, hosts, key)
    elif isinstance(value, str) and (what := _private_part(value, hosts)):
        yield key, what


def _private_part(text: str, hosts: frozenset[str]) -> str:
    """The part of a text that is not to be published, in words; "" where nothing is.

    A text that is one plain word is the name of a size or a kind, even where a machine is called so.

    >>> [_private_part(text, frozenset({"base"})) for text in ("base", "on base", "in /tmp/x", "s3://me:pw@box/a")]
    ['', 'a host', 'a path', 'an address with a user']
    """
    if ADDRESS.search(text) or without_passwords(text) != text:
        return "an address with a user"
    if PATH.search(text):
        return "a path"
    others = frozenset(host for host in hosts if not (host == text and host.isalpha()))
    return "a host" if scrub_text(text, others) != text else ""


def _check_place(file: Path, replace: bool) -> None:
    if file.is_dir():
        raise InputError(f"{file}: is a folder; name a file in it")
    if not file.parent.is_dir():
        raise InputError(f"{file}: no folder '{file.parent}'; make it, or write to another one")
    try:
        tempfile.TemporaryFile(dir=file.parent).close()
    except OSError as error:
        raise InputError(f"{file}: no file can be made in '{file.parent}' ({error.strerror}); name another") from None
    for end in BESIDE[::2]:  # what is in them would become part of the new database
        log = file.with_name(f"{file.name}{end}")
        if log.is_file() and log.stat().st_size:
            raise InputError(
                f"{file}: {log.name} is beside it, since a program has it open or was killed; name another"
            )
    if file.exists():
        if not replace:
            raise InputError(f"{file}: is there already; name a new file, or add --replace")
        open_results(file).close()  # says so where it is no store


def scrub(value: Any, hosts: frozenset[str], *, places: Sequence[str] = (), key: str = "") -> Any:
    """A JSON value without paths and host names. Every text under one of the keys `places` counts as a path.

    >>> scrub({"data": ["mine", "hub"], "note": "/home/x/a.csv on box7"}, frozenset({"box7"}), places=["data"])
    {'data': ['(left out)', 'hub'], 'note': '(left out) on (left out)'}
    >>> scrub({"averages": {"pairs": ["a"]}, "robustness": {"pairs": {"a": "ocr.csv"}}}, frozenset(), places=["path"])
    {'averages': {'pairs': ['a']}, 'robustness': {'pairs': {'a': '(left out)'}}}
    """
    if isinstance(value, dict):
        inside = places[0] if places and key in PATHS_BY_NAME else None
        return {name: scrub(item, hosts, places=places, key=inside or name) for name, item in value.items()}
    if isinstance(value, list):
        return [scrub(item, hosts, places=places, key=key) for item in value]
    if not isinstance(value, str):
        return value
    if key in places and value not in NO_PATHS:
        return LEFT_OUT
    return scrub_text(value, hosts)


def scrub_text(text: str, hosts: frozenset[str]) -> str:
    """A text without paths and host names."""
    for host in sorted(hosts, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(host)}(?!\w)", LEFT_OUT, text)
    return PATH.sub(LEFT_OUT, text)


@dataclass(frozen=True)
class _Copy:
    """The copying of experiments from the source to the target, the new database `example`; `without`: ids of runs."""

    origin: Store
    example: Store
    source: Connection
    target: Connection
    hosts: frozenset[str]
    without: frozenset[str]

    def experiments(self, names: Sequence[str]) -> None:
        """Copies these experiments (none named: all) with their finished runs."""
        copied: set[str] = set()
        for row, members in self._versions(names):
            config = self._json(row["config"], places=PLACES)
            self.target.execute(sa.insert(experiment).values({**row, "config": config, "command": ""}))
            for run_id in dict.fromkeys(member["run_id"] for member in members):
                if run_id not in copied:
                    copied.add(run_id)
                    self._run(run_id)
            insert_rows(self.target, sa.insert(experiment_run), members)
        of_kinds = sa.select(setting).where(setting.c.key.startswith(KEY))
        insert_rows(self.target, sa.insert(setting), self.source.execute(of_kinds).mappings().all())
        needs = self.source.execute(sa.select(dependency)).mappings().all()
        needs = [row for row in needs if {row["run_id"], row["needs_run_id"]} <= copied]
        insert_rows(self.target, sa.insert(dependency), needs)

    def _versions(self, names: Sequence[str]) -> list[tuple[RowMapping, list[RowMapping]]]:
        """The versions of experiments that are copied, each with its rows of finished runs, in the order of their ids.

        Of each experiment the newest version, and an older one only where it has a finished run that no newer one has.
        """
        wanted = sa.select(experiment).order_by(experiment.c.called_at.desc(), experiment.c.id.desc())
        if names:
            wanted = wanted.where(experiment.c.name.in_(names))
        kept: list[tuple[RowMapping, list[RowMapping]]] = []
        runs_of: dict[str, set[str]] = {}
        for row in self.source.execute(wanted).mappings().all():
            members = sa.select(experiment_run).join(run, run.c.id == experiment_run.c.run_id)
            members = members.where(experiment_run.c.experiment_id == row["id"], run.c.state == "done")
            rows = [row for row in self.source.execute(members).mappings().all() if row["run_id"] not in self.without]
            runs = {member["run_id"] for member in rows}
            if row["name"] not in runs_of or runs - runs_of[row["name"]]:
                kept.append((row, rows))
                runs_of.setdefault(row["name"], set()).update(runs)
        return sorted(kept, key=lambda version: version[0]["id"])

    def _json(self, text: str, *, places: Sequence[str] = ()) -> str:
        return as_json(scrub(json.loads(text), self.hosts, places=places))

    def _run(self, run_id: str) -> None:
        row = self.source.execute(sa.select(run).where(run.c.id == run_id)).mappings().one()
        self.target.execute(sa.insert(run).values(dict(row)))
        of_run = sa.select(attempt).where(attempt.c.id == row["finished_attempt"])
        counted = self.source.execute(of_run).mappings().one()
        place = self._environment(counted["environment_id"])
        reading = CheckedDatabase(self.source)
        new_id = copy_attempt(reading, self.target, counted, environment_id=place, change=self._clean, tables=())
        measured = _thinned(reading.rows(metric, metric.c.attempt_id == counted["id"]))
        insert_rows(self.target, sa.insert(metric), ({**self._clean(row), "attempt_id": new_id} for row in measured))
        insert_rows(self.target, sa.insert(predictions), self._predictions(run_id, counted["id"], new_id))
        self.target.execute(sa.update(run).where(run.c.id == run_id).values(finished_attempt=new_id))

    def _metric(self, run_id: str) -> Metric | None:
        """The metric of the run's reported score; None where the run has none or this installation lacks it."""
        of_run = sa.select(experiment_run.c.metric).where(experiment_run.c.run_id == run_id)
        names = self.source.execute(of_run.where(experiment_run.c.metric.is_not(None))).scalars().all()
        return metrics().get(names[0]) if names else None

    def _predictions(self, run_id: str, attempt_id: int, new_id: int) -> Iterator[dict[str, Any]]:
        """Rows of predictions of the best checkpoint, on the test set if there is one, else on all splits.

        Those that cannot be read are left out.
        """
        read_by = self._metric(run_id)
        best = sa.select(predictions).where(predictions.c.attempt_id == attempt_id, predictions.c.checkpoint == "best")
        rows = self.source.execute(best).mappings().all()
        for row in [row for row in rows if row["split"] == "test"] or rows:
            stored = self.origin.readable(run_id, Predictions.of_row, row)
            if stored is None:
                continue
            outputs = read_by.compact(stored.outputs) if read_by else stored.outputs
            kept = dataclasses.replace(stored, outputs=outputs).in_order_of_targets()
            small = {"outputs": pack(kept.outputs), "targets": pack(kept.targets)}
            yield {**row, **small, "index_fingerprint": kept.index_fingerprint, "attempt_id": new_id}

    def _clean(self, row: dict[str, Any]) -> dict[str, Any]:
        """The row of an attempt or a metric without paths, host names, worker, log and the attempt's own token."""
        clean = dict(row)
        if row["reason"]:
            clean["reason"] = scrub_text(row["reason"], self.hosts)
        if "log" in row:  # an attempt
            token, notes = published(row["token"]), self._json(row["notes"])
            clean |= {"token": token, "worker": "", "log": "", "notes": notes}
        return clean

    def _environment(self, key: str | None) -> str | None:
        if key is None:
            return None
        row = self.source.execute(sa.select(environment).where(environment.c.id == key)).mappings().one()
        place = Environment.of_row(dict(row)).without_diff()
        clean = replace(place, host="", hardware={}, hardware_name=scrub_text(place.hardware_name, self.hosts)).row()
        self.target.execute(self.example.insert_new(environment), clean)
        return clean["id"]


def _thinned(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Metrics of an attempt, of a longer curve of its training CURVE_POINTS evenly over its points, both ends kept."""
    curves: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        if row["split"] == CURVES:
            curves.setdefault((row["name"], row["condition"]), []).append(dict(row))
        else:
            yield dict(row)
    for points in curves.values():
        points.sort(key=lambda row: row["step"])
        n, last = min(len(points), CURVE_POINTS), len(points) - 1
        yield from (points[round(i * last / max(n - 1, 1))] for i in range(n))


def _seal(file: Path) -> None:
    """Turns the database into a single file without a write-ahead log, so that it opens in a read-only folder."""
    engine = sa.create_engine(f"sqlite:///{file}", isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode=DELETE")
        connection.exec_driver_sql(f"PRAGMA page_size={PAGE}")
        connection.exec_driver_sql("VACUUM")
    engine.dispose()
