"""The table of docs/speed.md: runs the benchmarks, one after the other, and prints a row for each comparison.

    python benchmarks/table.py --data FOLDER              # `make bench`: what fits into 15 minutes of two cores
    python benchmarks/table.py --data FOLDER --all        # `make bench-all`: also those at full size

FOLDER has corpora/wikipedia and glue/sst2. Each benchmark is a process of its own and gives CPU seconds of one thread,
peers in turn with ours within a round; a row has the median of the ratios of rounds, and the smallest and largest. A
row whose peer is not installed says so. What a benchmark prints goes to stderr, so that the table can be redirected.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
FASTER, LONGER, SECONDS = "times as fast", "times as long", "CPU seconds"
# A median, and in parentheses the smallest and largest
VALUE = re.compile(r"([\d.]+) ?(?:x|s)?[ a-zA-Z]*\(([\d.]+) to ([\d.]+)")


@dataclass(frozen=True)
class Row:
    """A comparison: which benchmark prints it, behind what (a regular expression), and what is to be known of it."""

    work: str
    peer: str
    package: str | None  # the peer's; None: part of the standard library, or of hashbench
    benchmark: str
    behind: str
    note: str
    unit: str = FASTER


COMMANDS = {
    "text": "text.py --data {data} --megabytes 10 --rounds 5 --without-compilation",
    "device": "on_device.py --make {folder}/device --data {data} --rounds 20",
    "finetuning": "finetuning.py --data {data} --examples 1600 --rounds 3 --threads 1 --cpu-time",
    "pretraining": "pretraining.py --threads 1 --clock cpu --steps 1 --rounds 3",
    "intervals": "intervals.py --simulated --rounds 3",
    "latency": "latency.py --sizes tiny --rounds 30",
    "commands": "commands.py --db {db} --rounds 3",
}
# At full size: printed, no row
MORE = [
    "text.py --data {data} --megabytes 100 --rounds 3 --threads 2 --without-tokenizers",
    "pretraining.py --size base --batch 4 --length 512 --steps 1 --rounds 3 --clock cpu",
    "pretraining.py --precision bf16 --clock cpu --rounds 3",
    "latency.py",
]
TEXT = "text to ids and MD5 bits"
NEW, MD = "a sentence of new words to its label", "`hashformer-md-proj`"
STANDARD = "generated file, standard library"


def device(folder: str, way: str = "generated file") -> str:
    """What is printed before the ratio to hashformer-md-proj of a folder in a way."""
    return rf"\| {folder} \| {way} \|(?:[^|]*\|){{5}} "


ROWS = [
    Row(TEXT, "BPE, `encode_batch_fast`", "tokenizers", "text", r"words \+ md5 bits against tokenizers BPE: ",
        "From a list of strings, no word met before. hashbench makes the table of words with counts and order, ids, "
        "and codes; the BPE makes ids of 50,265 pieces, no table, order or counts."),
    Row(TEXT, "BPE", "tokie", "text", r"words \+ md5 bits against tokie BPE: ", "The same work as in the first row."),
    Row(TEXT, "BPE", "gigatoken", "text", r"words \+ md5 bits against gigatoken BPE, cold: ",
        "The same work as in the first row."),
    Row(f"{TEXT}, from a file", "BPE, from a file", "gigatoken", "text", r"md5 bits, from a file against [^:]*: ",
        "hashbench reads the file into strings first; gigatoken reads its bytes."),
    Row("text to ids and LSH bits", "BPE", "gigatoken", "text", r"words \+ lsh bits against [^:]*: ",
        "LSH looks up the n-grams of each new word in a dictionary, which was fitted before."),
    Row("`unicode` tokens to ids and MD5 bits", "BPE", "gigatoken", "text", r"unicode \+ md5 bits against [^:]*: ",
        "The tokenizer for all scripts, on English text."),
    Row("ids and MD5 bits of text, words of its first half known", "BPE, the same words known", "gigatoken", "text",
        r"warm words, second half against [^:]*: ",
        "The second half of the text is timed. hashbench makes no table, order or counts here."),
    Row(f"{NEW}, LSH", MD, None, "device", device("hashformer-lsh-proj"),
        "int8 graphs of tiny by ONNX Runtime. No code of a word is known. The text side hashes by numpy: MD5 the word, "
        "the next three each n-gram.", LONGER),
    Row(f"{NEW}, EELBERT", MD, None, "device", device("eelbert-tiny"), "Word pieces, 128 numbers each.", LONGER),
    Row(f"{NEW}, ProFormer", MD, None, "device", device("proformer-glue"),
        "Each n-gram is hashed for 1,260 hyperplanes.", LONGER),
    Row(f"{NEW}, LSH, without numpy", MD, None, "device", device("hashformer-lsh-proj", STANDARD),
        "The same file, by Python's standard library.", LONGER),
    Row(f"{NEW}, EELBERT, without numpy", MD, None, "device", device("eelbert-tiny", STANDARD),
        "The same file, by Python's standard library.", LONGER),
    Row(f"{NEW}, ProFormer, without numpy", MD, None, "device", device("proformer-glue", STANDARD),
        "The same file, by Python's standard library, which remembers 8,192 n-grams, here those of other words.",
        LONGER),
    Row(f"{NEW}, averaged words", MD, None, "device", device("averaged-words"),
        "`hash-emb-k2` with `encoder: average`, width 16.", LONGER),
    Row(f"{NEW}, bag of words", MD, None, "device", device("bag-of-words"),
        "The exported trivial baseline of SST-2, without ONNX Runtime.", LONGER),
    Row(f"{NEW}, `bert-tiny`", MD, None, "device", device("bert-tiny", "tokenizers library"),
        "Pieces by the library `tokenizers`, which remembers words.", LONGER),
    Row("fine-tuning on SST-2, `hashformer-md-proj`, tiny", "Trainer, dynamic padding", "transformers", "finetuning",
        r"hashformer-md-proj ", "From the first batch to the last step; texts are tokenized before. The peer has "
        "a table of 50,265 rows, this model none."),
    Row("the same, `bert-mlm`", "Trainer, dynamic padding", "transformers", "finetuning", r"bert-mlm ",
        "One shape, one tokenizer, one batch size and 50,265 rows on both sides."),
    Row("pre-training, MLM, tiny, `bert-mlm`", "BertForMaskedLM, plain loop", "transformers", "pretraining",
        r"mlm +hashbench bert-mlm ",
        "50,265 rows. The peer computes logits of all tokens, hashbench those of the masked ones."),
    Row("pre-training, Shuffle + Random, tiny, `bert-sr`", "BertForTokenClassification, plain loop", "transformers",
        "pretraining", r"shuffle_random +hashbench bert-sr ", "The same corruption on both sides, made before."),
    Row("the same, `hashformer-lsh-proj`", "BertForTokenClassification, plain loop", "transformers", "pretraining",
        r"shuffle_random +hashbench hashformer-lsh-proj ",
        "The peer has a table of 50,265 rows; codes are made before."),
    Row("10,000 draws of every score of `glue_tiny`", "a loop", "scikit-learn", "intervals", r"^ratio ",
        "Predictions at random. The loop is timed on five draws of each task and multiplied."),
    Row("EELBERT's embedding of a short sentence, new words", "`bert-tiny` in hashbench", None, "latency",
        r"EELBERT, cold", "From tokens to the states of the last layer, by torch. BERT begins with ids.", LONGER),
    Row("the same, known words", "`bert-tiny` in hashbench", None, "latency", r"EELBERT, warm",
        "Codes of words are looked up.", LONGER),
    Row("`report glue_tiny`", "-", None, "commands", r"^report glue_tiny ",
        "A whole process on the example database, as the next three rows.", SECONDS),
    Row("`report claims glue_tiny`", "-", None, "commands", r"^report claims glue_tiny ",
        "Every claim of the paper, with its interval.", SECONDS),
    Row("`compare` of two experiments", "-", None, "commands", r"^compare ", "With stored predictions.", SECONDS),
    Row("`plot` of eight figures", "-", None, "commands", r"^plot ", "All figures of `glue_tiny`.", SECONDS),
]  # fmt: skip


def version_of(package: str) -> str | None:
    """The version of an installed package, None where it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def shown(number: str) -> str:
    """A ratio with two digits behind the point, one from 10 on, and none from 100 on.

    >>> shown("1.052"), shown("12.34"), shown("242.3")
    ('1.05', '12.3', '242')
    """
    value = float(number)
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}"


