"""What the explorer asks over HTTP is what the library says; and the page that is built is that of its sources."""

import base64
import hashlib
import json
import re
from pathlib import Path

import httpx
import numpy as np
import pytest
from conftest import Command, refused
from generated_map import explorer_parts, write_text
from serving import error_of, run, serving, tiny_parts
from tiny import tiny_model

from polyseme.embed.embedder import Embedder
from polyseme.errors import InputError
from polyseme.formats import native
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.progress import Watcher
from polyseme.serve import pages
from polyseme.serve.exploring import Wanted, open_explorer
from polyseme.serve.html_export import POLICY, check_path, write_html
from polyseme.serve.parts import Parts
from polyseme.study.change import change_of_indexes
from polyseme.study.sense_induction import induce_senses

POINTS = 600


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    return explorer_parts(tmp_path_factory.mktemp("explorer"), POINTS)


def ask(parts: Parts, path: str, body: object = None) -> httpx.Response:
    async def work() -> httpx.Response:
        async with serving(parts) as (client, _):
            return await (client.get(path) if body is None else client.post(path, json=body))

    return run(work())


def test_the_map_over_http(parts: Parts) -> None:
    assert parts.explorer is not None
    made, facts = parts.explorer.map, ask(parts, "/explore/map").json()
    assert (facts["points"], facts["own"], facts["layers"]) == (POINTS, "2", [*made.layers])
    assert facts["words"] == made.word_names
    assert [one["name"] for one in facts["corpora"]] == ["text 0", "text 1"]
    for name, kind in facts["arrays"].items():
        got = np.frombuffer(ask(parts, f"/explore/arrays/{name}").content, dtype=kind)
        np.testing.assert_array_equal(got, parts.explorer.arrays[name].ravel())
    assert error_of(ask(parts, "/explore/arrays/../../secret"))[0] == 404
    assert error_of(ask(parts, "/explore/arrays/numbers"))[1] == "no_such_array"
    page = ask(parts, "/explore")
    assert page.headers["content-security-policy"] == pages.EXPLORER
    assert "https:" not in pages.EXPLORER


def test_points_have_their_sentences(parts: Parts) -> None:
    explorer = parts.explorer
    assert explorer is not None
    found = ask(parts, "/explore/occurrences", {"points": [5, 0, 17]}).json()["data"]
    assert [one["point"] for one in found] == [0, 5, 17]
    for one in found:
        index, number = explorer.indexes[one["corpus"]], int(explorer.map.numbers[one["point"]])
        (wanted,) = index.numbered.read(np.array([number]))
        assert {**wanted.to_dict(), "corpus": one["corpus"], "point": one["point"]} == one
    status, _, message = error_of(ask(parts, "/explore/occurrences", {"points": [POINTS]}))
    assert (status, message) == (422, f"point {POINTS} is not on the map, which has {POINTS}; load the page again")


def test_a_word_and_its_points(parts: Parts) -> None:
    explorer = parts.explorer
    assert explorer is not None
    got = ask(parts, "/explore/word", {"word": "Bank", "k": 4}).json()
    assert got["occurrences"] == [len(index.numbered.of("bank")) for index in explorer.indexes]
    assert [one["word"] for one in got["data"]] == ["bank"] * 8
    for one in got["data"]:
        assert explorer.map.word_names[explorer.map.words[one["point"]]] == "bank"
    assert error_of(ask(parts, "/explore/word", {"word": "xyz"}))[2].startswith("no occurrence of 'xyz'")


def test_a_group_of_points(parts: Parts) -> None:
    explorer = parts.explorer
    assert explorer is not None
    river = np.flatnonzero(explorer.map.words == explorer.map.word_names.index("river"))
    money = np.flatnonzero(explorer.map.words == explorer.map.word_names.index("money"))[:3]
    got = ask(parts, "/explore/group", {"points": [*river.tolist(), *money.tolist()], "k": 5}).json()
    assert got["words"] == [{"word": "river", "points": len(river)}, {"word": "money", "points": 3}]
    assert (got["points"], len(got["data"]), got["labels"]) == (len(river) + 3, 5, "substitutes")
    assert got["typical"]
    assert "river" not in got["typical"]  # what could stand in its place, but not the word itself


