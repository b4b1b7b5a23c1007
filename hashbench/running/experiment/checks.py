"""Checks before the first run: a resolved model can be built and trained here; its arguments, sizes and pairings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager

import torch

from hashbench.common.errors import InputError, located, near_match
from hashbench.common.measured import searched_values
from hashbench.common.registry import registered
from hashbench.data.perturbations.base import find_perturbation
from hashbench.data.sources.weights import RANDOM, locate_weights
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.items import item_kind
from hashbench.data.tasks.text import TextKind
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.embeddings.base import TextSpec
from hashbench.models.embeddings.registry import build_embedding
from hashbench.models.layers import on_meta
from hashbench.models.objectives.base import objective_of, pretrains, reads_items, task_head
from hashbench.models.text.base import Tokenizer, make_tokenizer
from hashbench.models.text.token_lengths import words_note
from hashbench.running.experiment.exported import check_same, export_at
from hashbench.running.experiment.load import Loaded
from hashbench.running.experiment.model_parts import (
    check_coder,
    check_encoder_values,
    check_memory,
    check_precision,
    check_segments,
    check_sizes,
    outline_of,
    small_embedding,
)
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.resolved import needs_corpus, pass_before
from hashbench.running.experiment.slurm import SLURM, TIME

WORD_TEXTS = 1_000  # texts of each column of train whose words are looked at: enough to see that they fall apart


def check_model(loaded: Loaded, model: ResolvedModel) -> None:
    """Raises InputError with file and line for the first thing in the model's entry that cannot work."""
    spec = model.spec
    with _of_model(loaded, model, "tokenizer"):
        make_tokenizer(spec.text.tokenizer, **spec.text.args)
    with _of_model(loaded, model, "coder"):
        check_coder(spec)
        objective = objective_of(spec)
        if objective and objective.coder not in (None, spec.code.coder):
            raise InputError(
                f"objective {objective.name} needs coder {objective.coder}, which makes tokens of items, "
                f"not {spec.code.coder}; write coder: {{kind: {objective.coder}}}"
            )
    with _of_model(loaded, model, "encoder"):
        check_encoder_values(spec, loaded.experiment.encoder)
        encoder = outline_of(loaded, spec)
        check_segments(spec, encoder)
        check_precision(model, encoder)
    with _of_model(loaded, model, "objective"):
        if objective is not None:
            objective.check_arguments(spec.training.args)
            if not encoder.keeps_length:
                raise InputError(f"objective {objective.name} needs {encoder.unmet_need(spec.encoder.kind)}")
    with _of_model(loaded, model, "embedding"):
        check_memory(loaded, spec, encoder)
        embedding = small_embedding(spec, encoder.config.dim)
        check_sizes(spec, encoder.config.dim)
    untied = objective is not None and not objective.reads_items and embedding.untied_rows is not None
    if objective and objective.needs_matrix and embedding.output_matrix() is None and not untied:
        with _of_model(loaded, model, "objective"):
            remedy = "shuffle_random" if objective.reads_items else "mlm_signatures"
            raise InputError(
                f"objective {objective.name} needs an embedding with an output matrix, which "
                f"{spec.embedding.family.stored_name()} has not; write objective: {remedy}"
            )


def check_pairing(loaded: Loaded, model: ResolvedModel, tasks: Sequence[Task]) -> None:
    """Raises InputError where a model does not fit a task, or reads items under an option for texts alone."""
    of_items = reads_items(model.spec)
    where = loaded.where(*model.place)
    for task in tasks:
        if of_items != task.kind.reads_items:
            reads = "items" if of_items else "texts"
            raise InputError(
                f"{where}: model '{model.label}' reads {reads} and task '{task.name}' is {task.kind.description}; "
                "put them in experiments of their own"
            )
        _check_noise(loaded, model, task)
        if of_items:
            _check_positions(loaded, model, task)
        else:
            _check_head(loaded, model, task)
    if of_items and loaded.experiment.efficiency:
        raise InputError(f"{loaded.where('efficiency')}: efficiency times models of texts; leave it out")
    if of_items and model.finetune.searches:
        key = next(iter(searched_values(model.finetune.model_dump())))
        place, what = loaded.where(*loaded.place_of(model.place, "finetune", key)), "a grid of learning rates"
        what = what if key == "learning_rate" else f"a search of {key}"
        rest = "rate" if key == "learning_rate" else key
        raise InputError(f"{place}: {what} needs a task of texts; give '{model.label}' one {rest}")


