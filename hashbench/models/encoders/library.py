"""Any encoder of the `transformers` library, from the vectors of tokens on; the library's own code runs.

The table of tokens is the embedding's (`LibraryTable`), or another embedding's of the suite: without `library` the
encoder is the library's BERT in the shape of a size. A pooler is left to the head, whose dense layer starts from it.
"""

from __future__ import annotations

import copy
import importlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError, first_line
from hashbench.models.embeddings.base import Published
from hashbench.models.embeddings.library import tensor_at
from hashbench.models.encoders.base import Architecture, Encoder, check_shape
from hashbench.models.encoders.transformer import SHAPES, without_padding
from hashbench.models.text.library import library

BERT = {"model_type": "bert"}
# hashbench's name -> names in configs of the library; the first one that a config has counts.
CONFIG_NAMES = {
    "layers": ("num_hidden_layers",),
    "heads": ("num_attention_heads",),
    "dim": ("hidden_size",),
    "feed_forward": ("intermediate_size", "hidden_dim"),
    "dropout": ("hidden_dropout_prob", "dropout"),
}
# Keys of a config.json that do not describe the shape.
NO_SHAPE = {"_name_or_path", "transformers_version", "torch_dtype", "dtype", "architectures"}
# Keys of a config.json that name code to run or to fetch, other files, or how numbers are computed.
NOT_TAKEN = {"auto_map", "attn_implementation", "_attn_implementation", "experts_implementation", "quantization_config"}
AUTO = "transformers.models.auto.modeling_auto"
ENCODER_REMEDY = "take an encoder of text, as BERT, DistilBERT, RoBERTa or ELECTRA are"
TOLERANCE = 1e-3  # of states that LayerNorm has made, about 1 each
PROBE = (2, 6)  # rows and tokens


@dataclass(frozen=True)
class LibraryConfig:
    """The shape of an encoder of `transformers`: a config.json, and the values read from it or replaced in it."""

    layers: int
    heads: int
    dim: int
    feed_forward: int
    dropout: float = 0.1  # in the layers, and of the head
    library: Mapping[str, Any] = field(default_factory=lambda: BERT)

    def __post_init__(self) -> None:
        check_shape(self, "layers", "heads", "dim", "feed_forward", shares=("dropout",))
        if not isinstance(self.library, Mapping):
            raise InputError(f"encoder: library must be the keys of a config.json, not {self.library!r}; leave it out")

    @cached_property
    def of_library(self) -> Any:
        """The library's config object, with this shape's values."""
        config = library_config(self.library)
        own_values = asdict(self)
        changed = {
            next(name for name in CONFIG_NAMES[key] if hasattr(config, name)): own_values[key]
            for key, value in shape_of(config).items()
            if own_values[key] != value and any(hasattr(config, name) for name in CONFIG_NAMES[key])
        }
        return library_config({**self.library, **changed}) if changed else config

    @property
    def eps(self) -> float:
        """The epsilon of the LayerNorms."""
        return float(getattr(self.of_library, "layer_norm_eps", 1e-12))


def library_config(values: Mapping[str, Any]) -> Any:
    """The library's config object of a config.json's values. Raises InputError for one that it does not know."""
    package = library()
    kind = values.get("model_type")
    invalid = importlib.import_module("huggingface_hub.errors").StrictDataclassError
    kept = {key: value for key, value in values.items() if key not in NO_SHAPE | NOT_TAKEN | {"model_type"}}
    try:
        return package.AutoConfig.for_model(str(kind), **kept)
    except (ValueError, KeyError, TypeError, AttributeError, ImportError, invalid) as error:
        version, reason = package.__version__, " ".join(str(error).split())[:120]
        raise InputError(
            f"config.json: transformers {version} knows no such model (model_type {kind}: {reason}); take another"
        ) from error


def shape_of(config: Any) -> dict[str, Any]:
    """The values of CONFIG_NAMES in a config of the library.

    A config without a feed-forward width has four times the model's width.
    """
    values = {
        key: next((getattr(config, name) for name in names if getattr(config, name, None) is not None), None)
        for key, names in CONFIG_NAMES.items()
    }
    standard = {"layers": 1, "heads": 1, "feed_forward": 4 * (values["dim"] or 1), "dropout": 0.1}
    return {key: standard.get(key) if value is None else value for key, value in values.items()}


