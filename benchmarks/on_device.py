"""One sentence on one thread, from its text to a label: hashed models by their generated text side, BERT by
`tokenizers`, averaged words, and a bag of words by its generated file.

    python benchmarks/on_device.py FOLDER [FOLDER ...] --rounds 40
    python benchmarks/on_device.py --make FOLDER --data DATA     # exports models with random weights, then measures

A folder is what `hashbench export --onnx --int8` wrote of a model, or of a run of `bag-of-words` or `hashed-words`. All
are compared to the first, and to the bag of words where there is one: ratios of the times of a round, with an interval
over rounds. A folder with a tokenizer.json is also read by the `tokenizers` library, as an application would. Each is
measured in a process of its own, so that peak resident memory is that of text side, runtime and model; bytes are those
of all files that the process opens. Processes take turns within a round. Times are CPU times, medians over sentences.

`new words` forgets all codes before each sentence, as if no word of it had been met; other words were, those of this
project's docs, so that a file that remembers n-grams knows theirs. `known words`: each was met before. The generated
file hashes by numpy, which ONNX Runtime imports; `standard library` is the same file kept from it. `text side alone`
ends at the inputs of the graph, without numpy in the process; `JavaScript` is that in Node.js.

`--make` learns pieces and n-grams from DATA/glue/sst2 and from DATA/corpora/wikipedia. Weights are random: times do not
depend on them. The bag of words is fitted on SST-2.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import multiprocessing
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

SENTENCES_FILE = Path(__file__).with_name("sentences.txt")
SENTENCES = SENTENCES_FILE.read_text().splitlines()
LIBRARY = "tokenizer.json"  # of the `tokenizers` library
BAG = "bag_of_words.py"  # makes a folder one of a bag of words
HASHED = "hashed_words.py"  # or one of hashed words
MODELS = ["hashformer-md-proj", "hashformer-lsh-proj", "eelbert-tiny", "proformer-glue", "bert-tiny"]
PASSES = 3  # over the sentences in a round
AVERAGED, PIECES, DOCUMENTS = "averaged-words", 30_522, 3_000
NAMES = {
    "own": "generated file", "plain": "generated file, standard library", "library": "tokenizers library",
    "text": "generated file, text side alone", "node": "JavaScript, text side alone",
}  # fmt: skip
IN_NODE = """
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
const { load } = await import(`data:text/javascript,${encodeURIComponent(readFileSync("hashed_text.js", "utf8"))}`);
const sentences = readFileSync(process.argv[1], "utf8").trim().split("\\n");
const side = await load((name) => readFileSync(name, "utf8"));
function milliseconds(cold) {
  if (!cold) for (const text of sentences) side.inputs([text]);
  const times = sentences.map((text) => {
    if (cold) side.known.clear();
    const began = process.cpuUsage();
    side.inputs([text]);
    const { user, system } = process.cpuUsage(began);
    return (user + system) / 1000;
  });
  return times.sort((a, b) => a - b)[times.length >> 1];
}
for (let i = 0; i < 20; i++) milliseconds(true);
for await (const line of createInterface({ input: process.stdin })) {
  const row = { cold: milliseconds(true), warm: milliseconds(false), ready: 0, bytes: 0, numpy: false };
  console.log(JSON.stringify({ ...row, peak: process.resourceUsage().maxRSS * 1024 }));
}
"""


def imported(path: Path) -> Any:
    """The module of a generated file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def other_texts() -> list[str]:
    """Ten words each of this project's docs, none of them in a sentence."""
    docs = sorted(Path(__file__).parents[1].glob("docs/*.md"))
    own = set(re.findall("[a-z]+", " ".join(SENTENCES).lower()))
    met = dict.fromkeys(word for path in docs for word in re.findall("[a-z]+", path.read_text().lower()))
    words = [word for word in met if word not in own]
    return [" ".join(words[at : at + 10]) for at in range(0, len(words), 10)]


def code_of(folder: Path) -> str:
    """The file of code in the folder of a bag of words, or of hashed words; '' in that of a model."""
    return next((name for name in (BAG, HASHED) if (folder / name).is_file()), "")


class Bag:
    """The folder of a bag of words, or of hashed words, at work. It remembers no words, so that all are new."""

    def __init__(self, folder: Path) -> None:
        code = folder / code_of(folder)
        self.bag = imported(code).load(folder)
        self.files = [code, code.with_suffix(".json"), *folder.glob("features.txt"), folder / "weights.bin"]

    def milliseconds(self, *, cold: bool) -> list[float]:
        """Of each sentence."""
        times = []
        for text in SENTENCES:
            began = time.process_time()
            self.bag.answer(text)
            times.append(1000.0 * (time.process_time() - began))
        return times