def _check_noise(loaded: Loaded, model: ResolvedModel, task: Task) -> None:
    """Raises InputError for noise in the training texts of a task that cannot have any."""
    if model.recipe(task.name).noise is not None and task.kind.learned and not task.kind.takes_noise:
        raise InputError(
            f"{loaded.where(*loaded.place_of(model.place, 'finetune', 'noise'))}: finetune.noise: task '{task.name}' "
            f"is {task.kind.description}, whose training texts take no noise; leave it out there (per_task)"
        )


def _check_head(loaded: Loaded, model: ResolvedModel, task: Task) -> None:
    """Raises InputError where a task's head reads states of tokens, and the encoder makes none."""
    if not isinstance(task.kind, TextKind):  # no head is trained on it
        return
    if outline_of(loaded, model.spec).has_token_states or task_head(task.kind.head).reads_texts:
        return
    with _of_model(loaded, model, "encoder"):
        raise InputError(
            f"encoder {model.spec.encoder.kind} makes one vector a text, and task '{task.name}' is "
            f"{task.kind.description}, whose head reads one a token; put them in experiments of their own"
        )


def check_streaming(loaded: Loaded, model: ResolvedModel) -> None:
    """Raises InputError where a model that streams its corpora needs a pass over them before, or is to be timed."""
    if not (model.pretrain.streaming and needs_corpus(model.spec)):
        return
    where = loaded.where(*loaded.place_of(model.place, "pretrain", "streaming"))
    if loaded.experiment.efficiency:
        raise InputError(f"{where}: efficiency times pre-training on prepared corpora; leave it or streaming out")
    reason = pass_before(model.spec)
    if reason:
        remedy = "give it pretrain: {streaming: false}, or leave it out"
        raise InputError(f"{where}: '{model.label}' needs a pass over the corpora before: {reason}; {remedy}")


def check_averages(loaded: Loaded, tasks: Sequence[Task]) -> None:
    """Raises InputError for an average over a task that the experiment has not, has twice, or does not fine-tune on."""
    names = {task.name: task.kind for task in tasks}
    for average, members in loaded.experiment.averages.items():
        where = f"{loaded.where('averages', average)}: averages.{average}"
        for name in members:
            if name not in names:
                raise InputError(f"{where}: no task {name!r} in this experiment{near_match(name, list(names))}")
            if members.count(name) > 1:
                raise InputError(f"{where}: task {name!r} is listed twice; leave one out")
            if not names[name].learned:
                raise InputError(f"{where}: task {name!r} is {names[name].description}, which is in no average")


def check_robustness(loaded: Loaded, models: Iterable[ResolvedModel], tasks: Sequence[Task]) -> None:
    """Raises InputError for evaluations with noise that the experiment cannot have.

    That is any of hidden items, and a perturbation that needs a corpus where no model reads any."""
    block = loaded.experiment.robustness_block
    if block is None:
        return
    where = loaded.where("robustness")
    named = {task.name: task for task in tasks}
    for name in block.pairs:
        at = f"{loaded.where('robustness', 'pairs', name)}: robustness.pairs"
        if name not in named:
            raise InputError(f"{at}: no task {name!r} in this experiment{near_match(name, list(named))}")
        if not (isinstance(named[name].kind, TextKind) and named[name].kind.learned):
            raise InputError(f"{at}: task {name!r} is {named[name].kind.description}, and pairs are of texts")
    for task in tasks:
        if task.kind.reads_items:
            raise InputError(
                f"{where}: robustness changes texts, and task '{task.name}' has items; leave the block out"
            )
    needing = [name for name in block.perturbations if find_perturbation(name).needs_corpus]
    if needing and not any(needs_corpus(model.spec) for model in models):
        raise InputError(
            f"{where}: perturbation {needing[0]} needs a corpus that was read before, and no model here reads one; "
            "name the other perturbations"
        )


def _check_positions(loaded: Loaded, model: ResolvedModel, task: Task) -> None:
    """Raises InputError for rows of items longer than the embedding has positions, or coherent maps without links."""
    kind = item_kind(task)
    if model.spec.code.args.get("coherent") and not kind.coherent_maps:
        with _of_model(loaded, model, "coder"):
            raise InputError("coherent maps are made of page links; write coherent: 0")
    key, items, specials = kind.row_length(task.protocol)
    place = (kind.name, key)
    longest = model.spec.embedding.family.max_items
    if longest is not None and items + specials > longest:
        raise InputError(
            f"{loaded.where(*place)}: {'.'.join(place)}: {items} items and {specials} special ones, but "
            f"'{model.label}' has {longest} positions; take at most {longest - specials}"
        )


