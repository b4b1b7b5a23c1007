"""Commands and options of earlier versions, and what to do in their place. Using one ends in one line."""

from __future__ import annotations

from collections.abc import Sequence

from hashbench.common.errors import InputError

GONE = {
    "board check": "hashbench db check --db FILE says what is damaged",
    "cache list": "hashbench cache clean --dry-run --older-than 0 prints what is in the cache, weights apart",
    "check --labels": "check always reads the data and checks their labels",
    "check --no-labels": "check always reads the data and checks their labels",
    "compare --best": "report marks what is not separable from the best of a column; --ranks has the intervals",
    "compare --experiment": "the experiment comes first: hashbench compare EXPERIMENT A B",
    "costs --words": "multiply-adds are of 128 words, as in table 1 of ProFormer",
    "data describe --coder": "name a model that has it, with --model",
    "data describe --tokenizer": "name a model that has it, with --model",
    "data describe --vocabulary-size": "vocabularies that are learned from the data have 30,000 pieces",
    "data prepare --executor": "write executor=NAME behind the file, or in it",
    "data prepare --ray-address": "set RAY_ADDRESS, as for Ray itself",
    "db delete --earlier": "the newest version counts; hashbench db delete EXPERIMENT deletes all of them",
    "db merge --keep": "a merge lists what differs each time, and results of this store count",
    "db merge --prefer": "results of this store count; to count the other's, merge into a copy of the other one",
    "db merge --take-voids": "a merge lists what is void there; to make it void here: hashbench db void RUN",
    "db merge --with-diffs": "diffs of uncommitted changes stay in the database of their runs",
    "db publish --views": "Python and any SQLite program read the views of the database",
    "db publish --with-examples": "records of tables are published; predictions are in the database",
    "db rename": "change the name in the file and sweep again: its finished runs are found by what they compute",
    "db unvoid": "the next sweep does void runs again",
    "encode --run": "name the model and its data: --model NAME --data FOLDER",
    "evaluate --delimiter": "the delimiter is that of the task; write the set with it, or as .tsv or .jsonl",
    "evaluate --split": "name the file itself: --on FOLDER/FILE",
    "experiments list": "hashbench experiments lists them",
    "experiments show": "hashbench experiments NAME prints one",
    "export --page": "the ONNX graph and hashed_text.js, or hashed_words.js, are what a page of your own loads",
    "export --pt2": "the ONNX graph of --onnx is the form that runs elsewhere",
    "params --deployed": "hashbench export prints the count of the model that it writes",
    "params --no-generic-row": "counts have that row, as table 2 of HashFormers",
    "params --no-spread": "the spread is printed where models are named",
    "params --spread": "the spread is printed where models are named",
    "report --experiment": "name it without the option; claims and robustness are commands, not names",
    "report --no-provenance": "five short lines are printed below a table, and all of them with --provenance",
    "report robustness --models": "--full prints each model; CSV and JSON have all rows",
    "report robustness --noise": "--full prints each kind of noise; CSV and JSON have all rows",
    "report robustness --task": "--full prints each task; CSV and JSON have all rows",
    "report robustness --versus": "differences are from the baseline; CSV and JSON have all rows",
    "status --run": "hashbench log RUN prints one run",
    "sweep --executor": "write executor=NAME behind the file, or in it",
    "sweep --ray-address": "set RAY_ADDRESS, as for Ray itself",
}


def refuse_gone(words: Sequence[str]) -> None:
    """Raises InputError for a command line, without the program's name, that uses one of `GONE`."""
    options = {word.partition("=")[0] for word in words if word.startswith("--")}
    for gone, instead in GONE.items():
        command, _, option = gone.partition(" --")
        named = command.split()
        if list(words[: len(named)]) == named and (not option or f"--{option}" in options):
            raise InputError(f"{gone} is gone: {instead}")
