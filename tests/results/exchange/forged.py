"""Databases of strangers: ways to change a healthy one, each of them by a seed."""

from __future__ import annotations

import contextlib
import json
import random
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path

from hashbench.running.experiment.identity import run_id
from hashbench.store.environment import as_json
from hashbench.store.queue import published

Forgery = Callable[[sqlite3.Connection, random.Random], None]
KINDS: dict[str, Forgery] = {}
FILES: dict[str, Callable[[Path, random.Random], None]] = {}  # of the whole file
HOSTILE = ("\x1b[2J", "a\nb", "'; DROP TABLE run; --", "\u202eexe", "<script>", "=cmd()", "x" * 10_000, "../../x", "")
BOMB = zlib.compress(
    b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999,), }".ljust(117) + b"\n"
)


def forge(healthy: Path, path: Path, kind: str, seed: int) -> Path:
    """A copy of a database at `path`, changed in one way."""
    path.write_bytes(healthy.read_bytes())
    chance = random.Random(f"{kind} {seed}")
    if kind in FILES:
        FILES[kind](path, chance)
        return path
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF;")
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall():
            connection.execute(f"DROP VIEW {name}")
        KINDS[kind](connection, chance)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def kind(change: Forgery) -> Forgery:
    """Adds a function to KINDS under its name."""
    KINDS[change.__name__] = change
    return change


def some(connection: sqlite3.Connection, sql: str, chance: random.Random) -> list[tuple]:
    """Some rows of a SELECT, at least one."""
    rows = connection.execute(sql).fetchall()
    return chance.sample(rows, chance.randint(1, len(rows)))


def attempts(connection: sqlite3.Connection, chance: random.Random, state: str = "done") -> list[int]:
    """Ids of some attempts."""
    return [number for (number,) in some(connection, f"SELECT id FROM attempt WHERE state = '{state}'", chance)]


def new_tokens(connection: sqlite3.Connection, chance: random.Random) -> None:
    """Gives each attempt a token of its own."""
    for (number,) in connection.execute("SELECT id FROM attempt").fetchall():
        connection.execute("UPDATE attempt SET token = ? WHERE id = ?", (f"{chance.getrandbits(128):032x}", number))


@kind
def tampered_scores(connection: sqlite3.Connection, chance: random.Random) -> None:
    for number in attempts(connection, chance):
        connection.execute("UPDATE metric SET value = value + ? WHERE attempt_id = ?", (chance.random(), number))


@kind
def tampered_scores_under_new_tokens(connection: sqlite3.Connection, chance: random.Random) -> None:
    tampered_scores(connection, chance)
    new_tokens(connection, chance)


