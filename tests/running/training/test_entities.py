"""running/training/entities.py: training on page links, and resuming it."""

import threading
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from hashbench.data.tasks.item_batches import ItemSettings
from hashbench.data.tasks.items import EntitiesBlock, in_folder
from hashbench.data.tasks.kinds.entities import ENTITIES
from hashbench.data.tasks.link_batches import EntityData
from hashbench.models.coders.bloom import Bloom
from hashbench.models.embeddings.base import Batch
from hashbench.models.embeddings.registry import find_model
from hashbench.models.objectives.entities import EntityHead, EntityObjective, corrupt
from hashbench.models.objectives.item_search import ItemSearch
from hashbench.running.experiment.recipes import Finetune, FinetuneRecipe
from hashbench.running.training.entities import (
    EntityModule,
    losses_of,
    predicted_states,
    ranks_in,
    test_entities,
    train_entities,
)
from hashbench.running.training.machine import Interrupted, Machine
from hashbench.running.training.model import build_model
from hashbench.running.training.recipe import inverse_sqrt, schedule_of, training_length
from hashbench.scores.base import find_metric
from hashbench.scores.rankings import CERTIFIED, PAGE, RANK, TOKENS
from tests.running.training.stopping import StopAfter

test_entities.__test__ = False  # a function of the suite, not a test
torch.set_num_threads(1)
SHAPE = {"layers": 1, "heads": 2, "dim": 32, "feed_forward": 64, "dropout": 0.0, "attention_dropout": 0.0}
RECIPE = FinetuneRecipe(
    steps=23, batch_size=16, learning_rate=5e-3, schedule="inverse_sqrt", evaluation_steps=10, select_metric="mrr"
)


def trained(page_links, folder, recipe=RECIPE, stops=(), alpha=4, maps=2, **choices):
    task = replace(ENTITIES, protocol=EntitiesBlock(segment_items=6, validation_cases=40, test_share=0.2))
    links = in_folder(page_links / "entities", task, "folder", "folder").load()
    coder = Bloom(alpha=alpha, maps=maps)
    coder.fit_links(links.items, None)
    spec = find_model("superbloom-a50" if maps > 1 else "superbloom-baseline")
    spec = spec.with_args(encoder=SHAPE, code={"alpha": alpha, "maps": maps})
    search = ItemSearch(coder.maps, coder.alpha)
    for stop in (*stops, None):
        torch.manual_seed(torch.seed())  # a new process has other generators
        model = build_model(spec, "tiny", seed=0, vocabulary_rows=coder.num_rows)
        head = EntityHead(
            32, coder.num_rows, maps, EntityObjective(**choices), row_counts=coder.token_counts(links.items.counts)
        )
        data = EntityData(
            links,
            coder.codes(),
            ItemSettings(partial(corrupt, objective=head.objective), spec.text.template, recipe.batch_size, seed=0),
        )
        machine = Machine(folder, device="cpu", should_stop=threading.Event() if stop is None else StopAfter(stop))
        try:
            done = train_entities(EntityModule(model, head, recipe, data, search, seed=0), data, machine)
        except Interrupted:
            assert stop is not None
            continue
        assert stop is None, "the run was not interrupted"
        return done, data, search, machine
    raise AssertionError("never finished")


@pytest.mark.parametrize("choices", [{}, {"softmax": "own"}, {"negatives": 28}])
def test_training_learns_the_topics(page_links, tmp_path, choices):
    recipe = RECIPE.model_copy(update={"steps": 240, "evaluation_steps": 80, "learning_rate": 1e-2})
    done, data, search, machine = trained(page_links, tmp_path, recipe, **choices)
    outputs, under = test_entities(done, data, search, (1, 12), machine)
    chance = 10 / len(data.links.items)
    assert find_metric("rec@10").score(outputs[:, 0], outputs) > 2 * chance
    assert done.steps == 240 and [p.step for p in done.points if p.name == "mrr"] == [80, 160, 240]
    assert np.array_equal(under[12] > 0, (outputs[:, RANK] <= 20))  # every bucket in the beam


def test_outputs_are_pages_ranks_certificates_and_tokens(page_links, tmp_path):
    done, data, search, machine = trained(page_links, tmp_path)
    outputs, _ = test_entities(done, data, search, (5,), machine)
    cases = data.cases["test"]
    assert outputs.shape == (len(cases), TOKENS + 2) and outputs.dtype == np.int32
    assert np.array_equal(outputs[:, PAGE], cases.page_rows)
    assert outputs[:, RANK].min() >= 1 and set(np.unique(outputs[:, CERTIFIED:]).tolist()) <= {0, 1}
    again, _ = test_entities(done, data, search, (5,), machine)
    assert np.array_equal(again, outputs)


