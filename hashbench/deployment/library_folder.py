"""Files with which `transformers` and `sentence-transformers` load an exported folder, with trust_remote_code; tried.

Three files of code without hashbench are written: modeling_hashed.py, the classes of the model as they are here,
tokenization_hashed.py, the generated text side as a tokenizer of `transformers`, and sentence_hashed.py for
sentence-transformers. Weights are the folder's, with the buffers that a coder made. From transformers 5.2 on;
earlier 5.x ignored a tokenizer's auto_map. Then another process loads the folder, beside hashbench's outputs: it has no
hashbench, no hub and an empty cache, as on a machine that only got the folder.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

import hashbench
from hashbench.common.errors import InputError
from hashbench.common.extras import install
from hashbench.common.untrusted import MODEL_PREFIX
from hashbench.deployment.bundle import bundled
from hashbench.deployment.description import WEIGHTS
from hashbench.deployment.inputs import CONFIG
from hashbench.deployment.loading import Predictor
from hashbench.deployment.module_names import bound_names, check_closed
from hashbench.deployment.onnx_graph import TOLERANCE, texts_asked
from hashbench.deployment.text_side import VALUES, joined_parts, parts_of, side_values, texts_compared
from hashbench.deployment.writing import write_weights
from hashbench.models.embeddings.base import Batch, EmbeddingSpec
from hashbench.models.encoders.base import encoder_config
from hashbench.models.layers import init_weights
from hashbench.models.objectives.heads import ClassificationHead, LabelsHead, pool
from hashbench.models.text.base import shipped_source
from hashbench.results.rendering.rows import json_text
from hashbench.running.training.model import Model

OTHER_TASK = "fine-tuned in transformers"  # of a folder that was saved with a head of other labels
MODELING, TOKENIZATION, SENTENCES = "modeling_hashed.py", "tokenization_hashed.py", "sentence_hashed.py"
FLOOR = "5.2"  # of transformers
POOLING = {"mean": "mean_tokens", "max": "max_tokens", "first": "cls_token"}  # as sentence-transformers calls it
CODE = {
    "AutoConfig": "modeling_hashed.HashedConfig",
    "AutoModel": "modeling_hashed.HashedModel",
    "AutoModelForSequenceClassification": "modeling_hashed.HashedForSequenceClassification",
    "AutoTokenizer": ["tokenization_hashed.HashedTokenizer", None],
}


def write_library_files(predictor: Predictor, folder: Path) -> list[str]:
    """Writes code, configs and tables for both libraries to the folder; returns lines on what they cannot load.

    Nothing is written for sentence-transformers, and a line says so, where the head has a pooling that it lacks.
    Raises InputError where the model has no text side, or its code cannot be written without hashbench.
    """
    parts = parts_of(predictor)
    code, needed = joined_parts(parts, extra=("import torch\n", *TOKENIZER_IMPORTS))
    values = {"tokenizer": parts.tokenizer.entry, "coder": parts.coder.entry, "version": hashbench.__version__}
    read = (VALUES, *sorted(parts.files))
    values["files"] = json.dumps({f"{name.replace('.', '_')}_file": name for name in read})
    files: dict[str, bytes] = {
        TOKENIZATION: _template("tokenization.txt", values | {"parts": code, "imports": needed}).encode(),
        MODELING: _modeling(predictor).encode(),
        VALUES: side_values(parts),
        "tokenizer_config.json": _json(
            {"auto_map": {"AutoTokenizer": CODE["AutoTokenizer"]}, "tokenizer_class": "HashedTokenizer"}
        ),
        **parts.files,
    }
    lines = []
    pooling = predictor.spec.head.pooling
    if pooling in POOLING:
        files |= _for_sentences(predictor, _template("sentences.txt", values))
    else:
        lines.append(f"{folder}: not for sentence-transformers, whose poolings learn nothing (pooling: {pooling})")
    for name, content in files.items():
        if name.endswith(".py"):
            check_closed(content.decode(), name, predictor.config.name)
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    _extend_config(predictor, folder)
    _add_buffers(predictor, folder)
    return lines


def _for_sentences(predictor: Predictor, code: str) -> dict[str, bytes]:
    """The files of sentence-transformers by name, with the code of its first module."""
    return {
        SENTENCES: code.encode(),
        "modules.json": _json([
            {"idx": 0, "name": "0", "path": "", "type": "sentence_hashed.HashedSentences"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        ]),
        "config_sentence_transformers.json": _json({"similarity_fn_name": "cosine"}),
        "1_Pooling/config.json": _json(_pooling(predictor)),
    }  # fmt: skip


TOKENIZER_IMPORTS = (
    "from transformers import BatchEncoding, PreTrainedTokenizer\n", "import json\n", "import math\n",
    "import numpy as np\n", "import shutil\n", "from pathlib import Path\n",
)  # fmt: skip


def _modeling(predictor: Predictor) -> str:
    """The source of modeling_hashed.py: the model's classes and their wrappers for transformers."""
    encoder, chain = predictor.model.encoder, _chain(predictor.spec.embedding)
    around = ast.parse(_template("modeling.txt", {}).replace("<<", "").replace(">>", ""))
    reserved = [name for node in around.body for name in bound_names(node)]
    roots: list[Callable[..., Any]] = [
        Model,
        Batch,
        init_weights,
        ClassificationHead,
        LabelsHead,
        type(encoder),
        type(encoder.config),
        *(part.family for part in chain),
    ]
    bundle = bundled(roots, predictor.config.name, reserved)
    _, _, draw, head, labels, encoder_name, shape = bundle.names[: -len(chain)]
    embedding = ""
    for number, family in reversed([*enumerate(bundle.names[-len(chain) :])]):
        base = f"base={embedding}, " if embedding else ""
        arguments = f"**config.below[{number - 1}]" if number else "**config.embedding"
        embedding = f"{family}(config.hidden_size, {base}{arguments})"
    values = {"version": hashbench.__version__, "parts": bundle.source, "Embedding": embedding, "Task": OTHER_TASK}
    values |= {"Encoder": encoder_name, "Shape": shape, "Draw": draw, "Head": head, "Labels": labels}
    return _template("modeling.txt", values)