def test_senses_of_every_point(parts: Parts) -> None:
    explorer = parts.explorer
    assert explorer is not None
    got = ask(parts, "/explore/senses", {"word": "bank", "senses": 2}).json()
    wanted = induce_senses(explorer.indexes[0], "bank", senses=2, examples=5)
    assert [sense["labels"] for sense in got["senses"]] == [sense.labels for sense in wanted.senses]
    assigned = {one.number: int(sense) for one, sense in zip(wanted.occurrences, wanted.assigned, strict=True)}
    assert len(got["points"]) == len(got["assigned"]) > 10
    for point, sense in zip(got["points"], got["assigned"], strict=True):
        assert assigned[int(explorer.map.numbers[point])] == sense
    assert error_of(ask(parts, "/explore/senses", {"word": "play"}))[0] == 422  # too few


def test_nearest_contexts_with_points(parts: Parts) -> None:
    explorer = parts.explorer
    assert explorer is not None
    for corpus in (0, 1):
        body = {"sentence": ["the", "bank", "of", "money"], "position": 1, "corpus": corpus, "k": 6}
        got = ask(parts, "/explore/nearest", body).json()["data"]
        wanted = explorer.indexes[corpus].nearest(["the", "bank", "of", "money"], 1, k=6)
        assert [one["similarity"] for one in got] == [one.similarity for one in wanted]
        assert [int(explorer.map.numbers[one["point"]]) for one in got] == [one.number for one in wanted]


def test_change_between_texts_and_between_words(parts: Parts) -> None:
    explorer = parts.explorer
    assert explorer is not None
    got = ask(parts, "/explore/compare", {"word": "bank"}).json()
    (wanted,) = change_of_indexes(*(index.path for index in explorer.indexes), words=["bank"])
    assert got["apd"] == pytest.approx(wanted.apd, abs=1e-3)  # the index sums vectors before they are rounded
    assert got["prt"] == pytest.approx(wanted.prt, abs=1e-3)
    assert [side["corpus"] for side in got["sides"]] == [0, 1]
    two = ask(parts, "/explore/compare", {"word": "bank", "other": "river"}).json()
    assert [side["word"] for side in two["sides"]] == ["bank", "river"]
    means = [explorer.indexes[0].occurrences(word)[1].mean(axis=0) for word in ("bank", "river")]
    assert two["apd"] == pytest.approx(1 - float(means[0] @ means[1]), abs=1e-5)


