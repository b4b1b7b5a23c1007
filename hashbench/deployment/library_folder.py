"""Files with which `transformers` and `sentence-transformers` load an exported folder, with trust_remote_code.

Three files of code without hashbench are written: modeling_hashed.py, the classes of the model as they are here,
tokenization_hashed.py, the generated text side as a tokenizer of `transformers`, and sentence_hashed.py for
sentence-transformers. Weights stay those of the folder, with the buffers that a coder made. From transformers 5.2 on;
earlier 5.x ignored a tokenizer's auto_map.
"""

from __future__ import annotations

import ast
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from safetensors.torch import load_file

import hashbench
from hashbench.deployment.bundle import bound_names, bundled, check_closed
from hashbench.deployment.description import MODEL_PREFIX, WEIGHTS
from hashbench.deployment.inputs import CONFIG
from hashbench.deployment.loading import Predictor
from hashbench.deployment.text_side import VALUES, joined_parts, parts_of, side_values
from hashbench.deployment.writing import write_weights
from hashbench.models.embeddings.base import Batch, EmbeddingSpec
from hashbench.models.encoders.base import encoder_config
from hashbench.models.objectives.heads import ClassificationHead
from hashbench.models.text.base import shipped_source
from hashbench.results.rendering.rows import json_text
from hashbench.running.training.model import Model

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
    values["files"] = json.dumps({_field(name): name for name in (VALUES, *sorted(parts.files))})
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
    roots = [Model, Batch, ClassificationHead, type(encoder), type(encoder.config), *(part.family for part in chain)]
    bundle = bundled(roots, predictor.config.name, reserved)
    *_, encoder_name, shape_name = bundle.names[: -len(chain)]
    embedding = ""
    for number, family in reversed([*enumerate(bundle.names[-len(chain) :])]):
        base = f"base={embedding}, " if embedding else ""
        arguments = f"**config.below[{number - 1}]" if number else "**config.embedding"
        embedding = f"{family}(config.hidden_size, {base}{arguments})"
    values = {"version": hashbench.__version__, "parts": bundle.source, "Embedding": embedding}
    return _template("modeling.txt", {**values, "Encoder": encoder_name, "Shape": shape_name})


def _chain(embedding: EmbeddingSpec) -> list[EmbeddingSpec]:
    """An embedding, the one that it is built over, and so on."""
    return [embedding, *([] if embedding.base is None else _chain(embedding.base))]


def _extend_config(predictor: Predictor, folder: Path) -> None:
    """Adds the keys that transformers reads to config.json."""
    values = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    config, spec = predictor.config, predictor.spec
    labels, width = dict(enumerate(predictor.labels)), predictor.model.encoder.text_width(config.n_texts)
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
        "id2label": labels,
        "label2id": {label: i for i, label in labels.items()},
        "dtype": "float32",
        **({} if predictor.model.scales is None else {"scaled": True}),
        **({} if width == predictor.model.config.dim else {"head_size": width}),
    }
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


def _field(file: str) -> str:
    return file.replace(".", "_") + "_file"


def _template(name: str, values: dict[str, str]) -> str:
    text = shipped_source(name)
    for key, value in values.items():
        text = text.replace(f"<<{key}>>", value)
    return text


def _json(value: object) -> bytes:
    return json_text(value).encode()