def _chain(embedding: EmbeddingSpec) -> list[EmbeddingSpec]:
    """An embedding, the one that it is built over, and so on."""
    return [embedding, *([] if embedding.base is None else _chain(embedding.base))]


def _extend_config(predictor: Predictor, folder: Path) -> None:
    """Adds the keys that transformers reads to config.json."""
    values = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    config, spec = predictor.config, predictor.spec
    width = predictor.model.encoder.text_width(config.n_texts)
    added = {
        "model_type": "hashed",
        "auto_map": {name: place for name, place in CODE.items() if name != "AutoTokenizer"},
        "architectures": ["HashedModel" if config.n_outputs is None else "HashedForSequenceClassification"],
        "embedding": config.spec["embedding_args"],
        "below": [part.args for part in _chain(spec.embedding)[1:]],
        "encoder": asdict(encoder_config(spec.encoder.kind, config.size, **spec.encoder.args)),
        "hidden_size": predictor.model.config.dim,
        "pooling": spec.head.pooling,
        "dense_head": spec.head.dense,
        "specials": len(spec.text.template.specials),
        "dtype": "float32",
        **({} if predictor.model.scales is None else {"scaled": True}),
        **({} if width == predictor.model.config.dim else {"head_size": width}),
    }
    if config.n_outputs is not None:  # else whoever adds a head names its labels
        labels = dict(enumerate(predictor.labels))
        added |= {"id2label": labels, "label2id": {label: i for i, label in labels.items()}}
    (folder / CONFIG).write_bytes(_json({**values, **added}))


def _add_buffers(predictor: Predictor, folder: Path) -> None:
    """Adds non-persistent buffers to the stored weights, since other libraries cannot rebuild those made by a coder."""
    tensors = load_file(folder / WEIGHTS)
    for name, buffer in predictor.model.named_buffers():
        tensors.setdefault(f"{MODEL_PREFIX}{name}", buffer.detach().clone().contiguous())
    write_weights(tensors, folder)