def test_without_a_map(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    plain = tiny_parts(folder=tmp_path)
    for path, body in (("/explore", None), ("/explore/map", None), ("/explore/word", {"word": "bank"})):
        assert error_of(ask(plain, path, body)) == (
            *(409, "no_map"),
            "this server has no map; start it with polyseme explore INDEX",
        )
    one = explorer_parts(tmp_path_factory.mktemp("one"), 50, texts=1)
    assert error_of(ask(one, "/explore/compare", {"word": "bank"}))[2].startswith("there is one text; name another")
    assert "corpus is 1, but there is one index" in error_of(ask(one, "/explore/senses", {"word": "a", "corpus": 1}))[2]


def test_one_file(parts: Parts, tmp_path: Path) -> None:
    path = tmp_path / "map.html"
    assert write_html(path, parts, points=100, words=["bank"]) == 100
    text = path.read_text(encoding="utf-8")
    assert f'content="{POLICY}"' in text
    assert not re.search(r'(?:src|href)="(?!data:)', text)
    held = re.search(r'id="embedded">(.*?)</script>', text, re.DOTALL)
    assert held is not None
    record = json.loads(held.group(1))
    assert parts.explorer is not None
    layer = np.frombuffer(base64.b64decode(record["numbers"]["layer-2"]), dtype="<f4").reshape(-1, 2)
    assert layer.shape == (100, 2)
    words = np.frombuffer(base64.b64decode(record["numbers"]["words"]), dtype="<u4")
    for point, (sentence, position) in enumerate(record["occurrences"]):
        assert record["sentences"][sentence]["sentence"][position] == record["words"][words[point]]
    assert set(record["senses"]) == {"bank"}
    assert all(point < 100 for point in record["senses"]["bank"]["points"])
    with pytest.raises(InputError, match=r"expected the name of a file that ends in .html"):
        check_path(tmp_path / "map.txt")
    with pytest.raises(InputError, match=r"no such folder to write map\.html into; create it first"):
        check_path(tmp_path / "none" / "map.html")


def test_a_sentence_cannot_leave_its_place_in_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    bad = ["</script><script>alert(1)</script>", "<!--", "bank"]
    index = OccurrenceIndex.build(Embedder(tiny_model()), [bad, ["the", "bank"]], folder)
    native.write(tiny_model(), tmp_path / "model")
    parts = open_explorer(Wanted([index.path], str(tmp_path / "model")), Watcher())
    write_html(tmp_path / "map.html", parts, points=10, words=[])
    text = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert "</script><script>alert" not in text
    assert text.count("</script>") == 2


def test_the_command(tmp_path: Path, run: Command) -> None:
    native.write(tiny_model(), tmp_path / "model")
    text = write_text(tmp_path / "text.vrt")
    out = tmp_path / "out.html"
    options = ("-m", tmp_path / "model", "--points", "60", "--sample", "40", "--html", out, "--progress", "none")
    made = run("explore", text, *options)
    assert made.code == 0, made.err
    assert f"the index of {text} is kept in {tmp_path / 'text-index'}" in made.err
    assert f"{out}: 40 points" in made.err
    (folder,) = (tmp_path / "text-index" / "maps").iterdir()
    before = (folder / "map.json").stat().st_mtime_ns
    again = run("explore", tmp_path / "text-index", "-m", tmp_path / "model", "--html", out, "--progress", "none")
    assert again.code == 0, again.err
    assert (folder / "map.json").stat().st_mtime_ns == before  # the map was kept, and is shown again
    remade = run("explore", tmp_path / "text-index", *options, "--remake")
    assert remade.code == 0, remade.err
    assert (folder / "map.json").stat().st_mtime_ns > before
    rare = run("explore", tmp_path / "text-index", *options, "--word", "zebra")
    assert rare.code == 0, rare.err
    assert "'zebra' occurs 0 times in it, and senses need 10; the page has none of it\n" in rare.err
    refused(run("explore", tmp_path / "none.txt"), "no such index or text; give the folder of an index, or a file")
    refused(run("explore", "a", "b", "c"), "3 indexes or texts; one is shown, or two are compared")
    refused(run("explore", text, "--html", tmp_path / "x.pdf"), "expected the name of a file that ends in .html")


def test_the_page_is_built_from_its_sources() -> None:
    """`make page` builds it; this is what the builder writes at the top of each file."""
    folder = Path(pages.__file__).parent / "page"
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in (".js", ".css", ".html", ".json"):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    for name in ("explore.js", "explore.css"):
        first = (pages.STATIC / name).read_text(encoding="utf-8").splitlines()[0]
        assert f"sources {digest.hexdigest()}" in first, f"{name} is not built from these sources; run: make page"
    assert (pages.STATIC / "explore.html").read_bytes() == (folder / "index.html").read_bytes()
    notices = (pages.STATIC / "explore.licenses.txt").read_text(encoding="utf-8")
    assert all(f"\n{name} " in notices for name in ("regl", "regl-scatterplot", "gl-matrix"))
