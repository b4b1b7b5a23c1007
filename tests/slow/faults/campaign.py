"""A campaign of faults: sweeps of one experiment while workers, database, disk and clock fail and strangers merge.

    python tests/slow/faults/campaign.py --db sqlite                # minutes on one core
    python tests/slow/faults/campaign.py --db postgresql --ray      # needs initdb and pg_ctl, and Ray
    python tests/slow/faults/campaign.py --runs 400 --workers 8 --longest-run 20 --longest-outage 60

Two sweeps share the workers and one database. With --ray the second one lives on two Ray nodes. The faults (FAULTS) are
spread at random over the runs: each comes when so many runs are done, never by the clock, so a slow machine makes the
campaign longer and not another one. At the end every run must be done exactly once with the value that an unharmed
sweep finds, every line of INVARIANTS and AT_THE_END must be empty, no result may have changed, and both sweeps must
have ended by themselves with exit code 0 and without a traceback.

Then the database is damaged while further sweeps run (DAMAGES): in a row that stays readable, and on SQLite in a page.
Each sweep must print that in one line and end with an exit code, what others finished must be whole, and `db check`
or a copy must lead to the values of an unharmed sweep.

The seed, the invariants and the number of faults of each kind are printed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3]))  # for its parts, behind an installed hashbench

from hashbench.store.engine import open_store  # noqa: E402
from tests.slow.faults.kinds import (  # noqa: E402
    DAMAGES,
    FAULTS,
    HARMS,
    STUCK_S,
    Campaign,
    Look,
    end_all,
    is_away,
    look,
    parent_of,
    set_offset,
    start_sweep,
)
from tests.slow.faults.places import disk, ray_nodes, server  # noqa: E402
from tests.slow.faults.runs import (  # noqa: E402
    AT_THE_END,
    CHAINED,
    EXPERIMENT,
    FIRST,
    FURTHER,
    INVARIANTS,
    OWN,
    OWN_KIND,
    PAGE,
    ROW,
    specs,
    unharmed,
)

VALUES = "SELECT r.spec, m.value FROM run r JOIN metric m ON m.attempt_id = r.finished_attempt"
STATES = "SELECT state, COUNT(*) AS n FROM attempt GROUP BY state"
HUNG = "SELECT id FROM attempt WHERE state = 'failed' AND reason LIKE 'hung:%'"
LONGEST = f"SELECT MAX(a.seconds) AS s FROM attempt a WHERE {OWN} AND a.state <> 'lost'"
HANG_S = 20.0  # without a sign of progress, after which a run counts as hung
DISK_MB = {"sqlite": 64, "postgresql": 400}


def main(arguments: list[str] | None = None) -> int:
    """Runs a campaign, prints what was done and found; 0 where nothing is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--db", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--workers", type=int, default=4, help="of both sweeps together")
    parser.add_argument("--ray", action="store_true", help="the second sweep on two Ray nodes, one of which is killed")
    parser.add_argument("--longest-outage", type=float, default=15.0, help="seconds")
    parser.add_argument("--longest-run", type=float, default=1.0, help="seconds")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="faults", dir="/tmp")))
        small = stack.enter_context(disk(folder / "disk", DISK_MB[given.db]))
        running = stack.enter_context(server(folder, small)) if given.db == "postgresql" else None
        nodes = stack.enter_context(ray_nodes(folder, given.workers // 2)) if given.ray else None
        campaign = Campaign(
            folder, running.url if running else str(small.folder / "r.db"), given.runs, given.workers,
            given.longest_outage, given.longest_run, given.seed, small, running, nodes,
        )  # fmt: skip
        stack.callback(end_all, campaign)
        return carry_out(campaign)


def carry_out(campaign: Campaign) -> int:
    """Both sweeps from their start to their end, with faults in between, then the damages; 0 where nothing is wrong."""
    planned = Counter(name for _, name in campaign.planned)
    campaign.say(f"seed {campaign.seed}; a full disk is {campaign.disk.kind}; planned: {dict(planned)}")
    (campaign.folder / "kinds").mkdir()
    sizes = {CHAINED: campaign.runs, ROW: FURTHER, PAGE: FURTHER}
    runs = {name: (FIRST[name], specs(size, campaign.longest_run_s)) for name, size in sizes.items()}
    files = {name: str(campaign.folder / name) for name in ("go", "pause", "hang")}
    text = OWN_KIND.format(runs=json.dumps(runs), hang_s=HANG_S, **files)
    (campaign.folder / "kinds" / "chained.py").write_text(text)
    for name in sizes:
        (campaign.folder / f"{name}.yaml").write_text(EXPERIMENT.format(name=name))
    for number in range(2):
        set_offset(campaign, number, 0.0)
    sweeps = [start_sweep(campaign, number, on_ray=campaign.ray is not None and number == 1) for number in range(2)]
    campaign.wrong += [f"run {run_id[:12]}: its finished attempt changed" for run_id in until_they_end(campaign)]
    campaign.wrong += [f"sweep {n} ended with {sweep.returncode}" for n, sweep in enumerate(sweeps) if sweep.returncode]
    late = Counter(name for _, name in campaign.planned)  # the sweeps ended before
    campaign.wrong += [f"{name}: planned, and not once done" for name in late if not campaign.done[name]]
    campaign.say(f"both sweeps ended; faults: {dict(campaign.done)}, not done any more: {dict(late)}")
    for name, damage in DAMAGES.items():
        if name == ROW or campaign.server is None:
            damage(campaign)
            campaign.done[f"damaged {name}"] += 1
    return report(campaign, sizes)


def until_they_end(campaign: Campaign) -> list[str]:
    """Does harm while the sweeps last, as soon as both have begun to work; ids of runs whose results changed."""
    seen: dict[str, int] = {}
    changed: list[str] = []
    n_places, harmed_at, last = 1 if campaign.workers < 4 else 2, -1, Look()
    go, pause = campaign.folder / "go", campaign.folder / "pause"
    so_far, went_on_at = (0, 0, False), time.monotonic()
    while any(sweep.poll() is None for sweep in campaign.sweeps):
        time.sleep(0.5)
        keep_serving(campaign)
        now = look(campaign)
        if so_far != (so_far := (len(seen), campaign.done.total(), go.exists())):
            went_on_at = time.monotonic()
        elif time.monotonic() - went_on_at > STUCK_S:
            due = campaign.planned[0][1] if pause.exists() else ""
            campaign.wrong.append(f"nothing went on for {STUCK_S} s; due: {due or 'none'}; {state_of(campaign, now)}")
            end_all(campaign)
            break
        last = now if now.finished or now.holders else last  # that of the last answer while the database is away
        changed += [run_id for run_id, attempt in now.finished.items() if seen.setdefault(run_id, attempt) != attempt]
        if not go.exists():
            if len({parent_of(pid) for pid in last.holders}) >= n_places:
                go.touch()
            continue
        due, name = campaign.planned[0] if campaign.planned else (campaign.runs + 1, "")
        # between two that harm workers a run is finished, so that no machine is too slow to go on
        if len(seen) < due or (name in HARMS and len(seen) <= harmed_at):
            pause.unlink(missing_ok=True)
            continue
        pause.touch()
        if FAULTS[name][1](campaign, last):
            campaign.planned.pop(0)
            campaign.done[name] += 1
            harmed_at = len(seen) if name in HARMS else harmed_at
    for file in (pause, campaign.folder / "hang"):
        file.unlink(missing_ok=True)
    if campaign.away is not None:
        campaign.away.join()
    keep_serving(campaign)
    return changed


def keep_serving(campaign: Campaign) -> None:
    """Starts the server again where it ended without a fault that will: after a full disk it may take its time."""
    if campaign.server is not None and not is_away(campaign) and not campaign.server.runs():
        campaign.server.start()
        campaign.found["servers that ended after a fault"] += 1


def state_of(campaign: Campaign, now: Look) -> str:
    """What is in flight, and the last lines of the server's log, for a campaign that goes no further."""
    held = ", ".join(run_id[:12] for run_id in now.in_flight)
    log = campaign.folder / "pg" / "log"
    lines = log.read_text(errors="replace").splitlines()[-5:] if log.exists() else []
    return "; ".join([f"in flight: {held or 'nothing'}, by processes {now.holders}", *lines])


def report(campaign: Campaign, sizes: Mapping[str, int]) -> int:
    """Prints what is wrong, and the attempts by their end; 1 where anything is wrong."""
    store = open_store(campaign.db, create=False)
    wrong, broken = list(campaign.wrong), Counter[str]()
    for what, sql in (INVARIANTS | AT_THE_END).items():
        rows = store.query(sql)
        broken[what] = len(rows)
        wrong += [f"{what}: {tuple(row.values())}" for row in rows]
    if store.query(LONGEST)[0]["s"] > time.monotonic() - campaign.began:
        wrong.append("an attempt that lasted longer than the campaign")
    values = {json.loads(row["spec"])["number"]: row["value"] for row in store.query(VALUES)}
    expected: dict[int, float] = {}
    for name, size in sizes.items():
        if name != PAGE or campaign.server is None:
            of = unharmed(size, campaign.longest_run_s, FIRST[name])
            expected |= {FIRST[name] + number: value for number, value in enumerate(of)}
    wrong += [f"run {number}: another value" for number, value in expected.items() if values.get(number) != value]
    for log in sorted(campaign.folder.glob("sweep-*.log")):
        text = log.read_text(errors="replace")
        wrong += [f"{log.name}: a traceback"] * text.count("Traceback (most recent call last)")
        print(f"--- {log.name}, but for its lines of progress")
        print(*[line for line in text.splitlines() if not line.startswith("[")][:60], sep="\n")
    attempts = {row["state"]: row["n"] for row in store.query(STATES)}
    campaign.found["hung attempts, ended and tried again"] = len(store.query(HUNG))
    database = "SQLite" if campaign.server is None else "PostgreSQL"
    campaign.say(f"seed {campaign.seed}, {database}, a full disk was {campaign.disk.kind}")
    for title, numbers in (("faults", campaign.done), ("found", campaign.found), ("places that break a rule", broken)):
        print(f"{title}:", *[f"  {number:3} {name}" for name, number in sorted(numbers.items())], sep="\n")
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(f"{sum(each.ru_utime + each.ru_stime for each in used) / 60:.1f} CPU minutes")
    print(f"{len(values)} of {len(expected)} runs done, attempts: {attempts}")
    print(f"{len(INVARIANTS) + len(AT_THE_END)} invariants, {len(expected)} values compared: {len(wrong)} wrong")
    for line in wrong[:20]:
        print(f"  {line}")
    store.close()
    return min(len(wrong), 1)


if __name__ == "__main__":
    sys.exit(main())