def _pooling(predictor: Predictor) -> dict[str, Any]:
    """The head's pooling as a pooling config of sentence-transformers."""
    chosen = POOLING[predictor.spec.head.pooling]
    modes = {f"pooling_mode_{mode}": mode == chosen for mode in POOLING.values()}
    width = predictor.model.encoder.text_width(predictor.config.n_texts)
    return {"word_embedding_dimension": width, **modes}


def _template(name: str, values: dict[str, str]) -> str:
    text = shipped_source(name)
    for key, value in values.items():
        text = text.replace(f"<<{key}>>", value)
    return text


def _json(value: object) -> bytes:
    return json_text(value).encode()


N_TEXTS = 200  # that are compared: those by hand, and some of many scripts
LEAST_SCALE = 0.1  # the outputs' size that a tolerance is a share of, where they are smaller
LIBRARIES = ("transformers", "sentence-transformers")
SCRIPT = """
import json, pathlib, sys
import numpy as np
sys.modules["hashbench"] = None
import torch
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer

def by_transformers(folder, columns, has_head):
    options = {"trust_remote_code": True, "local_files_only": True}
    tokenizer = AutoTokenizer.from_pretrained(folder, **options)
    inner = AutoModel.from_pretrained(folder, **options).eval()
    whole = AutoModelForSequenceClassification.from_pretrained(folder, **options).eval() if has_head else None
    outputs = []
    for start in range(0, len(columns[0]), 32):
        inputs = tokenizer(*(column[start : start + 32] for column in columns), return_tensors="pt")
        states, mask = inner.states(**inputs)
        if has_head and not torch.allclose(states, whole.model(**inputs).last_hidden_state, atol=1e-5):
            raise ValueError("AutoModel has other states than the model with its head")
        share = mask.to(states.dtype) / mask.sum(1, keepdim=True)
        outputs.append(whole(**inputs).logits if has_head else (states * share[..., None]).sum(1))
    return torch.cat(outputs).numpy()

def by_sentence_transformers(folder, columns, has_head):
    from sentence_transformers import SentenceTransformer
    return SentenceTransformer(folder, trust_remote_code=True, device="cpu", local_files_only=True).encode(columns[0])

for asked in json.loads(pathlib.Path(sys.argv[1]).read_text()):
    reasons, place = {}, pathlib.Path(asked["answers"])
    for library, make in (("transformers", by_transformers), ("sentence-transformers", by_sentence_transformers)):
        try:
            if library in asked["libraries"]:
                with torch.inference_mode():
                    np.save(place / f"{library}.npy", make(asked["folder"], asked["columns"], asked["has_head"]))
        except Exception as error:
            reasons[library] = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"
    (place / "reasons.json").write_text(json.dumps(reasons))
"""


@dataclass(frozen=True)
class LoadedElsewhere:
    """The result of loading a folder in another process, by library: the largest difference of outputs, or why not."""

    differences: dict[str, float]
    reasons: dict[str, str]


def refuse_missing() -> None:
    """Raises InputError unless a `transformers` is installed that can load what is written for it."""
    version = _version("transformers")
    if version is None:
        why = "transformers is not installed, and the folder is tried with it"
    elif _numbers(version) < _numbers(FLOOR):
        why = f"transformers {version} is older than {FLOOR}, the first that loads the folder"
    else:
        return
    raise InputError(f"export --transformers: {why}; run: {install('transformers', '-U')}")


def checked_line(predictor: Predictor, folder: Path) -> str:
    """A line that says how the folder is loaded, after another process did and got hashbench's own outputs.

    Raises InputError where it cannot, or gets others.
    """
    loaded = loaded_elsewhere([(predictor, folder)])[0]
    for library, reason in loaded.reasons.items():
        raise InputError(
            f"{predictor.config.name}: not exported: {library} cannot load what was written: {reason}; "
            "leave --transformers out, or report it"
        )
    libraries = [f"{name} {_version(name)}" for name in loaded.differences]
    furthest = max(loaded.differences.values())
    line = f"{folder}: transformers {FLOOR} and newer load it by AutoModel, with trust_remote_code=True"
    return f"{line}; {' and '.join(libraries)} did, with outputs within {furthest:.1e} of hashbench's"