def encoder_of(config: Any) -> Any:
    """The library's model of a config, on the meta device.

    Raises InputError for a decoder, for both in one, and for what reads no tokens or takes no vectors for them.
    """
    check_reads_text(config)
    kind = config.model_type
    with torch.device("meta"):
        model = base_model(config)
    takes = inspect.signature(model.forward).parameters
    if table_of(model) is None or not {"inputs_embeds", "attention_mask"} <= set(takes):
        raise InputError(f"{kind} takes no vectors of tokens with a mask, or has no table of them; {ENCODER_REMEDY}")
    return model


def check_reads_text(config: Any) -> None:
    """Raises InputError for the library's config of a decoder, of both in one, and of what reads no tokens."""
    auto, kind = importlib.import_module(AUTO), config.model_type
    masked, causal = auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES, auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    has_masked_form = kind in masked or kind in auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES
    if config.is_encoder_decoder:
        raise InputError(f"{kind} is an encoder with a decoder; {ENCODER_REMEDY}")
    if getattr(config, "is_decoder", False) or kind in causal and kind not in masked:
        raise InputError(f"{kind} is a decoder, whose tokens see none behind them; {ENCODER_REMEDY}")
    if not has_masked_form or type(config) not in library().MODEL_MAPPING:
        raise InputError(f"{kind} is no encoder of text; {ENCODER_REMEDY}")


def base_model(config: Any) -> Any:
    """The library's model without a head, freshly drawn, in float32. Raises InputError where it cannot be made."""
    try:
        return library().AutoModel.from_config(config, dtype=torch.float32)
    except (ValueError, KeyError, TypeError, AttributeError, ImportError, RuntimeError) as error:
        raise InputError(
            f"{config.model_type}: transformers makes no model of it ({first_line(error)[:160]})"
        ) from error


def table_of(model: Any) -> tuple[str, nn.Embedding] | None:
    """The table of tokens of a model, and its path in it; None where its tokens are no rows of one table."""
    try:
        table = model.get_input_embeddings()
    except NotImplementedError:
        return None
    paths = [path for path, part in model.named_modules() if part is table]
    return (paths[0], table) if isinstance(table, nn.Embedding) and paths else None


def pooler_path(config: Any) -> str | None:
    """The path in the base model of the dense tanh layer that its classifier reads; None where there is none."""
    classes = library().MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING
    if type(config) not in classes:
        return None
    with torch.device("meta"):
        classifier = library().AutoModelForSequenceClassification.from_config(config, dtype=torch.float32)
    base = getattr(classifier, classifier.base_model_prefix, None)
    pooler = getattr(base, "pooler", None)
    inner = getattr(pooler, "dense", None)
    if isinstance(pooler, nn.Linear) and isinstance(getattr(base, "pooler_activation", None), nn.Tanh):
        return "pooler"
    has_tanh = isinstance(getattr(pooler, "activation", None), nn.Tanh)
    return "pooler.dense" if isinstance(inner, nn.Linear) and has_tanh else None


def bare(model: Any) -> Any:
    """`model` itself, after its table of tokens and its pooler were removed."""
    model.set_input_embeddings(nn.Identity())
    if hasattr(model, "pooler"):
        model.pooler = None
    return model


