"""No password or token in a database, a log, a page, an export or a card, whichever form of an address has it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import unquote

import pytest
import sqlalchemy as sa

from hashbench.common import showing as secrecy
from hashbench.store.engine import open_store
from hashbench.store.schema import metadata
from tests.commands import finish
from tests.common.test_secrecy import FORMS, has_secret
from tests.store.conftest import empty_database
from tests.store.conftest import server as server

# As drivers and libraries do: the secrets of the process, and the address in several spellings, in a log and an error
LEAKY = """
import json
import logging
import os
from urllib.parse import quote, unquote

from hashbench.common.measured import MetricRow
from hashbench.running.runs.base import RunKind
from hashbench.store.result import Result


class Leaky(RunKind):
    '''Prints and stores all that it should not.'''

    name, order = "leaky", 900

    def planned(self, resolved):
        of = resolved.experiment
        return [
            self.make(of.encoder, "raw", {"of": of.name, "fails": fails}, seed=int(fails)) for fails in (False, True)
        ]

    def carry_out(self, run, place, machine):
        address = os.environ["ADDRESS"]
        texts = [value for name, value in os.environ.items() if name in json.loads(os.environ["NAMES"])]
        texts += [f"cannot connect to '{address}'", repr(unquote(address)), quote(address), address.rpartition("/")[0]]
        text = " | ".join(texts)
        print(text)
        logging.getLogger("driver").warning(text)
        if run.spec["fails"]:
            raise OSError(text)
        return Result([MetricRow("value", 0.5, split="validation")], notes={"driver": text})


KIND = Leaky()
"""
EXPERIMENT = """
name: leaky-{number}
data: builtin
encoder: tiny
models: [{{name: raw, like: hashformer-md-proj, objective: none, encoder: average}}]
baseline: raw
tasks: [{tasks}]
seeds: [0]
floors: []
finetune: {{epochs: 1, batch_size: 64, max_length: 32, evaluations_per_epoch: 1}}
threads: 1
retries: 0
"""
TOKEN = "T0KENWORD"  # another word than that of the addresses: each is hidden for itself
TOKENS = {
    "HF_TOKEN": f"hf_{TOKEN}abcdefghijklmnop", "WANDB_API_KEY": f"{TOKEN}0123456789", "PGPASSWORD": f"pg {TOKEN}",
    "AWS_SECRET_ACCESS_KEY": f"{TOKEN}/+aws",
}  # fmt: skip
ROLES = ("me", "hb@corp", "root", os.environ.get("USER", "me"))


@pytest.fixture
def forms(server: str) -> dict[str, str]:
    """The forms of an address, of a server that lets everybody in with any password."""
    empty_database(server)
    engine = sa.create_engine(server.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        for role in sorted(set(ROLES)):
            exists = connection.execute(sa.text("SELECT 1 FROM pg_roles WHERE rolname = :role"), {"role": role}).first()
            if exists is None:
                connection.exec_driver_sql(f'CREATE ROLE "{role}" SUPERUSER LOGIN')
    engine.dispose()
    place = server.partition("?")[2]
    in_query = {name: form.replace("127.0.0.1:1/pw?", f"/postgres?{place}&") for name, form in FORMS.items()}
    return {name: form.replace("127.0.0.1:1/pw", f"/postgres?{place}") for name, form in in_query.items()}


def all_rows(url: str) -> bytes:
    """All that a database holds."""
    store = open_store(url, create=False, read_only=True)
    with store.read() as connection:
        rows = [tuple(row) for table in metadata.tables.values() for row in connection.execute(sa.select(table))]
    store.close()
    return "\n".join(map(str, rows)).encode()


@pytest.mark.services
def test_twenty_forms_of_secrets_are_nowhere(
    server: str, forms: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    (tmp_path / "kinds").mkdir()
    work.mkdir()
    (tmp_path / "kinds" / "leaky.py").write_text(LEAKY)
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path / "kinds"))
    monkeypatch.setenv("NAMES", json.dumps(list(TOKENS)))
    for name, value in TOKENS.items():
        monkeypatch.setenv(name, value)

    def command(address: str, *words: str) -> int:
        """The exit code of a command on the database of an address; its output is kept as a file."""
        monkeypatch.setenv("ADDRESS", address)
        monkeypatch.setattr(secrecy, "_kept", set())  # as in a process of its own
        outcome = finish(*words, "--db", address, cwd=work)
        (work / f"log-{len(list(work.iterdir()))}").write_text(outcome.out + outcome.err)
        return outcome.code

    connected = []
    for number, address in enumerate(forms.values()):
        (work / f"{number}.yaml").write_text(EXPERIMENT.format(number=number, tasks="" if number else "sst2"))
        code = command(address, "sweep", f"{number}.yaml")
        assert code in (1, 2)  # one run fails, or no server of this address answers
        connected += [address] * (code == 1)
    for number, address in enumerate((connected[0], connected[-1])):
        assert command(address, "status", "leaky-0") == 0
        assert command(address, "report", "leaky-0", "--format", "html", "--output", f"{number}.html") == 0
        assert command(address, "db", "export", f"{number}.db") == 0
    store = open_store(server, create=False, read_only=True)
    tuned = store.query("SELECT id FROM run WHERE kind = 'finetune'")[0]["id"]
    stored = store.query("SELECT log, reason FROM attempt WHERE state = 'failed'")
    store.close()
    assert command(connected[0], "export", "--run", tuned, "card") == 0 and (work / "card" / "README.md").exists()
    assert len(connected) >= 12 and len(stored) == len(connected)
    assert all("cannot connect to" in row["reason"] and "driver" in row["log"] for row in stored)  # they did leak
    places = {path.name: path.read_bytes() for path in work.rglob("*") if path.is_file()} | {"rows": all_rows(server)}
    assert {"rows", "0.html", "0.db", "README.md", "log-2"} <= places.keys()
    print(f"{len(forms)} forms, {len(connected)} of which connect; {len(places)} files and the database")
    assert [name for name, content in places.items() if has_secret(content) or TOKEN in unquote(str(content))] == []