def check_weights(loaded: Loaded, model: ResolvedModel) -> None:
    """Raises InputError with file and line for published weights that are not there or of another shape.

    The shape is read from their config; the tensors are read by the runs, which begin if the file is whole."""
    spec = model.spec
    if spec.training.weights is None or spec.training.weights == RANDOM:
        return
    with _of_model(loaded, model, "weights"):
        if spec.training.objective is not None:
            both = f"weights {spec.training.weights} or objective {spec.training.objective}"
            raise InputError(f"{both}: a model starts from one of them; write objective: none for the weights")
        encoder = outline_of(loaded, spec)
        with on_meta():
            embedding = build_embedding(spec, encoder.config.dim)
        weights = locate_weights(spec.training.weights)
        if (folder := export_at(spec.training.weights)) is not None:
            check_same(spec, loaded.experiment.encoder, folder)
        else:
            for part in (embedding, encoder):
                part.check_published(weights.config(), f"weights {spec.training.weights}")
        weights.fingerprint()
        weights.check()
        tokenizer = make_tokenizer(spec.text.tokenizer, **spec.text.args)
        if (piece := tokenizer.unreachable()) is not None:
            raise InputError(
                f"weights {spec.training.weights}: their vocabulary is cased ({piece!r}) and texts are lower-cased; "
                "write tokenizer: {lowercase: false}, or take other weights"
            )


def check_lengths(loaded: Loaded, model: ResolvedModel) -> None:
    """Raises InputError for lengths of sequences that the encoder cannot read.

    They are longer than its positions, or of a fixed length that its groups of neighbours do not divide."""
    encoder = outline_of(loaded, model.spec)
    finetunes = [model.finetune, *model.per_task.values()]
    for recipe in finetunes:
        if recipe.pad_to_max and recipe.longest % encoder.length_multiple:
            multiple = encoder.length_multiple
            where = loaded.where(*loaded.place_of(model.place, "finetune", "max_length"))
            raise InputError(
                f"{where}: finetune.max_length: the encoder of '{model.label}' joins {multiple} neighbours, which do "
                f"not divide {recipe.longest} tokens; take {-(-recipe.longest // multiple) * multiple}, or "
                "pad_to_max: false"
            )
    longest = encoder.max_length
    if longest is None:
        return
    recipes = [("finetune", "max_length", recipe.longest) for recipe in finetunes]
    if pretrains(model.spec):
        recipes.append(("pretrain", "sequence_length", model.pretrain.sequence_length))
        if timed := loaded.experiment.efficiency_block:
            recipes.append(("efficiency", "pretrain_length", timed.pretrain_length))
    for block, key, length in recipes:
        if length > longest:
            where = loaded.where(*loaded.place_of(model.place, block, key))
            remedy = f"take at most {longest}"
            if "max_positions" in vars(encoder.config):
                needed = encoder.config.max_positions + length - longest
                remedy += f", or raise encoder: {{max_positions: {needed}}}"
            raise InputError(
                f"{where}: {block}.{key}: {length} tokens, but the encoder of '{model.label}' has {longest} positions; "
                f"{remedy}"
            )


def untrained_positions(loaded: Loaded, model: ResolvedModel) -> str:
    """A note on positions that a model's fine-tunings may read and its pre-training does not train; "" for none.

    Only learned positions have to be trained.
    """
    longest = max(recipe.longest for recipe in (model.finetune, *model.per_task.values()))
    trained = model.pretrain.sequence_length
    if model.pretrain.words_per_row:  # how many tokens its rows have is found in the data
        return ""
    if not pretrains(model.spec) or longest <= trained or outline_of(loaded, model.spec).max_length is None:
        return ""
    return (
        f"fine-tunings read up to {longest} tokens (finetune.max_length), and pre-training trains {trained} positions "
        f"(pretrain.sequence_length): positions {trained + 1} to {longest} begin untrained"
    )


def check_devices(loaded: Loaded, models: Iterable[ResolvedModel], *, here: bool = True) -> list[str]:
    """Notes on devices that this machine lacks; none where the runs are carried out `here`: then it is an error.

    Several devices without a GPU are processes on the CPU. What other machines have is not known here. Raises
    InputError also for too small batches.
    """
    experiment = loaded.experiment
    check_executor(loaded)
    devices = experiment.all_devices
    elsewhere = registered("executor")[experiment.executor].elsewhere
    if ":" in experiment.device and (devices > 1 or elsewhere):
        raise InputError(
            f"{loaded.where('device')}: device: {experiment.device} is one GPU of this machine; write device: cuda for "
            "several, or for other machines"
        )
    lacking = "" if elsewhere else _lacking_here(loaded)
    if lacking and here:
        raise InputError(lacking)
    for model in models:
        trained = [("pretrain", model.pretrain.batch_size)] if pretrains(model.spec) else []
        finetunes = [recipe for of in (model.finetune, *model.per_task.values()) for recipe in of.recipes()]
        tuned = [("finetune", recipe.batch_size) for recipe in finetunes]
        for block, size in [*trained, *tuned]:
            if size < devices:
                where = loaded.where(*loaded.place_of(model.place, block, "batch_size"))
                raise InputError(
                    f"{where}: {block}.batch_size: {size} rows of '{model.label}' over {devices} devices; take at "
                    f"least {devices}, or fewer devices"
                )
    return [lacking] if lacking else []


