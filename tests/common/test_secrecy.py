"""No password or token reaches a database, a log or a screen, however the address spells it."""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path
from urllib.parse import quote, unquote

import pytest

from hashbench.cli.app import main
from hashbench.common import showing as secrecy
from hashbench.common.errors import InputError
from hashbench.common.showing import argument_shown, keep_secrets, stored_command, without_passwords
from hashbench.store.engine import parse

SECRET = "S3CRETWORD"
FORMS = {
    "user and password": "postgresql://me:S3CRETWORD@127.0.0.1:1/pw",
    "user@server": "postgresql://hb@corp:S3CRETWORD@127.0.0.1:1/pw",
    "user@server, encoded": "postgresql://hb%40corp:S3CRETWORD@127.0.0.1:1/pw",
    "with an @": "postgresql://me:S3CRETWORD@x@127.0.0.1:1/pw",
    "begins with an @": "postgresql://me:@S3CRETWORD@127.0.0.1:1/pw",
    "with a blank": "postgresql://me:my S3CRETWORD@127.0.0.1:1/pw",
    "with a slash": "postgresql://me:a/S3CRETWORD@127.0.0.1:1/pw",
    "with a colon": "postgresql://me:a:S3CRETWORD@127.0.0.1:1/pw",
    "with signs": "postgresql://me:;&S3CRETWORD!$@127.0.0.1:1/pw",
    "with a question mark": "postgresql://me:a?S3CRETWORD@127.0.0.1:1/pw",
    "encoded": f"postgresql://me:{quote('p@ss S3CRETWORD/é', safe='')}@127.0.0.1:1/pw",
    "each letter encoded": "postgresql://me:" + "".join(f"%{ord(c):02X}" for c in SECRET) + "@127.0.0.1:1/pw",
    "no user": "postgresql://:S3CRETWORD@127.0.0.1:1/pw",
    "another driver": "postgresql+psycopg://me:S3CRETWORD@127.0.0.1:1/pw",
    "in the query": "postgresql://127.0.0.1:1/pw?user=me&password=S3CRETWORD",
    "in the query with a blank": "postgresql://127.0.0.1:1/pw?user=me&password=a S3CRETWORD",
    "in the query with a semicolon": "postgresql://127.0.0.1:1/pw?user=me&password=a;S3CRETWORD",
    "of the key of a certificate": "postgresql://me@127.0.0.1:1/pw?sslpassword=S3CRETWORD",
    "a line of libpq": "host=127.0.0.1 port=1 user=me password=S3CRETWORD dbname=pw",
    "a quoted line of libpq": r"host=127.0.0.1 port=1 password = 'my \'S3CRETWORD' dbname=pw",
}


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrecy, "_kept", set())


def has_secret(content: bytes) -> bool:
    text = content.decode("utf-8", "replace")
    return any(SECRET in form for form in (text, unquote(text), unquote(unquote(text))))


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_an_address_shows_its_password(form: str) -> None:
    address = FORMS[form]
    assert not has_secret(argument_shown(address).encode())
    assert stored_command(["sweep", "a.yaml", "--db", address, "x=1"]) == "sweep a.yaml x=1"
    assert stored_command(["sweep", f"--db={address}"]) == "sweep"
    if "with a blank" not in form and "quoted" not in form:  # where an argument ends, a line does not say
        assert not has_secret(without_passwords(f"sweep a.yaml --db {address} --workers 2").encode())
    keep_secrets(address)
    assert not has_secret(without_passwords(f"what a driver says of '{unquote(address)}' and {address!r}").encode())
    for encoded in (quote(address), quote(address, safe=""), quote(quote(address, safe=""), safe=""), repr(address)):
        assert not has_secret(without_passwords(encoded).encode())
    assert not has_secret(without_passwords(f'host name "{unquote(address).rpartition(":")[2]}"').encode())


@pytest.mark.parametrize("form", FORMS)
def test_a_sweep_that_cannot_connect_shows_and_keeps_no_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], form: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(["status", "--db", FORMS[form]])
    out, err = capfd.readouterr()
    assert left.value.code == 2 and err.count("\n") == 1
    assert not has_secret((out + err).encode()), err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["PGPASSWORD", "HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY"])
def test_secrets_of_the_environment_are_hidden(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    assert without_passwords(f"wandb login {SECRET}: false") == "wandb login ***: false"


def test_an_address_in_the_environment_keeps_its_password_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_DB", FORMS["user@server"])
    assert without_passwords(f"no such user {SECRET}") == "no such user ***"
    monkeypatch.delenv("HASHBENCH_DB")
    monkeypatch.setenv("MY_DB", FORMS["user@server"])
    url, name = parse("env:MY_DB")
    assert (url.password, name) == (SECRET, "env:MY_DB")
    with pytest.raises(InputError, match="env:OTHER: the environment has no variable OTHER"):
        parse("env:OTHER")


def test_a_token_of_the_hub_is_hidden_wherever_it_is() -> None:
    assert without_passwords("401 for hf_abcdefghijklmnopqrst") == "401 for ***"


def test_a_password_that_is_a_word_leaves_longer_words() -> None:
    keep_secrets("postgresql://postgres:postgres@host/runs")
    assert without_passwords("postgresql says: 'postgres' is wrong") == "postgresql says: '***' is wrong"


def test_a_sweep_stores_its_command_without_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hashbench.running.experiment.load import load_experiment
    from hashbench.running.sweep.plan import plan
    from hashbench.running.sweep.stored_plan import write_down
    from hashbench.store.engine import open_store

    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text("name: a\nmodels: [uno-eelbert]\nbaseline: uno-eelbert\ntasks: [rte]\ndata: builtin\n"
                              "encoder: tiny\nfloors: [majority]\npretrain: {corpora: [builtin]}\n")  # fmt: skip
    for number, address in enumerate(FORMS.values()):
        arguments = ["hashbench", "sweep", "a.yaml", f"seeds=[{number}]", "--artifacts", "s3://me:S3CRETWORD@b/f"]
        monkeypatch.setattr(sys, "argv", [*arguments, "--db", address])
        planned = plan(load_experiment("a.yaml", [f"seeds=[{number}]"]), here=False)
        write_down(open_store("results.db"), planned, {})
    connection = sqlite3.connect("results.db")
    commands = [row[0] for row in connection.execute("SELECT command FROM experiment")]
    connection.close()
    assert commands[0] == "sweep a.yaml seeds=[0] --artifacts s3://me:***@b/f" and len(commands) == len(FORMS)
    assert not any(has_secret(path.read_bytes()) for path in tmp_path.rglob("*") if path.is_file())
    assert SECRET not in json.dumps(commands)
