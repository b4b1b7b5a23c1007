"""Prerequisites of a run: tokenizer, corpus, coder and task data, made once and kept while the worker lives."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hashbench.common.cache import mark
from hashbench.common.errors import InputError, located
from hashbench.common.shared import SharedFolder, make_once
from hashbench.data.corpora.corpus import Corpus
from hashbench.data.corpora.preparing import (
    TRAINING_CHARACTERS,
    LearnedTexts,
    ShardWorkers,
    corpus_texts,
    learn_vocabulary,
    prepare,
)
from hashbench.data.sources.documents import CorpusSource
from hashbench.data.sources.hub import SHORT_COMMIT
from hashbench.data.sources.sources import locate_corpus, open_sources
from hashbench.data.tasks.base import LocatedTask
from hashbench.data.tasks.catalogue import locate_task
from hashbench.data.tasks.items import LinkSet, item_kind
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.coders.base import Coder, make_coder
from hashbench.models.coders.bloom import Bloom
from hashbench.models.coders.rows import Vocabulary
from hashbench.models.coders.signature import PREDICTED_BUCKETS, PREDICTED_HASHES, Signature
from hashbench.models.embeddings.base import ModelSpec
from hashbench.models.objectives.base import objective_of, pretrains
from hashbench.models.text.base import CORPUS, Tokenizer, make_tokenizer
from hashbench.models.text.types import TypeTable
from hashbench.models.text.words import WordTokenizer
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.resolved import needs_corpus, read_without_corpus
from hashbench.running.experiment.sizing import check_learned_rows
from hashbench.running.runs.perturbed import PerturbedTask, TextPairs, for_training, perturb_task
from hashbench.running.training.model import Model, build_model
from hashbench.running.training.spread import batch_of_words, begin


@dataclass(frozen=True)
class Texts:
    """How a model reads text: its tokenizer, its fitted coder, and the corpus both were fitted on."""

    tokenizer: Tokenizer
    coder: Coder
    corpus: Corpus | None
    # What an objective of types predicts, where codes are no rows.
    outputs: Coder | None = None
    streamed: tuple[CorpusSource, ...] = ()  # corpora that a training reads as they are

    @property
    def vocabulary_rows(self) -> int | None:
        """Rows of the embedding table for a vocabulary found in the data; None where the model's spec fixes them."""
        return self.coder.num_rows if self.outputs is None else self.outputs.num_rows or self.coder.num_rows

    def corpora_read(self) -> list[str]:
        """Names of the corpora that were read, with repository, commit, licence and size if they are from the hub."""
        parts = self.corpus.manifest["corpora"] if self.corpus else []
        read = [(part["name"], part["origin"], part["revision"], part.get("about"), "") for part in parts]
        read += [(of.name, of.origin, of.revision, of.facts, ", streamed") for of in self.streamed]
        return [
            name + (f" ({origin}@{at[:SHORT_COMMIT]})" if at else "") + (f" [{about}]" if about else "") + how
            for name, origin, at, about, how in read
        ]

    def build(self, spec: ModelSpec, size: str, *, seed: int) -> Model:
        """A model for this coder with freshly drawn weights, and a table row for each string of its vocabulary."""
        strings = self.coder.strings()
        named = None if strings is None else [*spec.text.template.specials, *strings]
        model = build_model(spec, size, seed=seed, vocabulary_rows=self.vocabulary_rows, row_strings=named)
        if spec.initial_spread is not None:
            with located(f"model '{spec.name}'"):
                words = batch_of_words(self.tokenizer.tokenize, self.coder, spec.text.template)
                begin(model, words, spec.initial_spread)
        return model