class LibraryEncoder(Encoder):
    """Token vectors to token states, by a model of `transformers`."""

    config: LibraryConfig

    def __init__(self, config: LibraryConfig) -> None:
        super().__init__()
        self.config = config
        small = copy.deepcopy(config.of_library)
        check_reads_text(small)  # others may fetch parts by names in their config
        small.vocab_size = (small.pad_token_id or 0) + 1  # a table that goes at once
        self.library = bare(base_model(small))
        self.takes_segments = "token_type_ids" in inspect.signature(self.library.forward).parameters

    @property
    def max_length(self) -> int | None:
        """The longest sequence that has positions; positions that RoBERTa never uses are not counted."""
        if (vectors := self.position_vectors()) is not None:
            return len(vectors)
        longest: int | None = getattr(self.config.of_library, "max_position_embeddings", None)
        return longest

    def position_vectors(self) -> Tensor | None:
        """The rows (P, w) of the library's table of positions that are in use; None where it has no such table."""
        for path, part in self.library.named_modules():
            if path.rpartition(".")[2] == "position_embeddings" and isinstance(part, nn.Embedding):
                return part.weight[0 if part.padding_idx is None else part.padding_idx + 1 :]
        return None

    @property
    def segment_rows(self) -> int | None:
        """Rows of the segment table; None where there is none."""
        return (getattr(self.config.of_library, "type_vocab_size", None) or None) if self.takes_segments else None

    def forward(self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None = None) -> Tensor:
        """Vectors (B, L, w), mask (B, L) True on tokens or None without padding, segments (B, L) -> (B, L, d)."""
        inputs: dict[str, Tensor] = {"inputs_embeds": vectors}
        mask = without_padding(mask)
        if mask is not None:
            inputs["attention_mask"] = mask.long()
        if segments is not None and self.takes_segments:
            inputs["token_type_ids"] = segments
        states: Tensor = self.library(**inputs, return_dict=True).last_hidden_state
        return states

    def check_published(self, config: Mapping[str, Any], where: str) -> None:
        """Raises InputError where a published model has another shape."""
        shape, own_shape = shape_of(library_config(config)), asdict(self.config)
        for key, value in shape.items():
            if key != "dropout" and own_shape[key] != value:
                here = own_shape[key]
                raise InputError(f"{where}: {key} is {value} there, {here} here; leave it out, or take others")

    def from_published(self, model: Published) -> dict[str, Tensor]:
        """The library model's published state. Raises InputError unless ids and their vectors give equal states."""
        self.check_published(model.config, model.where)
        whole = read_whole(model, self.config.of_library)
        path = table_of(whole)
        assert path is not None  # checked before the model was resolved
        ids, mask = _probe(path[1].num_embeddings, self.config.of_library.pad_token_id)
        with torch.inference_mode():
            expected = whole(input_ids=ids, attention_mask=mask, return_dict=True).last_hidden_state
            vectors = nn.functional.embedding(ids, path[1].weight)  # (2, 6, w)
            states = bare(whole)(inputs_embeds=vectors, attention_mask=mask, return_dict=True).last_hidden_state
        if not torch.allclose(expected[mask.bool()], states[mask.bool()], atol=TOLERANCE, rtol=TOLERANCE):
            kind = self.config.of_library.model_type
            raise InputError(
                f"{model.where}: {kind} makes more of token ids than of their vectors; take another encoder"
            )
        return {f"library.{name}": tensor for name, tensor in whole.state_dict().items()}

    def dense_from_published(self, model: Published) -> dict[str, Tensor] | None:
        """The pooler that the library's own classifier starts from, (d, d) and (d,); None without one."""
        path = pooler_path(self.config.of_library)
        if path is None:
            return None
        tensors = {kind: tensor_at(model, f"{path}.{kind}") for kind in ("weight", "bias")}
        dense = {kind: tensor for kind, tensor in tensors.items() if tensor is not None}
        return {kind: tensor.float() for kind, tensor in dense.items()} if len(dense) == len(tensors) else None


def read_whole(model: Published, config: Any) -> Any:
    """The library's base model with published weights. Raises InputError where some are missing or of another shape."""
    kind = library().MODEL_MAPPING[type(config)]
    try:
        whole, report = kind.from_pretrained(
            None, config=config, state_dict=dict(model.tensors), output_loading_info=True, dtype=torch.float32
        )
    except RuntimeError as error:
        raise InputError(f"{model.where}: tensors have other shapes than config.json says; name others") from error
    missing = sorted(name for name in report["missing_keys"] if not name.startswith("pooler."))
    if missing:
        absent = f"no tensor {missing[0]!r} among {len(model.tensors)}"
        raise InputError(f"{model.where}: {absent}; these are no weights of this model, name others")
    return whole.eval()


def _probe(rows: int, pad: int | None) -> tuple[Tensor, Tensor]:
    """Token ids of shape (2, 6) and their mask; where there is a padding id, the second row ends with two of it."""
    tokens: Sequence[int] = [i for i in range(rows) if i != pad]
    ids = torch.tensor([tokens[i % len(tokens)] for i in range(PROBE[0] * PROBE[1])]).view(PROBE)
    mask = torch.ones(PROBE, dtype=torch.int64)
    if pad is not None:
        ids[1, -2:], mask[1, -2:] = pad, 0
    return ids, mask


SIZES = {size: LibraryConfig(**shape) for size, shape in SHAPES.items()}
ARCHITECTURES = {"transformers": Architecture(LibraryEncoder, SIZES)}