def test_a_model_without_shared_rows_trains_too(page_links, tmp_path):
    done, data, search, machine = trained(page_links, tmp_path, alpha=1, maps=1)
    outputs, _ = test_entities(done, data, search, (5,), machine)
    assert np.array_equal(outputs[:, TOKENS] == 1, outputs[:, RANK] == 1)  # its best token is its best item


def test_training_resumes_exactly(page_links, tmp_path):
    whole, *_ = trained(page_links, tmp_path / "whole", negatives=12)
    for stops in ([1], [7, 2], [12]):
        resumed, *_ = trained(page_links, tmp_path / f"stops{stops}", stops=stops, negatives=12)
        assert [vars(point) for point in resumed.points] == [vars(point) for point in whole.points]
        assert (resumed.best.step, resumed.steps) == (whole.best.step, whole.steps)
        for key, weights in whole.model.state_dict().items():
            assert torch.equal(weights, resumed.model.state_dict()[key]), (stops, key)


def test_patience_ends_a_training(page_links, tmp_path):
    recipe = RECIPE.model_copy(update={"steps": 400, "evaluation_steps": 1, "patience": 1, "learning_rate": 1e-9})
    done, *_ = trained(page_links, tmp_path, recipe)
    assert done.steps < 20


def test_ranks_of_a_ranking():
    items = torch.tensor([[5, 3, -1], [7, 8, 9]])
    assert ranks_in(items, torch.tensor([3, 4])).tolist() == [2, 0]


def test_the_schedule_by_hand():
    """lr min(t / w, sqrt(w / t)): w = 100 of 1,000 steps."""
    schedule = schedule_of("inverse_sqrt", total=1000, warmup=100, cycles=1)
    assert [schedule(step) for step in (0, 50, 100, 400, 900)] == pytest.approx([0, 0.5, 1, 0.5, 1 / 3])
    assert inverse_sqrt(0)(1) == 1.0


def test_the_length_of_a_training():
    assert training_length(Finetune(epochs=3), 7) == (21, 3)
    assert training_length(Finetune(epochs=3, steps=20), 7) == (20, 3)


def test_the_states_to_predict_are_those_of_the_whole_model(page_links, tmp_path):
    """In the order of rows and columns, whatever their number in each row."""
    done, data, *_ = trained(page_links, tmp_path)
    batch = next(iter(data.train_dataloader()))
    batch.labels[0, 1:4] = torch.arange(6).reshape(3, 2)  # another number of items in one row
    states, labels = predicted_states(done.model, batch)
    places = (batch.labels[..., 0] != -100).nonzero(as_tuple=True)
    expected = done.model(batch).unflatten(1, (-1, 2))[places]
    torch.testing.assert_close(states, expected, atol=1e-5, rtol=1e-5)
    assert torch.equal(labels, batch.labels[places])


def test_the_loss_of_two_segments_is_both_losses_at_the_whole_models_states():
    """Masked items, and BERT's next sentence at the first token of [CLS]."""
    torch.manual_seed(0)
    spec = find_model("superbloom-text-hash40-h512").small().with_args(encoder=SHAPE)
    model, head = build_model(spec, "tiny", seed=0), EntityHead(32, 70, 2, EntityObjective(), next_sentence=True)
    codes = torch.tensor([[3, 40], [5, 41], [6, 33]])
    positions = torch.tensor([[0, 5, 4, 2, 6, 2], [0, 4, 2, 7, 2, 1]])
    labels = torch.full((2, 6, 2), -100)
    labels[0, 2], labels[1, 1] = torch.tensor([7, 50]), torch.tensor([9, 36])
    segments = torch.tensor([[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0]])
    batch = Batch(codes, positions, positions != 1, segments, labels, follows=torch.tensor([1, 0]))
    model.eval()
    states, matrix = model(batch).unflatten(1, (-1, 2)), model.embedding.output_matrix()
    scores = head.next_sentence.scores(torch.tanh(head.next_sentence.pooler(states[:, 0, 0])))
    order = torch.nn.functional.cross_entropy(scores, batch.follows)
    items = head.loss(torch.stack([states[0, 2], states[1, 1]]), torch.stack([labels[0, 2], labels[1, 1]]), matrix)
    loss = sum(losses_of(model, head, batch))
    torch.testing.assert_close(loss, items + order)
    loss.backward()
    assert all(p.grad is not None and bool(p.grad.any()) for p in head.next_sentence.parameters())
    batch.follows = None
    torch.testing.assert_close(sum(losses_of(model, head, batch)), items)
