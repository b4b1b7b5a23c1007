"""One sentence on one thread, from its text to a label: hashed models by their generated text side, BERT by
`tokenizers`, a bag of words by its generated file.

    python benchmarks/on_device.py FOLDER [FOLDER ...] --rounds 50

A folder is what `hashbench export --onnx --int8` wrote of a model, or `--int8` of a run of `bag-of-words`, to which the
others are compared: the ratio of the times of a round, with an interval over rounds. A folder with a tokenizer.json is
read by the `tokenizers` library too, as an application would. Each is measured in a process of its own, so that peak
resident memory is that of text side, runtime and model; bytes are those of all files that the process opens. Processes
take turns within a round. `new words` forgets all codes before each sentence: its words are met for the first time.
`known words`: each was met before. `no numpy` is the text side alone, to buffers, without numpy imported.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SENTENCES = Path(__file__).with_name("sentences.txt").read_text().splitlines()
LIBRARY = "tokenizer.json"  # of the `tokenizers` library


BAG = "bag_of_words.py"  # makes a folder one of a bag of words


def imported(path: Path) -> Any:
    """The module of a generated file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


class Bag:
    """The folder of a bag of words at work. It remembers no words, so that all are new."""

    def __init__(self, folder: Path) -> None:
        self.bag = imported(folder / BAG).load(folder)
        self.files = [folder / name for name in (BAG, "bag_of_words.json", "features.txt", "weights.bin")]

    def milliseconds(self, *, cold: bool) -> list[float]:
        """Of each sentence."""
        times = []
        for text in SENTENCES:
            began = time.perf_counter()
            self.bag.answer(text)
            times.append(1000.0 * (time.perf_counter() - began))
        return times


class Classifier:
    """A folder at work. `library`: tokens come from the `tokenizers` library where the folder has a file for it."""

    def __init__(self, folder: Path, *, library: bool, with_graph: bool = True) -> None:
        place = folder / "onnx"
        self.side: Any = imported(place / "hashed_text.py").load(place)
        self.files = [*place.glob("hashed_text.json"), *place.glob("hashed_text.py"), *place.glob("ngrams.json")]
        if library and (place / LIBRARY).is_file():
            from tokenizers import Tokenizer

            tokenizer = Tokenizer.from_file(str(place / LIBRARY))
            self.side.tokenize = lambda text: tokenizer.encode(text, add_special_tokens=False).tokens
        self.files += [*place.glob(LIBRARY), *place.glob("rows.json")]
        self.session: Any = None
        if with_graph:
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
        made = self.side.buffers([text])
        fed = {name: self.array(content, kind).reshape(shape) for name, (content, kind, shape) in made.items()}
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
            began = time.perf_counter()
            if self.session is None:
                self.side.buffers([text])
            else:
                self.label(text)
            times.append(1000.0 * (time.perf_counter() - began))
        return times


def serve(folder: Path, kind: str) -> None:
    """Answers each line of stdin with the times of a round; the process that is measured."""
    began = time.perf_counter()
    is_bag = (folder / BAG).is_file()
    model = Bag(folder) if is_bag else Classifier(folder, library=kind != "own", with_graph=kind != "text")
    model.milliseconds(cold=True)
    ready = 1000.0 * (time.perf_counter() - began)
    for _ in sys.stdin:
        row = {way: statistics.median(model.milliseconds(cold=way == "cold")) for way in ("cold", "warm")}
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        size = sum(path.stat().st_size for path in model.files)
        numpy = "numpy" in sys.modules
        print(json.dumps({**row, "peak": peak, "bytes": size, "ready": ready, "numpy": numpy}), flush=True)


def interval(values: list[float]) -> str:
    """The median, and the ends of an interval of it (order statistics, about 95 %)."""
    ranked, n = sorted(values), len(values)
    spread = round(0.98 * n**0.5)
    low, high = ranked[max(0, n // 2 - spread)], ranked[min(n - 1, n // 2 + spread)]
    return f"{statistics.median(values):.3f} ({low:.3f} to {high:.3f})"


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--serve", choices=["own", "library", "text"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.folders[0], options.serve)
    processes = {}
    for folder in options.folders:
        kinds = ["library", "own", "text"] if (folder / "onnx" / LIBRARY).is_file() else ["own", "text"]
        if (folder / BAG).is_file():
            kinds = ["own"]
        for kind in kinds:
            command = [sys.executable, __file__, str(folder), "--serve", kind]
            processes[folder.name, kind] = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
    rounds: dict[tuple[str, str], list[dict[str, Any]]] = {key: [] for key in processes}
    for _ in range(options.rounds):
        for key, process in processes.items():
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            rounds[key].append(json.loads(process.stdout.readline()))
    bag = next((folder.name for folder in options.folders if (folder / BAG).is_file()), None)
    beside = " times the bag of words, new words |" if bag else ""
    print(f"| folder | text side | new words ms | known words ms | bytes | peak memory | first answer ms |{beside}")
    print("|---|---|---:|---:|---:|---:|---:|" + "---:|" * (bag is not None))
    names = {"library": "tokenizers library", "own": "generated file", "text": "generated file alone, no numpy"}
    for (folder_name, kind), rows in rounds.items():
        last = rows[-1]
        assert kind != "text" or not last["numpy"]
        times = [interval([row[way] for row in rows]) for way in ("cold", "warm")]
        ratios = [row["cold"] / other["cold"] for row, other in zip(rows, rounds.get((bag, "own"), ()), strict=False)]
        print(
            f"| {folder_name} | {names[kind]} | {times[0]} | {times[1]} | {last['bytes']:,} | "
            f"{last['peak'] / 2**20:.0f} MiB | {last['ready']:.0f} |" + (f" {interval(ratios)} |" if ratios else "")
        )
    for process in processes.values():
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


if __name__ == "__main__":
    main()
