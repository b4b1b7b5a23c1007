"""The text side of an exported model as one generated file, in Python's standard library and in JavaScript.

Both read the same values. `vectors.jsonl` has a thousand texts with their tokens and codes: a port to another language
is right when it reproduces them.
"""

from __future__ import annotations

import json
import random
import re
import unicodedata
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

import hashbench
from hashbench.common.errors import InputError, located
from hashbench.common.own_files import is_own
from hashbench.common.registry import class_of
from hashbench.deployment.loading import Predictor
from hashbench.deployment.module_names import bound_names, check_closed, parsed
from hashbench.deployment.on_graph import VALUES
from hashbench.deployment.onnx_graph import SHORTEST_INPUT, graph_codes, has_segments, length_multiple
from hashbench.models.coders.base import Coder
from hashbench.models.embeddings.base import PAD, Template
from hashbench.models.text.base import PortablePart, shipped_source

PYTHON, JAVASCRIPT, VECTORS = "hashed_text.py", "hashed_text.js", "vectors.jsonl"
REMEMBERED = 100_000  # tokens whose codes a text side keeps
MAIN_IMPORTS = tuple(f"import {name}\n" for name in ("json", "struct", "sys", "zlib")) + ("from pathlib import Path\n",)
WIDE = 16  # bytes of a code from which on vectors hold its CRC-32
WHOLE = 20  # texts whose wide codes are written whole into vectors
LANGUAGES = {PYTHON: "py", JAVASCRIPT: "js"}
OWN_IMPORT = re.compile(r"^from hashbench\.models\.portable\.\w+ import .*\n", re.MULTILINE)
IMPORT = re.compile(r"^(?:from (?!__future__)\S+ import .+|import .+)\n", re.MULTILINE)
NAME_IN_JAVASCRIPT = re.compile(r"^(?:export )?(?:async )?(?:function\*?|const|let|var|class) (\w+)", re.MULTILINE)
FUTURE, DOCSTRING = "from __future__ import annotations\n", re.compile(r'\A"""(.*?)"""\n', re.DOTALL)


@dataclass(frozen=True)
class TextSideParts:
    """The parts of a model's text side (tokenizer, coder, assembling of inputs) that are joined into one file."""

    tokenizer: PortablePart
    coder: PortablePart
    values: Mapping[str, Any]  # of assembling.py

    def texts(self, language: str) -> dict[str, str]:
        """The sources to join by name, each after what it needs. Raises InputError where two have one name."""
        texts: dict[str, str] = {}
        for part in (self.tokenizer, self.coder):
            texts |= {name: shipped_source(f"{name}.{language}") for name in part.needs}
            text = part.text(language)
            if texts.setdefault(part.source, text) != text:
                raise InputError(f"text side: two sources have the name {part.source!r}; rename one")
        return texts | {"assembling": shipped_source(f"assembling.{language}")}

    @property
    def files(self) -> dict[str, bytes]:
        """The contents of the tables to ship, by file name."""
        return {**self.tokenizer.files, **self.coder.files}


def parts_of(predictor: Predictor) -> TextSideParts:
    """The parts of a model's text side. Raises InputError where a tokenizer or coder has none."""
    parts = {"tokenizer": predictor.tokenizer.portable(), "coder": predictor.coder.portable()}
    names = {"tokenizer": predictor.spec.text.tokenizer, "coder": predictor.spec.code.coder}
    for kind, part in parts.items():
        refused = f"{predictor.config.name}: text side not exported: {kind} {names[kind]!r}"
        if part is None:
            cls = class_of(kind, names[kind])
            own = cls is not None and is_own(cls.__module__)
            why = "is of your own and brings none: see docs/extend.md" if own else "needs a library on the device"
            raise InputError(f"{refused} {why}")
        with located(refused):
            part.step()
    tokenizer, coder = parts["tokenizer"], parts["coder"]
    assert tokenizer is not None and coder is not None
    return TextSideParts(tokenizer, coder, assembling_values(predictor))