@kind
def everything_void(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute("UPDATE attempt SET state = 'void'")
    connection.execute("UPDATE run SET state = 'void', finished_attempt = NULL, void_reason = 'wrong'")


@kind
def void_under_new_tokens(connection: sqlite3.Connection, chance: random.Random) -> None:
    everything_void(connection, chance)
    new_tokens(connection, chance)


@kind
def failed_with_many_tries(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute("UPDATE attempt SET state = 'failed'")
    connection.execute("UPDATE run SET state = 'failed', finished_attempt = NULL, tries = 99")


@kind
def tokens_of_other_runs(connection: sqlite3.Connection, chance: random.Random) -> None:
    rows = connection.execute("SELECT id, token FROM attempt").fetchall()
    tokens = [token for _, token in rows]
    connection.execute("UPDATE attempt SET token = 'old ' || token")
    for (number, _), token in zip(rows, tokens[1:] + tokens[:1], strict=True):
        connection.execute("UPDATE attempt SET token = ? WHERE id = ?", (token, number))


@kind
def tokens_of_copies(connection: sqlite3.Connection, chance: random.Random) -> None:
    tampered_scores(connection, chance)
    for number, token in connection.execute("SELECT id, token FROM attempt").fetchall():
        connection.execute("UPDATE attempt SET token = ? WHERE id = ?", (published(token), number))


@kind
def the_same_under_new_tokens(connection: sqlite3.Connection, chance: random.Random) -> None:
    new_tokens(connection, chance)


@kind
def later_times(connection: sqlite3.Connection, chance: random.Random) -> None:
    new_tokens(connection, chance)
    connection.execute("UPDATE attempt SET started_at = started_at - 9, ended_at = ended_at - ?", (chance.random(),))
    connection.execute("UPDATE attempt SET seconds = -3600")


@kind
def more_metrics(connection: sqlite3.Connection, chance: random.Random) -> None:
    for number in attempts(connection, chance):
        row = (number, "validation", "matthews", chance.randint(1000, 2000), "", 1.0, None)
        connection.execute("INSERT INTO metric VALUES (?, ?, ?, ?, ?, ?, ?)", row)


@kind
def runs_under_ids_of_others(connection: sqlite3.Connection, chance: random.Random) -> None:
    ids = [run for (run,) in connection.execute("SELECT id FROM run ORDER BY id")]
    connection.execute("UPDATE run SET spec = (SELECT spec FROM run o WHERE o.id = ?) WHERE id = ?", ids[:2])


@kind
def edited_specs(connection: sqlite3.Connection, chance: random.Random) -> None:
    for run, spec in some(connection, "SELECT id, spec FROM run", chance):
        connection.execute("UPDATE run SET spec = ? WHERE id = ?", (as_json({**json.loads(spec), "seed": 99}), run))


@kind
def columns_that_are_not_those_of_the_spec(connection: sqlite3.Connection, chance: random.Random) -> None:
    column, value = chance.choice([("kind", "floor"), ("task", "sst2"), ("seed", 77), ("data_fingerprint", "ff")])
    connection.execute(f"UPDATE run SET {column} = ?", (value,))


@kind
def another_attempt_finished_it(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute("UPDATE run SET finished_attempt = finished_attempt + 1 WHERE state = 'done'")


@kind
def another_schema(connection: sqlite3.Connection, chance: random.Random) -> None:
    value = chance.choice(["0002", "9999", "none", None, "", b"\xff"])
    connection.execute("UPDATE alembic_version SET version_num = ?", (value or "",))


@kind
def damaged_arrays(connection: sqlite3.Connection, chance: random.Random) -> None:
    rows = connection.execute("SELECT rowid, outputs FROM predictions").fetchall()
    for number, outputs in rows:
        place = chance.randrange(len(outputs))
        changed = outputs[:place] + bytes([outputs[place] ^ 1 << chance.randrange(8)]) + outputs[place + 1 :]
        connection.execute("UPDATE predictions SET outputs = ? WHERE rowid = ?", (changed, number))


@kind
def cut_arrays(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute("UPDATE predictions SET targets = substr(targets, 1, ?)", (chance.randint(0, 30),))


@kind
def arrays_that_fill_memory(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute("UPDATE predictions SET n = 99999999, outputs = ?", (BOMB,))


@kind
def arrays_of_another_length(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute("UPDATE predictions SET n = n + 1")


@kind
def hostile_names(connection: sqlite3.Connection, chance: random.Random) -> None:
    for table, column in (("experiment", "name"), ("experiment_run", "model"), ("run", "model"), ("attempt", "log"),
                          ("attempt", "worker"), ("run", "void_reason"), ("artifact", "kind")):  # fmt: skip
        connection.execute(f"UPDATE {table} SET {column} = ? || {column}", (chance.choice(HOSTILE),))


@kind
def text_that_is_none(connection: sqlite3.Connection, chance: random.Random) -> None:
    table, column = chance.choice([("run", "model"), ("experiment", "config"), ("attempt", "log"), ("metric", "name")])
    connection.execute(f"UPDATE OR IGNORE {table} SET {column} = CAST(x'61ff62' AS TEXT)")


@kind
def text_with_a_zero(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute("UPDATE run SET model = 'a' || char(0) || 'b'")


@kind
def json_that_is_none(connection: sqlite3.Connection, chance: random.Random) -> None:
    table, column = chance.choice([("run", "spec"), ("attempt", "notes"), ("experiment", "config")])
    text = chance.choice(["{", "[]", "[" * 100_000, "", "NaN", '{"a":' * 50_000, "1e999"])
    connection.execute(f"UPDATE {table} SET {column} = ?", (text,))


@kind
def missing_tables(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute(f"DROP TABLE {chance.choice(['predictions', 'metric', 'dependency', 'environment', 'setting'])}")


@kind
def missing_columns(connection: sqlite3.Connection, chance: random.Random) -> None:
    table, column = chance.choice([("artifact", "sha256"), ("attempt", "seconds"), ("experiment", "command")])
    connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")


@kind
def values_of_another_type(connection: sqlite3.Connection, chance: random.Random) -> None:
    table, column = chance.choice(
        [("metric", "value"), ("run", "created_at"), ("run", "seed"), ("attempt", "started_at"), ("metric", "step")]
    )
    value = chance.choice(["high", b"\x00", 2**62 + 0.5, "9" * 400])
    connection.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (value,))


@kind
def numbers_without_end(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute(f"UPDATE {chance.choice(['metric SET value', 'attempt SET ended_at'])} = 9e999")


@kind
def values_without_reason(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute("UPDATE metric SET value = NULL, reason = NULL")


@kind
def unknown_states(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute(f"UPDATE {chance.choice(['run', 'attempt'])} SET state = 'better'")


@kind
def files_outside(connection: sqlite3.Connection, chance: random.Random) -> None:
    url = chance.choice(["../../etc/passwd", "/etc/passwd", "~/x", "C:\\x", "a/../../b", "s3://x/y"])
    connection.execute("UPDATE artifact SET url = ?", (url,))


@kind
def further_members_of_an_experiment(connection: sqlite3.Connection, chance: random.Random) -> None:
    """A seed that was not planned, with a bad score, under the label of a model here."""
    spec = {"kind": "finetune", "task": {"name": "cola"}, "seed": chance.randint(10, 99)}
    run = run_id(spec)
    columns = "kind, model, task, seed, encoder, spec, state, tries, finished_attempt, created_at, finished_at"
    values = ("finetune", "bert-mlm", "cola", spec["seed"], "tiny", as_json(spec), "done", 0, 900, 1.0, 2.0)
    connection.execute(f"INSERT INTO run (id, {columns}) VALUES ({', '.join('?' * 12)})", (run, *values))
    columns = "id, run_id, token, worker, started_at, heartbeat_at, lease_until, ended_at, state"
    connection.execute(f"INSERT INTO attempt ({columns}) VALUES (900, ?, 'forged', '', 1, 1, 1, 2, 'done')", (run,))
    connection.execute("INSERT INTO metric VALUES (900, 'validation', 'matthews', 1, '', 0.0, NULL)")
    joined = "SELECT id, ?, 'bert-mlm', 99, 'matthews', 'validation', 99, NULL FROM experiment"
    connection.execute(f"INSERT INTO experiment_run {joined}", (run,))


@kind
def needs_of_runs(connection: sqlite3.Connection, chance: random.Random) -> None:
    """Runs that need all others, which can be no cycle by chance alone."""
    ids = [run for (run,) in connection.execute("SELECT id FROM run")]
    first, second = chance.sample(ids, 2)
    rows = [(first, second), (second, first)] if chance.random() < 0.5 else [(first, second)]
    connection.executemany("INSERT OR IGNORE INTO dependency VALUES (?, ?)", rows)


@kind
def rows_of_missing_runs(connection: sqlite3.Connection, chance: random.Random) -> None:
    table, column = chance.choice([("experiment_run", "run_id"), ("dependency", "needs_run_id")])
    connection.execute(f"UPDATE OR IGNORE {table} SET {column} = 'beef'")


@kind
def other_environments_under_old_ids(connection: sqlite3.Connection, chance: random.Random) -> None:
    new_tokens(connection, chance)
    tampered_scores(connection, chance)
    connection.execute("UPDATE environment SET git_commit = 'forged', packages = '{}'")


@kind
def later_experiments(connection: sqlite3.Connection, chance: random.Random) -> None:
    connection.execute("UPDATE experiment SET called_at = 9e12, fingerprint = 'f' || fingerprint, config = '{}'")


@kind
def two_rows_of_one_key(connection: sqlite3.Connection, chance: random.Random) -> None:
    table = chance.choice(["metric", "run", "attempt", "experiment_run"])
    connection.execute(f"CREATE TABLE copy AS SELECT * FROM {table}")
    connection.execute(f"INSERT INTO copy SELECT * FROM {table}")
    connection.execute(f"DROP TABLE {table}")
    connection.execute(f"ALTER TABLE copy RENAME TO {table}")


@kind
def views_without_end(connection: sqlite3.Connection, chance: random.Random) -> None:
    table = chance.choice(["metric", "run", "setting", "environment", "alembic_version"])
    columns = ", ".join(f"x AS {row[1]}" for row in connection.execute(f"PRAGMA table_info({table})"))
    connection.execute(f"DROP TABLE {table}")
    without_end = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
    connection.execute(f"CREATE VIEW {table} AS {without_end} SELECT {columns} FROM c")


@kind
def virtual_tables(connection: sqlite3.Connection, chance: random.Random) -> None:
    columns = ", ".join(row[1] for row in connection.execute("PRAGMA table_info(metric)"))
    connection.execute("DROP TABLE metric")
    connection.execute(f"CREATE VIRTUAL TABLE metric USING fts5({columns})")


def cut_file(path: Path, chance: random.Random) -> None:
    path.write_bytes(path.read_bytes()[: chance.randint(1, path.stat().st_size - 1)])


def damaged_pages(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(200):
        content[chance.randrange(100, len(content))] = chance.randrange(256)
    path.write_bytes(content)


def no_database(path: Path, chance: random.Random) -> None:
    path.write_bytes(chance.choice([b"", b"PK\x03\x04", chance.randbytes(5000), b"SQLite format 3\x00" * 300]))


FILES |= {each.__name__: each for each in (cut_file, damaged_pages, no_database)}
ALL = [*KINDS, *FILES]