class Materials:
    """Tokenizers, corpora, coders and task data for the runs of one worker, made when first needed and kept."""

    def __init__(
        self,
        sources: Sequence[str],
        cache: Path,
        tasks: Iterable[LocatedTask] = (),
        shared: SharedFolder | None = None,
        *,
        corpora: Mapping[str, CorpusSource] | None = None,
        pairs: Mapping[str, LocatedTask] | None = None,
        workers: ShardWorkers | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        """`sources`: "hub", "builtin" or absolute folders; `tasks`: those whose data will be read; `shared`: where
        corpora and fitted coders are shared with other machines; `corpora`: those whose words count as seen, by name or
        path; `pairs`: of `robustness`, by task; `workers`: where corpora are tokenized, None: here; `progress`: gets
        lines on how far a corpus is."""
        self._sources = open_sources(sources)
        self._tasks = {task.task.name: task for task in tasks}
        self._pairs = dict(pairs or {})
        self._named = {corpus.fingerprint: name for name, corpus in (corpora or {}).items()}
        mark(cache)
        self.cache, self._shared, self._workers, self._progress = cache, shared, workers, progress
        self._texts: dict[str, Texts] = {}
        self._data: dict[str, Any] = {}
        self._perturbed: dict[str, PerturbedTask] = {}

    def data(self, name: str) -> Any:
        """The data of a task of any kind; only the last one is kept, since runs come task by task."""
        if name not in self._data:
            self._data = {name: self._tasks[name].load()}
        return self._data[name]

    def task_data(self, name: str) -> TaskData:
        """The data of a task of texts."""
        data = self.data(name)
        assert isinstance(data, TaskData)  # the plan has paired it
        return data

    def links(self, name: str) -> LinkSet:
        """The data of a task of items: a page-link set, or a corpus read as items."""
        data = self.data(name)
        assert isinstance(data, LinkSet)  # the plan has paired it
        return data

    def perturbed(self, name: str, robustness: Mapping[str, Any], words: Mapping[str, Any] | None) -> PerturbedTask:
        """The reporting sets of a task under perturbations, the same for every model; only the last one is kept."""
        key = json.dumps([name, robustness, words], sort_keys=True)
        if key not in self._perturbed:
            types = None if words is None else self.seen_types(words)
            pairs = self._read_pairs(name, robustness["pairs"]) if "pairs" in robustness else None
            self._perturbed = {key: perturb_task(self.task_data(name), robustness, types, pairs)}
        return self._perturbed[key]

    def _read_pairs(self, name: str, fingerprint: str) -> TaskData:
        """The pairs of a task. Raises InputError where they are not those of the plan."""
        pairs = self._pairs[name]
        assert isinstance(pairs, TextPairs)  # the plan has made them
        read = for_training(pairs, self.task_data(name)).load()
        if read.fingerprint != fingerprint:
            raise InputError(f"{pairs.texts.table.where}: was changed after the sweep began; start the sweep again")
        return read

    def seen_types(self, words: Mapping[str, Any]) -> TypeTable:
        """The words of the experiment's corpora with their counts, whatever the tokenizers of its models are.

        Raises InputError for a corpus that was not given to the constructor.
        """
        for corpus in words["corpora"]:
            if corpus["fingerprint"] not in self._named:
                raise InputError(f"corpus {corpus['name']}: not the one of the plan; start the sweep again")
        names = [self._named[corpus["fingerprint"]] for corpus in words["corpora"]]
        options = {key: words[key] for key in ("max_documents", "first_chunk_only")}
        folder = self.cache / "corpora"
        return prepare(names, self._sources, WordTokenizer(), folder, shared=self._shared, **options).types

    def bloom(self, model: ResolvedModel, links: LinkSet) -> Bloom:
        """The Bloom coder of a model, fitted on the items of a task."""
        coder = make_coder(model.spec.code.coder, **model.spec.code.args)
        assert isinstance(coder, Bloom)  # the plan has checked
        identity = [coder.recipe(), links.training_fingerprint]
        pages = links.links_of("train") if item_kind(links.task).coherent_maps else None
        fit_once(coder, identity, lambda: coder.fit_links(links.items, pages), self.cache / "coders", self._shared)
        return coder

    def texts(self, model: ResolvedModel) -> Texts:
        """Tokenizer, fitted coder and corpus of a model; what the cache does not have is prepared first."""
        spec, pretrain = model.spec, model.pretrain
        text, code, trained = spec.text, spec.code, (spec.training.objective, spec.training.weights)
        key = json.dumps(
            [text.tokenizer, text.args, code.coder, code.args, *trained, pretrain.model_dump()],
            sort_keys=True,
            default=str,
        )
        if key not in self._texts:
            self._texts[key] = self._make_texts(model)
        return self._texts[key]

    def _make_texts(self, model: ResolvedModel) -> Texts:
        spec = model.spec
        tokenizer = make_tokenizer(spec.text.tokenizer, **spec.text.args)
        learned = self._learn_vocabulary(model, tokenizer) if model.learned_on else ""
        reads_corpora = needs_corpus(spec)
        # The plan has checked that nothing is learned from the corpora before they are streamed.
        if not reads_corpora or model.pretrain.streaming:
            located = [locate_corpus(name, self._sources) for name in model.pretrain.corpora if reads_corpora]
            tokenizer, coder = read_without_corpus(spec, tokenizer)
            check_rows(spec, coder)
            return Texts(tokenizer, coder, None, predicted(spec, coder), tuple(located))
        coder = make_coder(spec.code.coder, **spec.code.args)
        corpus = prepare(
            model.pretrain.corpora,
            self._sources,
            tokenizer,
            self.cache / "corpora",
            max_documents=model.pretrain.max_documents,
            vocabulary_size=model.pretrain.vocabulary_size,
            first_chunk_only=model.pretrain.first_chunk_only,
            learned=learned,
            # A vocabulary alone is learned from documents; rows are for a pre-training.
            words_per_row=model.pretrain.words_per_row if pretrains(spec) else None,
            progress=self._progress,
            shared=self._shared,
            workers=self._workers,
        )
        outputs = predicted(spec, coder)
        for fitted in (coder, outputs):
            if fitted is not None and not fitted.fit_pieces(corpus.tokenizer.pieces) and fitted.needs_fit:
                identity = [fitted.recipe(), corpus.types.fingerprint]
                fit_once(fitted, identity, partial(fitted.fit, corpus.types), self.cache / "coders", self._shared)
        check_rows(spec, coder)
        return Texts(corpus.tokenizer, coder, corpus, outputs)

    def _learn_vocabulary(self, model: ResolvedModel, tokenizer: Tokenizer) -> str:
        """Loads the vocabulary that is learned on training texts of tasks, and perhaps on corpora; returns its key."""
        recipe = model.pretrain
        names = recipe.corpora if CORPUS in tokenizer.learn_on else ()
        parts = []
        for corpus in (locate_corpus(name, self._sources) for name in names):
            cuts = recipe.first_chunk_only and not corpus.packed
            parts.append(corpus_texts(corpus, recipe.max_documents, articles=cuts, of=len(names)))
        most = TRAINING_CHARACTERS // len(model.learned_on)
        for task in (locate_task(task, self._sources) for task in model.learned_on):
            parts.append(LearnedTexts(task.fingerprint, partial(training_texts, task), most))
        return learn_vocabulary(
            tokenizer, recipe.vocabulary_size, parts, self.cache / "vocabularies", progress=self._progress,
            shared=self._shared,
        )  # fmt: skip


def predicted(spec: ModelSpec, coder: Coder) -> Coder | None:
    """The coder whose codes a model's objective predicts of types; None: its own, or no types are predicted."""
    objective = objective_of(spec)
    if objective is not None and objective.targets == "signatures":
        return Signature(PREDICTED_BUCKETS, PREDICTED_HASHES)
    is_row = coder.width == 1
    return None if objective is None or objective.targets is None or is_row else Vocabulary()


def training_texts(task: LocatedTask) -> Iterator[str]:
    """The texts of the rows that models of a task are trained on, and of no others; of pairs the first ones first."""
    data = task.load()
    assert isinstance(data, TaskData)  # the experiment has refused others
    for column in data.splits["train"].texts:
        yield from column


def check_rows(spec: ModelSpec, coder: Coder) -> None:
    """Raises InputError where the vocabulary that texts gave is too small for the model's budget."""
    if coder.num_rows is not None:
        check_learned_rows(spec, coder.num_rows)


def fit_once(
    coder: Coder, identity: object, fit: Callable[[], None], folder: Path, shared: SharedFolder | None = None
) -> None:
    """Fits a coder, or restores the state that an earlier fit with this identity left in `folder`."""
    text = json.dumps(identity, sort_keys=True)
    path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.npz"

    def build(part: Path) -> None:
        fit()
        with part.open("wb") as file:
            # mypy mistakes the arrays for allow_pickle.
            np.savez(file, **coder.state())  # type: ignore[arg-type]

    with np.load(make_once(path, build, shared=shared)) as state:
        coder.restore(dict(state))