def assembling_values(predictor: Predictor) -> dict[str, Any]:
    """Settings with which the text side assembles codes into inputs of the graph."""
    template = predictor.spec.text.template
    coder = predictor.coder
    return {
        "single": _form(template.single, template),
        "pair": _form(template.pair, template),
        "specials": len(template.specials),
        "pad": PAD,
        "truncation": template.truncation,
        "max_length": predictor.config.max_length,
        "multiple": length_multiple(predictor),
        "shortest": SHORTEST_INPUT,
        "has_segments": has_segments(predictor),
        "width": coder.width if coder.bits is None else coder.bits,
        "remembered": REMEMBERED,
        "kind": kind_of_numbers(coder),
        # Type of the graph's input
        "graph_codes": str(graph_codes(coder, torch.from_numpy(coder.encode(["a"]))).dtype).removeprefix("torch."),
        "labels": list(predictor.labels),
        "multi_label": predictor.config.multi_label,  # whether each logit above 0 is a label of the text
    }


def kind_of_numbers(coder: Coder) -> str:
    """The kind of a code's numbers on a device: bits, uint8, float32, or int64 for all other integers."""
    if coder.bits is not None:
        return "bits"
    dtype = np.dtype(coder.dtype)
    return "float32" if dtype.kind == "f" else "uint8" if dtype == np.uint8 else "int64"


def _form(form: Iterable[str], template: Template) -> list[int | str]:
    """A template's form (A, B and special tokens) with special tokens as indexes."""
    return [part if part in ("A", "B") else template.specials.index(part) for part in form]


def write_text_side(predictor: Predictor, folder: Path) -> list[Path]:
    """Writes the text side's generated files and tables; returns their paths. Raises InputError if there is none."""
    parts = parts_of(predictor)
    contents: dict[str, bytes] = {VALUES: side_values(parts)}
    for file, language in LANGUAGES.items():
        contents[file] = joined(parts, language, predictor.config.name).encode()
    contents |= parts.files
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in contents]


def joined(parts: TextSideParts, language: str, model: str) -> str:
    """The source of the text side in one language, "py" or "js"."""
    calls = {"tokenizer": parts.tokenizer.entry, "coder": parts.coder.entry, "model": model}
    calls |= {"version": hashbench.__version__, "files": ", ".join(sorted(parts.files)) or "none"}
    if language == "js":
        calls = {key: _camel(value) if key in ("tokenizer", "coder") else value for key, value in calls.items()}
        names = json.dumps(sorted(parts.files))
        texts = parts.texts("js")
        check_names({name: re.findall(NAME_IN_JAVASCRIPT, text) for name, text in texts.items()})
        return filled(shipped_source("main.js"), {**calls, "names": names, "parts": "\n".join(texts.values())})
    code, imports = joined_parts(parts, extra=MAIN_IMPORTS)
    source = filled(shipped_source("main.txt"), {**calls, "imports": imports, "parts": code})
    check_closed(source, PYTHON, model)
    return source


def joined_parts(parts: TextSideParts, extra: Iterable[str]) -> tuple[str, str]:
    """The Python source of all parts, and the lines that import what they and `extra` need."""
    return joined_sources(parts.texts("py"), extra)


def joined_sources(texts: Mapping[str, str], extra: Iterable[str]) -> tuple[str, str]:
    """Python sources by name, each behind the sources that it needs, as one text, and their and `extra` imports.

    Raises InputError where two sources define one name, or one cannot be read.
    """
    imports, bodies, names = set(extra), [], {}
    for name, text in texts.items():
        text = DOCSTRING.sub(lambda match: "# " + match[1].strip().split("\n")[0] + "\n", text)
        text = OWN_IMPORT.sub("", text.replace(FUTURE, ""))
        imports |= set(IMPORT.findall(text))
        bodies.append(IMPORT.sub("", text).strip())
        names[name] = [bound for node in parsed(bodies[-1], name).body for bound in bound_names(node)]
    check_names(names)
    return "\n\n\n".join(bodies), "".join(_merged(imports))


def check_names(names: Mapping[str, Iterable[str]]) -> None:
    """Raises InputError where two sources define one name: in one file the later would replace the earlier."""
    places: dict[str, str] = {}
    for source, of_source in names.items():
        for name in of_source:
            if places.setdefault(name, source) != source:
                raise InputError(f"text side: {name} is in the sources {places[name]!r} and {source!r}; rename one")


def side_values(parts: TextSideParts) -> bytes:
    """The settings that the text sides of all languages read, as JSON."""
    values = {"tokenizer": parts.tokenizer.values, "coder": parts.coder.values, "inputs": parts.values}
    return json.dumps(values, separators=(",", ":"), ensure_ascii=False).encode()