def check_executor(loaded: Loaded) -> None:
    """Raises InputError where the executor cannot do what the file asks of it, or lacks a key that it needs."""
    experiment = loaded.experiment
    if experiment.nodes > 1 and not registered("executor")[experiment.executor].joins_nodes:
        raise InputError(f"{loaded.where('nodes')}: nodes: more than one needs executor: ray; write it, or nodes: 1")
    if experiment.executor == SLURM and TIME not in experiment.slurm:
        where = loaded.where(SLURM if SLURM in loaded.values else "executor")
        remedy = "give the time limit of an element of the array job, as slurm: {time: 12:00:00}"
        raise InputError(f"{where}: slurm.time is missing; {remedy}")


def _lacking_here(loaded: Loaded) -> str:
    """A sentence on a device of the experiment that this machine lacks, with a remedy; empty where it has all."""
    device, devices = loaded.experiment.device, loaded.experiment.devices
    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    kind, _, index = device.partition(":")
    for name, there in (("cuda", cuda), ("mps", mps), ("gpu", cuda or mps)):
        if kind == name and not there:
            return (
                f"{loaded.where('device')}: device: this machine has no {name} device that torch can use; "
                "write device: auto, or install a torch that can"
            )
    if index and int(index) >= torch.cuda.device_count():
        last = f"cuda:{torch.cuda.device_count() - 1}"
        return f"{loaded.where('device')}: device: this machine has no {device}; the last is {last}"
    n_gpus = torch.cuda.device_count() if cuda and device != "mps" else 1 if mps else None
    if device != "cpu" and n_gpus is not None and devices > n_gpus:
        return (
            f"{loaded.where('devices')}: devices: {devices} GPUs a run, but this machine has {n_gpus}; "
            f"take at most {n_gpus}"
        )
    return ""


def word_shapes(data: TaskData, models: Iterable[ResolvedModel]) -> list[str]:
    """Notes on models whose tokenizer makes words that fall apart or run together, on the texts of a task.

    Raises InputError for a tokenizer that leaves a text with letters or digits empty.
    """
    notes: dict[str, str] = {}  # by tokenizer: most models share one
    labels_by_note: dict[str, list[str]] = {}
    for model in models:
        text = model.spec.text
        key = repr((text.tokenizer, text.args))
        if key not in notes:
            tokenizer = make_tokenizer(text.tokenizer, **text.args)
            if tokenizer.makes_words:
                check_tokens(data, tokenizer, text)
            notes[key] = task_words_note(data, tokenizer)
        labels_by_note.setdefault(notes[key], []).append(model.label)
    return [f"{', '.join(labels)}: {note}" for note, labels in labels_by_note.items() if note]


def task_words_note(data: TaskData, tokenizer: Tokenizer) -> str:
    """A note if a tokenizer's words of a task fall apart or run together; "" where there is nothing to note."""
    return words_note(tokenizer, [text for _, text in _texts(data)]) if tokenizer.makes_words else ""


def check_tokens(data: TaskData, tokenizer: Tokenizer, spec: TextSpec) -> None:
    """Raises InputError where a tokenizer gives no token for a text with letters or digits."""
    for row, text in _texts(data):
        if any(letter.isalnum() for letter in text) and not tokenizer.tokenize(text):
            args = ", ".join(f"{key} {value!r}" for key, value in spec.args.items())
            raise InputError(
                f"task {data.task.name!r}: row {row} of train, {text[:40]!r}, has no token under tokenizer "
                f"{spec.tokenizer}{f' ({args})' if args else ''}; take another pattern"
            )


def _texts(data: TaskData) -> Iterator[tuple[int, str]]:
    for column in data.splits["train"].texts:
        yield from enumerate(column[:WORD_TEXTS], start=1)


def _of_model(loaded: Loaded, model: ResolvedModel, key: str) -> AbstractContextManager[None]:
    """Context that puts file, line and name of a model before the message of an InputError raised in it."""
    return located(f"{loaded.where(*model.place, key)}: model '{model.label}'")