class Classifier:
    """A folder at work, in one of the ways of NAMES."""

    def __init__(self, folder: Path, way: str) -> None:
        place = folder / "onnx"
        module = imported(place / "hashed_text.py")
        if way == "plain":
            module.numpy_here = lambda: None
        self.side: Any = module.load(place)
        self.files = [*place.glob("hashed_text.json"), *place.glob("hashed_text.py"), *place.glob("ngrams.json")]
        if way == "library":
            from tokenizers import Tokenizer

            tokenizer = Tokenizer.from_file(str(place / LIBRARY))
            self.side.tokenize = lambda text: tokenizer.encode(text, add_special_tokens=False).tokens
        self.files += [*place.glob(LIBRARY), *place.glob("rows.json")]
        self.session: Any = None
        if way != "text":
            import numpy as np
            import onnxruntime

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            graph = next(place.glob("*.onnx"))
            self.files.append(graph)
            self.session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
            self.array = np.frombuffer

    def label(self, text: str) -> str:
        """The class of a text."""
        buffers = self.side.buffers([text])
        fed = {name: self.array(content, kind).reshape(shape) for name, (content, kind, shape) in buffers.items()}
        scores = self.session.run(None, fed)[0][0].tolist()
        return str(self.side.values["labels"][scores.index(max(scores))])

    def milliseconds(self, *, cold: bool) -> list[float]:
        """Of each sentence. `cold`: each word is new; else each was met before."""
        for text in () if cold else SENTENCES:
            self.side.buffers([text])
        times = []
        for text in SENTENCES:
            if cold:
                self.side._known.clear()
                self.side._packed.clear()
            began = time.process_time()
            if self.session is None:
                self.side.buffers([text])
            else:
                self.label(text)
            times.append(1000.0 * (time.process_time() - began))
        return times


def serve(folder: Path, way: str) -> None:
    """Answers each line of stdin with the times of a round; the process that is measured."""
    began = time.process_time()
    model = Bag(folder) if code_of(folder) else Classifier(folder, way)
    ready = time.process_time() - began
    if isinstance(model, Classifier):  # before the sentences, so that it is these words whose n-grams are remembered
        for text in other_texts():
            model.side.buffers([text])
            model.side._packed.clear()
    began = time.process_time()
    model.milliseconds(cold=True)
    ready = 1000.0 * (ready + time.process_time() - began)
    for _ in sys.stdin:
        times: dict[str, list[float]] = {"cold": [], "warm": []}
        for _ in range(PASSES):
            for kind, of_kind in times.items():
                of_kind += model.milliseconds(cold=kind == "cold")
        row = {kind: statistics.median(of_kind) for kind, of_kind in times.items()}
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        size = sum(path.stat().st_size for path in model.files)
        numpy = "numpy" in sys.modules
        print(json.dumps({**row, "peak": peak, "bytes": size, "ready": ready, "numpy": numpy}), flush=True)


def ways_of(folder: Path) -> list[str]:
    """The ways of NAMES in which a folder is measured."""
    if code_of(folder):
        return ["own"]
    library = ["library"] if (folder / "onnx" / LIBRARY).is_file() else []
    node = ["node"] if shutil.which("node") else []
    return [*library, "own", "plain", "text", *node]