def filled(text: str, values: Mapping[str, str]) -> str:
    """A template with its values."""
    for key, value in values.items():
        text = text.replace(f"<<{key}>>", value)
    return text


def _camel(name: str) -> str:
    """A name as JavaScript spells it.

    >>> _camel("md5_bits")
    'md5Bits'
    """
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def _merged(imports: Iterable[str]) -> list[str]:
    """Sorted import lines, one for each module.

    >>> _merged({"from a import B\\n", "from a import C, D\\n", "import re\\n"})
    ['import re\\n', 'from a import B, C, D\\n']
    """
    plain = sorted(line for line in imports if line.startswith("import "))
    names: dict[str, set[str]] = {}
    for line in imports:
        if line.startswith("from "):
            module, listed = line.removeprefix("from ").strip().split(" import ")
            names.setdefault(module, set()).update(listed.split(", "))
    return plain + [f"from {module} import {', '.join(sorted(names[module]))}\n" for module in sorted(names)]


def write_vectors(predictor: Predictor, path: Path) -> None:
    """Writes test texts with hashbench's own tokens and codes, for checking a port of the text side.

    Codes are bytes in hexadecimal, low byte first, of bits, uint8, int64 or float32; of wide codes behind the first
    texts the CRC-32 of these bytes alone.
    """
    lines = []
    for number, text in enumerate(texts_to_prove()):
        tokens = predictor.tokenizer.tokenize(text)
        codes = [spelled(code, whole=number < WHOLE) for code in predictor.coder.encode(tokens)] if tokens else []
        lines.append(json.dumps({"text": text, "tokens": tokens, "codes": codes}) + "\n")
    path.write_text("".join(lines), encoding="utf-8")


def spelled(code: np.ndarray, *, whole: bool) -> str:
    """A code (c,) as vectors.jsonl has it: its bytes in hexadecimal, or for wide codes unless `whole` their CRC-32."""
    form = "u1" if code.dtype == np.uint8 else "<f4" if code.dtype.kind == "f" else "<i8"
    content = code.astype(form).tobytes()
    return content.hex() if whole or len(content) <= WIDE else f"{zlib.crc32(content):08x}"


def size_of(paths: Sequence[Path]) -> int:
    """The total size of files in bytes."""
    return sum(path.stat().st_size for path in paths)


N_TEXTS = 1_000
SEED = 7
SHORT_TEXT = 200  # characters that a text to compare outputs on may have
BY_HAND = Path(__file__).with_name("texts_by_hand.json")  # odd texts: cases, scripts, invisible characters, long ones


@cache
def texts_to_prove() -> tuple[str, ...]:
    """A thousand test texts, by hand and random in many scripts, equal on all machines with one version of Python."""
    generator = random.Random(SEED)
    texts = list[str](json.loads(BY_HAND.read_text(encoding="utf-8")))
    blocks = _letters()
    while len(texts) < N_TEXTS:
        block = blocks[len(texts) % len(blocks)]
        words = ["".join(generator.choices(block, k=generator.randint(1, 7))) for _ in range(generator.randint(1, 5))]
        texts.append(generator.choice((" ", " ", ", ", "-", "' ")).join(words) + generator.choice(("", ".", "!!", "?")))
    return tuple(texts)


def texts_compared(predictor: Predictor) -> list[str]:
    """The shorter ones of the test texts, on which a model's outputs are compared with its exported forms'.

    Those without a token are left out of a model without special tokens: a mean of no state has no value.
    """
    template = predictor.spec.text.template
    has_specials = len(template.single) > 1
    texts = [text for text in texts_to_prove() if len(text) < SHORT_TEXT]
    return [text for text in texts if has_specials or predictor.tokenizer.tokenize(text)]


def _letters() -> list[list[str]]:
    """Lists of characters, one for each script by the first word of their names, and one of other kinds."""
    scripts: dict[str, list[str]] = {}
    others = []
    for point in (*range(0x20, 0x3100), *range(0x4E00, 0x4F00), *range(0xA000, 0xA4D0), *range(0xAC00, 0xAD00),
                  *range(0x10000, 0x10500), *range(0x1F300, 0x1F650)):  # fmt: skip
        character = chr(point)
        kind = unicodedata.category(character)
        if kind[0] in "LM":
            scripts.setdefault(unicodedata.name(character).split()[0], []).append(character)
        elif kind not in ("Cn", "Cs"):
            others.append(character)
    return [members for members in scripts.values() if len(members) > 4] + [others]
