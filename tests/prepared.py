"""What a small model reads, made of generated texts."""

from dataclasses import dataclass, replace
from pathlib import Path

from hashbench.data.corpora.corpus import Corpus
from hashbench.data.corpora.preparing import prepare
from hashbench.data.corpora.pretraining_data import PretrainingData
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import find_task, load_task
from hashbench.data.tasks.text_batches import FinetuningData
from hashbench.models.coders.base import Coder, make_coder, type_codes
from hashbench.models.embeddings.base import ModelSpec
from hashbench.models.embeddings.registry import find_model
from hashbench.models.objectives.base import objective_of
from hashbench.models.text.base import make_tokenizer


@dataclass
class Prepared:
    """What a model reads: its corpus and coder, in a folder of the test session."""

    spec: ModelSpec
    corpus: Corpus
    coder: Coder
    folder: Path

    @property
    def rows(self) -> int | None:
        return self.coder.num_rows

    def pretraining(self, **changes) -> PretrainingData:
        settings = {"batch_size": 8, "sequence_length": 16, "seed": 0} | changes
        return PretrainingData(
            self.corpus,
            type_codes(self.coder, self.corpus.types, self.folder / "codes"),
            objective=objective_of(self.spec),
            template=self.spec.text.template,
            **settings,
        )

    def finetuning(self, task: str, rows: int = 60, **changes) -> FinetuningData:
        data = load_task(find_task(task), open_sources("builtin"))
        few = {name: split.take(range(min(rows, len(split)))) for name, split in data.splits.items()}
        few_data = replace(data, splits=few, fingerprint=f"{data.fingerprint}-{rows}")
        settings = {"batch_size": 8, "max_length": 32, "seed": 0} | changes
        return FinetuningData(
            few_data,
            self.corpus.tokenizer,
            self.coder,
            template=self.spec.text.template,
            folder=self.folder,
            **settings,
        )


def prepare_model(folder: Path, name: str, words_per_row: int | None = None) -> Prepared:
    """A model of this name with a small encoder, and a corpus of 40 documents in the folder."""
    spec = find_model(name).small()
    spec = spec.with_args(encoder={"layers": 1, "heads": 2, "dim": 16, "feed_forward": 32})
    tokenizer = make_tokenizer(spec.text.tokenizer, **spec.text.args)
    coder = make_coder(spec.code.coder, **spec.code.args)
    corpus = prepare(
        ["builtin"],
        open_sources("builtin"),
        tokenizer,
        folder / "corpora",
        max_documents=40,
        vocabulary_size=400,
        words_per_row=words_per_row,
    )
    if not coder.fit_pieces(corpus.tokenizer.pieces) and coder.needs_fit:
        coder.fit(corpus.types)
    return Prepared(spec, corpus, coder, folder)