def started(folder: Path, way: str) -> subprocess.Popen[str]:
    """The process that serves a folder in a way."""
    if way == "node":
        program = ["node", "--input-type=module", "-e", IN_NODE, str(SENTENCES_FILE)]
        return subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder / "onnx")
    program = [sys.executable, __file__, str(folder), "--serve", way]
    return subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def interval(values: list[float]) -> tuple[float, float, float]:
    """The median, and the ends of an interval of it (order statistics, about 95 %)."""
    ranked, n = sorted(values), len(values)
    spread = round(0.98 * n**0.5)
    return statistics.median(values), ranked[max(0, n // 2 - spread)], ranked[min(n - 1, n // 2 + spread)]


def in_words(ends: tuple[float, float, float]) -> str:
    return f"{ends[0]:.3f} ({ends[1]:.3f} to {ends[2]:.3f})"


def write_csv(rounds: dict[tuple[str, str], list[dict[str, Any]]], bag: str, file: Path) -> None:
    """A row for each folder: of a vocabulary by the `tokenizers` library, as an application reads it."""
    with file.open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["folder", "bytes", "ms", "times_bag", "low", "high", "rounds"])
        for name in dict.fromkeys(name for name, _ in rounds):
            rows = rounds[name, "library" if (name, "library") in rounds else "own"]
            ratio = interval([row["cold"] / peer["cold"] for row, peer in zip(rows, rounds[bag, "own"], strict=True)])
            ms = statistics.median(row["cold"] for row in rows)
            writer.writerow([name, rows[-1]["bytes"], f"{ms:.4f}", *(f"{end:.2f}" for end in ratio), len(rows)])


def make_folders(root: Path, data: Path) -> list[Path]:
    """Folders of all models, with random weights, and of a bag of words; those that are there are kept."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from benchmarks.text import read_texts
    from hashbench.data.sources.sources import open_sources
    from hashbench.data.tasks.catalogue import find_task, load_task
    from hashbench.deployment import bag_of_words
    from hashbench.deployment.forms import Wishes, deploy
    from hashbench.models.embeddings.base import EncoderSpec
    from hashbench.models.embeddings.registry import find_model
    from hashbench.models.encoders.mean import of_model
    from tests.exported import exported_folder

    task = load_task(find_task("sst2"), open_sources(str(data)))
    texts = [*task.splits["train"].texts[0], *read_texts(data, 20_000_000)[:DOCUMENTS]]
    narrow = of_model(replace(find_model("hash-emb-k2"), encoder=EncoderSpec("average", {"dim": 16})))
    specs = {name: find_model(name) for name in MODELS} | {AVERAGED: narrow}
    for name, spec in specs.items():
        if not (root / name).is_dir():
            exported_folder(name, root / name, spec=spec, texts=texts, pieces=PIECES)
            deploy(root / name, Wishes(onnx=True, int8=True), None, lambda message: None)
    bag = root / "bag-of-words"
    if not bag.is_dir():
        bag.mkdir(parents=True)
        bag_of_words.write_folder(bag_of_words.learned_on(task), "int8", task.task.name, bag)
    return [*(root / name for name in specs), bag]


def measured(folders: list[Path], n_rounds: int) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """(Folder, way) -> what its process answered in each round."""
    processes = {(folder.name, way): started(folder, way) for folder in folders for way in ways_of(folder)}
    rounds: dict[tuple[str, str], list[dict[str, Any]]] = {key: [] for key in processes}
    for _ in range(n_rounds):
        for key, process in processes.items():
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            rounds[key].append(json.loads(process.stdout.readline()))
    for process in processes.values():
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
    return rounds


def report(rounds: dict[tuple[str, str], list[dict[str, Any]]], folders: list[Path]) -> None:
    """Prints the table."""
    beside = [folders[0].name, *(folder.name for folder in folders if (folder / BAG).is_file())]
    headings = "".join(f" times {name}, new words |" for name in beside)
    print(f"| folder | text side | new words ms | known words ms | bytes | peak memory | first answer ms |{headings}")
    print("|---|---|---:|---:|---:|---:|---:|" + "---:|" * len(beside))
    for (name, way), rows in rounds.items():
        last = rows[-1]
        assert way != "text" or not last["numpy"]
        times = [in_words(interval([row[kind] for row in rows])) for kind in ("cold", "warm")]
        ratios = []
        for other in beside:
            both = zip(rows, rounds[other, "own"], strict=True)
            ratios.append(in_words(interval([row["cold"] / peer["cold"] for row, peer in both])))
        size, ready = f"{last['bytes']:,}" if last["bytes"] else "-", f"{last['ready']:.0f}" if last["ready"] else "-"
        print(
            f"| {name} | {NAMES[way]} | {' | '.join(times)} | {size} | {last['peak'] / 2**20:.0f} MiB | "
            f"{ready} | {' | '.join(ratios)} |"
        )
    print(f"{len(next(iter(rounds.values())))} rounds, load {os.getloadavg()[0]:.1f}")


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--make", type=Path, help="make the folders of all models here, if they are not there")
    parser.add_argument("--data", type=Path, default=os.environ.get("HASHBENCH_TEST_DATA"), help="for --make")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--csv", type=Path, help="write bytes, ms on new words and times of the bag of words here")
    parser.add_argument("--serve", choices=NAMES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.folders[0], options.serve)
    folders = list(options.folders)
    if options.make:
        if options.data is None:
            parser.error("name the data folder with --data")
        # In a process of its own: what this one has in memory is in the peak of those that it starts
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            folders += pool.apply(make_folders, (options.make, options.data))
    if not folders:
        parser.error("name a folder, or --make")
    bags = [folder.name for folder in folders if (folder / BAG).is_file()]
    if options.csv and not bags:
        parser.error("--csv compares with a bag of words; name its folder too")
    rounds = measured(folders, options.rounds)
    report(rounds, folders)
    if options.csv:
        write_csv(rounds, bags[0], options.csv)


if __name__ == "__main__":
    main()