def loaded_elsewhere(
    exported: Sequence[tuple[Predictor, Path]], n_texts: int = N_TEXTS, libraries: Sequence[str] = LIBRARIES
) -> list[LoadedElsewhere]:
    """The results of one new process that loads folders with the files of both libraries, in their order."""
    with TemporaryDirectory() as scratch:
        place, expected, questions = Path(scratch), [], []
        for number, (predictor, folder) in enumerate(exported):
            answers = place / str(number)
            answers.mkdir()
            columns, of_library = _expected(predictor, folder, n_texts)
            of_library = {library: outputs for library, outputs in of_library.items() if library in libraries}
            expected.append(of_library)
            questions.append({
                "folder": str(folder.absolute()), "answers": str(answers), "columns": columns,
                "libraries": list(of_library), "has_head": predictor.head is not None,
            })  # fmt: skip
        (place / "asked.json").write_text(json.dumps(questions), encoding="utf-8")
        home = {"HF_HOME": str(place / "hub"), "HF_MODULES_CACHE": str(place / "modules"), "HF_HUB_OFFLINE": "1"}
        done = subprocess.run(
            [sys.executable, "-P", "-c", SCRIPT, str(place / "asked.json")], cwd=place, env={**os.environ, **home},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        ended = f"the process ended with {done.returncode}: {(done.stderr.strip().splitlines() or [''])[-1]}"
        return [_compared(place / str(number), outputs, ended) for number, outputs in enumerate(expected)]


def _expected(predictor: Predictor, folder: Path, n_texts: int) -> tuple[list[list[str]], dict[str, np.ndarray]]:
    """(texts as columns, hashbench's outputs by the libraries that are to give them)."""
    texts = texts_compared(predictor)[:n_texts]
    columns, of_library = [texts], {}
    if predictor.head is None:
        of_library[LIBRARIES[0]] = _mean_states(predictor, texts)
    else:
        columns, of_library[LIBRARIES[0]] = texts_asked(predictor, texts)
    if (folder / "modules.json").exists() and _version(LIBRARIES[1]) is not None and not predictor.config.is_pair:
        of_library[LIBRARIES[1]] = predictor.embed(texts)
    return columns, of_library


def _mean_states(predictor: Predictor, texts: Sequence[str]) -> np.ndarray:
    """The mean state of each text's tokens (n, d)."""
    means = np.empty((len(texts), predictor.model.config.dim), np.float32)
    with torch.inference_mode():
        for batch in predictor.batches([texts]):
            assert batch.row_ids is not None
            states = pool(predictor.model(batch), predictor.model.states_mask(batch), "mean")
            means[batch.row_ids.numpy()] = states.numpy()
    return means


def _compared(answers: Path, expected: Mapping[str, np.ndarray], ended: str) -> LoadedElsewhere:
    """The answers of the other process beside hashbench's outputs, arrays (n, ...) by library."""
    written = answers / "reasons.json"
    reasons = json.loads(written.read_text()) if written.exists() else dict.fromkeys(expected, ended)
    differences = {}
    for library, wanted in expected.items():
        if library in reasons:
            continue
        outputs = np.load(answers / f"{library}.npy")
        if outputs.shape != wanted.shape:
            reasons[library] = f"outputs have the shape {outputs.shape}, hashbench's {wanted.shape}"
            continue
        differences[library] = float(np.abs(outputs - wanted).max())
        most = TOLERANCE * max(LEAST_SCALE, float(np.abs(wanted).max()))
        if not differences[library] <= most:
            reasons[library] = f"outputs are {differences[library]:.1e} from hashbench's, more than {most:.1e}"
    return LoadedElsewhere(differences, reasons)


def _version(package: str) -> str | None:
    """The installed version of a package; None where it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    """The first two numbers of a version, by which versions are ordered.

    >>> _numbers("5.23.0rc1"), _numbers("5.2")
    ((5, 23), (5, 2))
    """
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])
