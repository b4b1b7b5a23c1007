"""Reads `.wandb` files, plainly: a log of 7-byte headers in blocks of 32 KiB around protobuf records."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BLOCK, HEADER, FILE_HEADER = 32 * 1024, 7, 7
FULL, LAST = 1, 4  # kinds of a piece that end a record


@dataclass
class ReadRun:
    """What one file says."""

    id: str = ""
    project: str = ""
    name: str = ""
    group: str = ""
    kind: str = ""
    tags: list[str] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    ended: bool = False


def records(path: Path) -> Iterator[Any]:
    from wandb.proto import wandb_internal_pb2

    data, at, parts = path.read_bytes(), FILE_HEADER, b""
    while at + HEADER <= len(data):
        left = BLOCK - at % BLOCK
        if left < HEADER:  # too small for a header: filled with zeros
            at += left
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        parts += data[at + HEADER : at + HEADER + length]
        at += HEADER + length
        if kind in (FULL, LAST):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(parts)
            yield record
            parts = b""


def read_run(path: Path) -> ReadRun:
    found = ReadRun()
    for record in records(path):
        kind = record.WhichOneof("record_type")
        if kind == "run":
            run = record.run
            found.id, found.project, found.name, found.group = run.run_id, run.project, run.display_name, run.run_group
            found.kind, found.tags = run.job_type, list(run.tags)
            found.config |= {one.key: json.loads(one.value_json) for one in run.config.update}
        elif kind == "config":
            found.config |= {one.key: json.loads(one.value_json) for one in record.config.update}
        elif kind == "history":
            row = {_name(one): json.loads(one.value_json) for one in record.history.item}
            found.history.append({name: value for name, value in row.items() if not name.startswith("_")})
        elif kind == "summary":
            found.summary |= {_name(one): json.loads(one.value_json) for one in record.summary.update}
        elif kind == "exit":
            found.ended = True
    return found


def _name(item: Any) -> str:
    return item.key or ".".join(item.nested_key)


def read_all(folder: Path) -> dict[str, ReadRun]:
    """Every run below a folder by its id; two files of one run are an error."""
    files = sorted(folder.rglob("*.wandb"))
    runs = {run.id: run for run in map(read_run, files)}
    assert len(runs) == len(files), "a run stands there twice"
    return runs
