"""Passwords and tokens: passwords in addresses and in the environment, replaced in what is printed, logged or stored.

Passwords that SQLAlchemy's parser reads in an address are added where the address is opened (`store.engine.parse`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from urllib.parse import quote, quote_plus, unquote, unquote_plus

HIDDEN = "***"
# USER:PASSWORD@ of an address, up to the last @ of the word; a user may hold an @ too (USER@SERVER)
PASSWORD = re.compile(r"(://[^:/\s]*):[^\s]*@")
# Ways in which libpq is given one
NAMED_PASSWORD = re.compile(
    r"""(?i)\b(\w*(?:password|passwd|pwd|secret_key|access_key|api_key))(\s*=\s*)('(?:\\.|[^'])*'|"[^"]*"|[^\s&]+)"""
)
# Of a command that was stored as one line, in which an address with blanks ends nowhere
STORED_ADDRESS = re.compile(r"(--db[ =]\S+?://[^:/]*):.*@")
STORED_NAMED = re.compile(r"(?i)(--db[ =].*?password\s*=).*?(?= --|$)")
HUB_TOKEN = re.compile(r"\bhf_[A-Za-z0-9]{16,}")
SECRET_VARIABLE = re.compile(r"(TOKEN|API_KEY|PASSWORD|SECRET|SECRET_KEY|SECRET_ACCESS_KEY)$")
ADDRESS_VARIABLES = ("HASHBENCH_DB", "HASHBENCH_ARTIFACTS")
# No part of a longer word, since a password may be a word such as test; behind an encoded sign it begins one
BEGINNING = r"(?:(?<!\w)|(?<=%[0-9A-Fa-f]{2})|(?<=%25[0-9A-Fa-f]{2}))"
SHORTEST = 4  # characters of a secret that is looked for wherever it is; shorter ones only in their addresses

_kept: set[str] = set()  # secrets of addresses that this process has read


def keep_secrets(address: str, *parsed: str) -> None:
    """Notes the secrets of an address, which `without_passwords` replaces from here on, wherever they are.

    `parsed`: what the parser of its driver takes for passwords.
    """
    _kept.update(secrets_in(address), filter(None, parsed))


def secrets_in(address: str) -> set[str]:
    """The passwords in an address or in a line of NAME=VALUE as libpq takes it, encoded as they are there.

    >>> sorted(secrets_in("postgresql://hb@corp:a secret@127.0.0.1/pw")), secrets_in("results.db")
    (['a secret'], set())
    """
    _, is_url, rest = address.partition("://")
    if not is_url:
        return {_unquoted(match[3]) for match in NAMED_PASSWORD.finditer(address)} - {""}
    authority, at, _ = rest.rpartition("@")
    values = [part for part in rest.partition("?")[2].split("&") if NAMED_PASSWORD.match(part)]
    passwords = {value.partition("=")[2] for value in values}
    return (passwords | ({authority.partition(":")[2]} if at else set())) - {""}


def _unquoted(value: str) -> str:
    return value[1:-1].replace("\\", "") if value[:1] == value[-1:] and value[:1] in ("'", '"') else value


def _secrets_here() -> set[str]:
    """The secrets of this process: of its addresses, and of its environment."""
    secrets = set(_kept)
    for name, value in os.environ.items():
        if name in ADDRESS_VARIABLES:
            secrets |= secrets_in(value)
        elif SECRET_VARIABLE.search(name):
            secrets.add(value)
    return secrets


def _forms(secret: str) -> Iterator[str]:
    """A secret as it may be spelled, and its parts, as a parser may take it apart; none that is too short."""
    whole = {secret, unquote(secret), unquote_plus(secret)}
    pieces = {piece for text in whole for piece in re.split(r"[@:/?#&\s]", text)}
    for text in whole | pieces:
        encoded = quote(text, safe="")
        for form in (text, encoded, quote(encoded), quote_plus(text), json.dumps(text)[1:-1]):
            if len(form) >= SHORTEST:
                yield form


def without_passwords(text: str) -> str:
    """The text with *** in place of passwords of addresses, of this process's own secrets, and of tokens of the hub.

    >>> without_passwords("sweep a.yaml --db postgresql://me:s3cr3t@host/runs --workers 2")
    'sweep a.yaml --db postgresql://me:***@host/runs --workers 2'
    >>> without_passwords("postgresql://host/runs?user=me&password=s3cr3t&sslmode=require")
    'postgresql://host/runs?user=me&password=***&sslmode=require'
    """
    forms = sorted({form for secret in _secrets_here() for form in _forms(secret)}, key=len, reverse=True)
    if forms:
        text = re.sub("|".join(rf"{BEGINNING}{re.escape(form)}(?!\w)" for form in forms), HIDDEN, text)
    text = STORED_NAMED.sub(rf"\1{HIDDEN}", STORED_ADDRESS.sub(rf"\1:{HIDDEN}@", text))
    text = NAMED_PASSWORD.sub(rf"\1\2{HIDDEN}", PASSWORD.sub(rf"\1:{HIDDEN}@", text))
    return HUB_TOKEN.sub(HIDDEN, text)


def argument_shown(argument: str) -> str:
    """One argument of a command with its secrets hidden; an address may hold blanks here, unlike within a line.

    >>> argument_shown("postgresql://me:my secret@host/runs"), argument_shown("seeds=[0, 1]")
    ('postgresql://me:***@host/runs', 'seeds=[0, 1]')
    """
    for secret in sorted(secrets_in(argument), key=len, reverse=True):
        argument = argument.replace(secret, HIDDEN)
    return without_passwords(argument)


def stored_command(arguments: Sequence[str]) -> str:
    """A command as a database stores it: without --db, which is that database, and without secrets.

    >>> stored_command(["sweep", "a.yaml", "--db", "postgresql://me:my secret@host/runs", "--workers", "2"])
    'sweep a.yaml --workers 2'
    """
    kept, is_value = [], False
    for argument in arguments:
        if not is_value and argument != "--db" and not argument.startswith("--db="):
            kept.append(argument_shown(argument))
        is_value = not is_value and argument == "--db"
    return " ".join(kept)
