"""Commands and options of earlier versions, and what to do in their place. Using one ends in one line."""

from __future__ import annotations

from collections.abc import Sequence

from hashbench.common.errors import InputError

GONE = {
    "board check": "hashbench db check --db FILE says what is damaged",
    "data describe --coder": "name a model that has it, with --model",
    "data describe --tokenizer": "name a model that has it, with --model",
    "data describe --vocabulary-size": "vocabularies that are learned from the data have 30,000 pieces",
    "db delete --earlier": "the newest version counts; hashbench db delete EXPERIMENT deletes all of them",
    "db merge --keep": "a merge lists what differs each time, and results of this store count",
    "db merge --prefer": "results of this store count; to count the other's, merge into a copy of the other one",
    "db merge --take-voids": "a merge lists what is void there; to make it void here: hashbench db void RUN",
    "db merge --with-diffs": "diffs of uncommitted changes stay in the database of their runs",
    "db publish --views": "Python and any SQLite program read the views of the database",
    "db publish --with-examples": "records of tables are published; predictions are in the database",
    "db rename": "change the name in the file and sweep again: its finished runs are found by what they compute",
    "db unvoid": "the next sweep does void runs again",
    "export --page": "the ONNX graph and hashed_text.js, or hashed_words.js, are what a page of your own loads",
    "export --pt2": "the ONNX graph of --onnx is the form that runs elsewhere",
}


def refuse_gone(words: Sequence[str]) -> None:
    """Raises InputError for a command line, without the program's name, that uses one of `GONE`."""
    options = {word.partition("=")[0] for word in words if word.startswith("--")}
    for gone, instead in GONE.items():
        command, _, option = gone.partition(" --")
        named = command.split()
        if list(words[: len(named)]) == named and (not option or f"--{option}" in options):
            raise InputError(f"{gone} is gone: {instead}")
