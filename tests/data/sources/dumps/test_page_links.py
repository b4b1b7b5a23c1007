"""The page-link set of a dump with every trap, by one process and by several."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources.dumps import page_links as module
from hashbench.data.sources.dumps.page_links import LinkCounts, make_page_links, resolve
from hashbench.data.tasks.items import in_folder
from hashbench.data.tasks.kinds.entities import ENTITIES
from tests.data.sources.dumps.wiki_dumps import Dumped, write_dump

TRAPS = [
    Dumped("Earth", "[[Sun]] [[moon|the Moon]] [[Sun|again]] [[sun#Core]] [[Earth]] [[#Crust]] [[earth#Crust|here]]"),
    Dumped("Sun", "[[File:S.jpg|thumb|of [[Earth]] and [[Category:Stars]]]] [[:Category:Stars]] [[Category:Stars|*]]"),
    Dumped("Category:Stars", "[[Earth]]", 14),
    Dumped("Talk:Earth", "[[Sun]]", 1),
    Dumped("Moon", "<nowiki>[[Sun]]</nowiki><!-- [[Sun]] -->[[Luna (goddess)]] [[Terra]] [[The Earth]] [[Circle A]]"),
    # Redirects: a chain written backwards, a circle, one to itself, one to nothing, one to another namespace
    Dumped("Terra", "#REDIRECT [[The Earth]]", redirect="The Earth"),
    Dumped("The Earth", "#REDIRECT [[Earth]]", redirect="Earth"),
    Dumped("Our Earth", "#REDIRECT [[terra#x]]", redirect="Terra"),
    Dumped("Circle A", "#REDIRECT [[Circle B]]", redirect="Circle B"),
    Dumped("Circle B", "#REDIRECT [[Circle A]]", redirect="Circle A"),
    Dumped("Circle C", "#REDIRECT [[Circle C]]", redirect="Circle C"),
    Dumped("Nothing", "#REDIRECT [[None]]", redirect="None"),
    Dumped("Stars", "#REDIRECT [[:Category:Stars]]", redirect="Category:Stars"),
    Dumped("AT&T", "[[Москва]] [[東京|Tokyo]] [[Caf%C3%A9]] [[wikt:sun]] [[de:Erde]] [[our_Earth]]"),
    Dumped("Москва", "[[AT&amp;T]] [[москва]] [[Missing page]] [[Circle C]] [[Nothing]] [[Stars]] {{Sun|Moon}}"),
    Dumped("東京", "{{main|Earth}} {{nihongo|[[Москва]]|x=[[AT&T|a]]}} [[Mercury]]"),
    Dumped("Café", ""),
    Dumped("Mercury", "'''Mercury''' is [[Mercury (planet)]] or [[Earth]] {{hndis}}"),
    Dumped("Mercury (planet)", "[[Mercury]] [[Sun]] {{disambiguation needed}}"),
    Dumped("Template:Hndis", "#REDIRECT [[Template:Name page]]", 10, redirect="Template:Name page"),
    Dumped("Template:Name page", "{{dmbox}} __DISAMBIG__", 10),
    Dumped("Template:Sun", "[[Sun]]", 10),
]
EXPECTED = {
    "Earth": ["Sun", "Moon"],
    "Sun": ["Earth"],
    "Moon": ["Earth"],
    "AT&T": ["Москва", "東京", "Café", "Earth"],
    "Москва": ["AT&T"],
    "東京": ["Москва", "AT&T", "Mercury"],
    "Café": [],
    "Mercury": ["Mercury (planet)", "Earth"],
    "Mercury (planet)": ["Mercury", "Sun"],
}


def made(dump: Path, out: Path, *, workers: int | None = 1, disambiguation: bool = True) -> LinkCounts:
    return make_page_links(dump, out, workers=workers, disambiguation=disambiguation, note=lambda _: None)


def set_of(out: Path) -> dict[str, list[str]]:
    table = pq.read_table(out / "entities" / "links.parquet")
    return dict(zip(table["page"].to_pylist(), table["links"].to_pylist(), strict=True))


@pytest.mark.e2e
@pytest.mark.parametrize(("streams", "workers"), [(0, None), (0, 1), (3, 1), (1, 2)])
def test_every_trap(tmp_path: Path, streams: int, workers: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = module.stretches
    monkeypatch.setattr(module, "stretches", lambda dump, index: cut(dump, index, 4))
    dump = write_dump(tmp_path / "dump", TRAPS, streams=streams)
    counts = made(dump, tmp_path / "out", workers=workers)
    assert set_of(tmp_path / "out") == EXPECTED
    assert list(set_of(tmp_path / "out")) == list(EXPECTED)  # in the order of the dump
    assert (counts.pages, counts.links, counts.redirects, counts.lost_redirects) == (9, 16, 8, 5)
    assert sorted(path.name for path in (tmp_path / "out" / "entities").iterdir()) == ["links.parquet"]


def test_without_disambiguation_their_links_and_those_to_them_are_gone(tmp_path: Path) -> None:
    counts = made(write_dump(tmp_path, TRAPS), tmp_path / "out", disambiguation=False)
    expected = {page: [link for link in links if link != "Mercury"] for page, links in EXPECTED.items()}
    del expected["Mercury"]
    assert set_of(tmp_path / "out") == expected
    assert counts.disambiguation == 1


def test_a_wiki_with_small_first_letters(tmp_path: Path) -> None:
    pages = [Dumped("libero", "[[Libero]] [[casa]]"), Dumped("Libero", "[[libero]]"), Dumped("casa", "[[Casa]]")]
    made(write_dump(tmp_path, pages, case="case-sensitive"), tmp_path / "out")
    assert set_of(tmp_path / "out") == {"libero": ["Libero", "casa"], "Libero": ["libero"], "casa": []}


@pytest.mark.e2e
def test_several_processes_write_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = module.stretches
    monkeypatch.setattr(module, "stretches", lambda dump, index: cut(dump, index, 2))
    dump = write_dump(tmp_path, TRAPS, streams=2)
    for workers in (1, 2):
        made(dump, tmp_path / str(workers), workers=workers)
    one, two = ((tmp_path / name / "entities" / "links.parquet").read_bytes() for name in "12")
    assert one == two


def test_the_task_of_page_links_reads_the_set(tmp_path: Path) -> None:
    pages = [Dumped(f"P{n}", " ".join(f"[[P{(n * k) % 40}]]" for k in range(2, 9))) for n in range(40)]
    made(write_dump(tmp_path, pages), tmp_path / "out")
    located = in_folder(tmp_path / "out" / "entities", ENTITIES, "made", "own")
    assert located is not None
    links = located.load()
    read = set_of(tmp_path / "out")
    assert set(links.items.strings(np.arange(len(links.items)))) == {link for some in read.values() for link in some}
    assert len(links.pages.ids) == sum(map(len, read.values()))


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 31, 32, 33, 1000])
def test_chains_of_redirects_of_any_length_lead_to_their_page(length: int) -> None:
    names = np.random.default_rng(length).permutation(np.arange(10, 10 + length)).astype(np.uint64)
    meanings = resolve(np.array([5, 6], np.uint64), names, np.append(names[1:], np.uint64(6)))
    assert set(meanings.of(names).tolist()) == {1}


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 31, 32, 33, 1000])
def test_circles_of_redirects_lead_nowhere(length: int) -> None:
    names = np.arange(10, 10 + length, dtype=np.uint64)
    meanings = resolve(
        np.array([5, 6], np.uint64), np.append(names, np.uint64(9)), np.append(np.roll(names, 1), names[0])
    )
    assert set(meanings.of(names).tolist()) == {-1}
    assert meanings.of(np.array([9, 5, 6, 7], np.uint64)).tolist() == [-1, 0, 1, -1]


def test_what_is_there_stays(tmp_path: Path) -> None:
    dump = write_dump(tmp_path, TRAPS)
    (tmp_path / "out" / "entities").mkdir(parents=True)
    with pytest.raises(InputError, match="entities: is there already; give another --out, or remove it"):
        made(dump, tmp_path / "out")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file: is a file; give --out a folder"):
        made(dump, tmp_path / "file")


def test_several_processes_need_an_index(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no index, so one process reads it; take the multistream dump"):
        made(write_dump(tmp_path, TRAPS), tmp_path / "out", workers=2)
    dump = write_dump(tmp_path, TRAPS, streams=2)
    (tmp_path / "enwiki-latest-pages-articles-multistream-index.txt.bz2").unlink()
    with pytest.raises(InputError, match="put enwiki-latest-pages-articles-multistream-index.txt.bz2 beside it"):
        made(dump, tmp_path / "out", workers=2)


@pytest.mark.parametrize("streams", [0, 2])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_dump_that_is_not_whole_leaves_nothing(tmp_path: Path, streams: int, workers: int) -> None:
    dump = write_dump(tmp_path, TRAPS, streams=streams)
    dump.write_bytes(dump.read_bytes()[:-30])
    with pytest.raises(InputError, match="is not whole; download it again"):
        made(dump, tmp_path / "out", workers=workers if streams else 1)
    assert [path.name for path in (tmp_path / "out").iterdir() if path.suffix != ".lock"] == []


def test_a_dump_without_articles_leaves_nothing(tmp_path: Path) -> None:
    dump = write_dump(tmp_path, [Dumped("Talk:A", "[[B]]", 1)])
    with pytest.raises(InputError, match="has no page in the namespace of articles"):
        made(dump, tmp_path / "out")
    assert not (tmp_path / "out" / "entities").exists()


@pytest.mark.e2e
def test_a_kill_leaves_no_half_set_and_the_next_command_makes_it(tmp_path: Path) -> None:
    """The first pass is over when the process is killed; what it left is taken away by the next one."""
    dump, out = write_dump(tmp_path, TRAPS, streams=2), tmp_path / "out"
    code = (
        "import sys, time; from pathlib import Path\n"
        "from hashbench.data.sources.dumps import page_links as module\n"
        "module._join = lambda *args, **options: (print('joining', flush=True), time.sleep(600))\n"
        "module.make_page_links(Path(sys.argv[1]), Path(sys.argv[2]), workers=1, disambiguation=True, note=print)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(dump), str(out)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert any("joining" == line.strip() for line in process.stdout)
    process.kill()
    process.wait()
    assert not (out / "entities").exists()
    assert list((out / "entities.partial").rglob("*.feather"))
    made(dump, out)
    assert set_of(out) == EXPECTED
    assert not (out / "entities.partial").exists()