def value_in(row: Row, printed: str) -> str:
    """The row's value as its benchmark printed it."""
    if row.package is not None and version_of(row.package) is None:
        return "not installed; pip install 'hashbench[bench]'"
    begins = re.search(row.behind, printed, re.MULTILINE)
    line = printed[begins.end() :].partition("\n")[0] if begins else ""
    values = VALUE.search(line)
    if values is None:
        return "not measured"
    middle, low, high = map(shown, values.groups())
    return f"{middle} {row.unit} ({low} to {high})"


def machine() -> str:
    """Processor, cores, and the load of the last minute."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        name = next((line.partition(": ")[2] for line in info.read_text().splitlines() if "model name" in line), name)
    return f"{name.strip()}, {os.cpu_count()} cores, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}"


def run(command: str, places: dict[str, str]) -> str:
    """What a benchmark printed; also on stderr, with its seconds."""
    program, *arguments = command.split()
    words = [sys.executable, str(HERE / program), *(argument.format(**places) for argument in arguments)]
    environment = os.environ | {"HASHBENCH_THREADS": "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")]))
    began = time.monotonic()
    done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    print(
        f"$ {command}\n{done.stdout}exit {done.returncode}, {time.monotonic() - began:.0f} s",
        file=sys.stderr,
        flush=True,
    )
    return done.stdout


def main() -> None:
    """Runs and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("HASHBENCH_TEST_DATA"), help="data folder")
    parser.add_argument("--db", default=str(HERE.parent / "results.db.example"))
    parser.add_argument(
        "--folder", default=str(HERE.parent / ".cache" / "bench"), help="for exported models and corpora"
    )
    parser.add_argument("--only", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the data folder with --data")
    places = {"data": options.data, "folder": options.folder, "db": options.db}
    printed = {name: run(COMMANDS[name], places) for name in options.only}
    print("| | work | peer and version | median of rounds (smallest to largest) | command | machine |")
    print("|---:|---|---|---|---|---|")
    rows = [row for row in ROWS if row.benchmark in printed]
    for number, row in enumerate(rows, 1):
        version = "" if row.package is None else f", {row.package} {version_of(row.package) or '(absent)'}"
        cells = (row.work, row.peer + version, value_in(row, printed[row.benchmark]), row.benchmark, "A")
        print(f"| {number} | {' | '.join(cells)} |")
    print(f"\nMachine A: {machine()}.\n")
    for number, row in enumerate(rows, 1):
        print(f"{number}. {row.note}")
    print("\n| command | `python benchmarks/` ... |\n|---|---|")
    for name in printed:
        print(f"| {name} | `{COMMANDS[name].format(data='DATA', folder='FOLDER', db='results.db.example')}` |")
    for command in MORE if options.all else ():
        print(f"\n$ {command}\n{run(command, places)}", flush=True)


if __name__ == "__main__":
    main()
