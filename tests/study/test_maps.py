"""Maps of occurrences: which points, where they stand, and what is kept on disk."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tiny import tiny_model

from polyseme.embed.embedder import Embedder
from polyseme.embed.static_vectors import StaticVectors
from polyseme.errors import FormatError, InputError
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.models.static import WordVectors
from polyseme.progress import Watcher
from polyseme.study.maps.build import build_map
from polyseme.study.maps.choose import choose
from polyseme.study.maps.folder import MANIFEST, find_map, read_map, write_map
from polyseme.study.maps.labels import own_labels, read_labels
from polyseme.study.maps.layout import LayerLayout, fit_square, spread
from polyseme.study.maps.occurrence_map import MapSettings, OccurrenceMap
from polyseme.text.corpus import Corpus

SENTENCES = [
    [*words.split(), ",", str(number)]
    for number in range(20)
    for words in ("the bank of the river", "money of the bank", "a play of the day", "the river of money")
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> OccurrenceIndex:
    folder = tmp_path_factory.mktemp("maps") / "index"
    return OccurrenceIndex.build(Embedder(tiny_model()), SENTENCES, folder)


@pytest.fixture(scope="module")
def static() -> StaticVectors:
    return StaticVectors(WordVectors(["bank", "river", "money", "the"], np.eye(4, 3, dtype=np.float32) + 1))


@pytest.fixture(scope="module")
def made(index: OccurrenceIndex, static: StaticVectors) -> OccurrenceMap:
    settings = MapSettings(points=200, sample=120, static=static.fingerprint())
    return build_map([index], settings, Watcher(), static=static)


def test_points_are_words_and_each_is_there_once(index: OccurrenceIndex) -> None:
    sample, others = choose(index, points=200, sample=100, words=["play"])
    both = np.concatenate([sample, others])
    assert (len(sample), len(both), len(np.unique(both))) == (100, 200, 200)
    words = index.numbered.words(both)
    assert all(any(map(str.isalpha, word)) for word in words)
    assert index.numbered.words(sample).count("play") == 20  # all that there are
    assert np.isin(index.numbered.of("play"), sample).all()


def test_no_word_fills_the_sample(tmp_path: Path) -> None:
    rare = [[f"w{number}x", *["the"] * 40] for number in range(60)]
    index = OccurrenceIndex.build(Embedder(tiny_model()), rare, tmp_path / "index")
    sample, _ = choose(index, points=1000, sample=50, words=())
    words = index.numbered.words(sample)
    assert len(words) == 50
    assert words.count("the") <= 10  # of 98% of the text
    everything, rest = choose(index, points=10_000, sample=10_000, words=())
    assert (len(everything), len(rest)) == (len(index), 0)


def test_a_map_has_every_layer(index: OccurrenceIndex, made: OccurrenceMap, static: StaticVectors) -> None:
    assert list(made.layers) == ["0", "1", "2", "mean", "static"]
    assert (made.own, made.sample, len(made)) == ("2", 120, 200)
    assert [made.word_names[number] for number in made.words] == index.numbered.words(made.numbers)
    for name, places in made.layers.items():
        unplaced = np.isnan(places).any(axis=1)
        words = [made.word_names[number] for number in made.words]
        assert unplaced.tolist() == [name == "static" and word not in static for word in words]
        assert np.nanmax(np.abs(places)) <= 1
        assert np.nanmax(np.abs(places)) == pytest.approx(1)


def test_without_context_a_word_has_one_place(made: OccurrenceMap) -> None:
    """In layer 0 and in static vectors, the occurrences of a word stand around one place; above they do not."""
    widths = {}
    for name in ("0", "2", "static"):
        places = made.layers[name][made.words == made.word_names.index("bank")]
        widths[name] = float(np.ptp(places, axis=0).max())
    assert widths["0"] < 0.05
    assert widths["static"] < 0.05
    assert widths["2"] > 4 * widths["0"]


def test_near_vectors_stand_together() -> None:
    draw = np.random.default_rng(0)
    centres = draw.normal(size=(4, 20)) * 8
    group = np.repeat(np.arange(4), 30)
    rows = (centres[group] + draw.normal(size=(120, 20))).astype(np.float32)
    shares: list[float] = []
    layout = LayerLayout(rows, None, shares.append, threads=1)
    assert shares[-1] == 1.0
    assert shares == sorted(shares)
    centre = np.stack([layout.places[group == number].mean(axis=0) for number in range(4)])
    nearest = np.linalg.norm(layout.places[:, None] - centre, axis=2).argmin(axis=1)
    assert (nearest == group).all()
    new = (centres[group] + draw.normal(size=(120, 20))).astype(np.float32)
    assert (np.linalg.norm(layout.place(new)[:, None] - centre, axis=2).argmin(axis=1) == group).mean() > 0.95


def test_a_layer_is_turned_to_its_neighbour() -> None:
    """The same vectors, begun with a mirrored arrangement, come out mirrored: points do not move without reason."""
    draw = np.random.default_rng(0)
    group = np.repeat(np.arange(3), 40)
    rows = (draw.normal(size=(3, 10))[group] * 9 + draw.normal(size=(120, 10))).astype(np.float32)
    first = LayerLayout(rows, None, lambda _: None, threads=1).places
    mirrored = first * np.array([-1, 1], dtype=np.float32)
    second = LayerLayout(rows, mirrored, lambda _: None, threads=1).places
    centres = [np.stack([places[group == number].mean(axis=0) for number in range(3)]) for places in (mirrored, second)]
    one, two = ((c - c.mean(axis=0)).ravel() for c in centres)
    assert one @ two / (np.linalg.norm(one) * np.linalg.norm(two)) > 0.9


def test_few_vectors_need_no_arrangement() -> None:
    rows = np.array([[0, 1], [1, 0], [0, 1], [0, 0]], dtype=np.float32)
    layout = LayerLayout(rows, None, lambda _: None, threads=1)
    assert np.isnan(layout.places[3]).all()
    np.testing.assert_array_equal(layout.places[0], layout.places[2])
    np.testing.assert_array_equal(layout.place(rows), layout.places)


def test_points_in_one_place_are_spread_and_fitted() -> None:
    places = np.array([[0, 0]] * 50 + [[120, 0], [np.nan, np.nan]], dtype=np.float32)
    apart = spread(places)
    gaps = np.linalg.norm(apart[:50, None] - apart[None, :50], axis=2) + np.eye(50) * 9
    assert gaps.min() > 0.05
    assert np.linalg.norm(apart[:50], axis=1).max() < 1
    np.testing.assert_array_equal(apart[50], [120, 0])
    fitted = fit_square(apart)
    assert np.nanmin(fitted) == -1
    assert np.isnan(fitted[51]).all()
    assert (fitted[50, 0] - fitted[0, 0]) * 60 == pytest.approx(120, rel=0.02)


def test_a_map_is_kept_and_found(index: OccurrenceIndex, made: OccurrenceMap) -> None:
    assert find_map([index], {"points": 200}) is None
    folder = write_map([index], made)
    assert find_map([index], {}) == folder
    assert find_map([index], {"points": 200, "sample": 120}) == folder
    assert find_map([index], {"points": 201}) is None
    again = read_map(folder)
    assert (again.settings, again.own, again.sample) == (made.settings, made.own, made.sample)
    assert (again.word_names, again.document_names) == (made.word_names, made.document_names)
    for name in ("numbers", "corpora", "words", "documents", "labels"):
        np.testing.assert_array_equal(getattr(again, name), getattr(made, name))
    for name, places in made.layers.items():
        np.testing.assert_array_equal(again.layers[name], places)
    OccurrenceIndex(index.path)  # an index with maps in it is still one


def test_a_map_of_an_older_text_is_not_shown(tmp_path: Path) -> None:
    embedder, settings = Embedder(tiny_model()), MapSettings(points=40, sample=40)
    first = OccurrenceIndex.build(embedder, SENTENCES, tmp_path / "index")
    old = write_map([first], build_map([first], settings, Watcher()))
    grown = OccurrenceIndex.build(embedder, SENTENCES[:8], tmp_path / "index", append=True)
    assert find_map([grown], {}) is None
    broken = tmp_path / "index" / "maps" / "broken" / MANIFEST
    broken.parent.mkdir()
    broken.write_text("{")
    with pytest.raises(
        FormatError, match=r"map\.json: cannot be read, empty or damaged .* make it again with --remake"
    ):
        find_map([grown], {})
    new = write_map([grown], build_map([grown], settings, Watcher()))
    assert find_map([grown], {}) == new
    assert not old.exists()
    assert not broken.exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "words.npy",
            b"",
            r"words.npy: its bytes have changed since it was written; the map is damaged, make it again",
        ),
        ("word_names.json", b"[]", "its bytes have changed"),
        ("layer-1.npy", None, r"layer-1.npy: cannot be read \(No such file or directory\)"),
        (MANIFEST, b"{}", r"map.json: texts: is missing; the map is damaged, make it again with --remake"),
    ],
)
def test_a_damaged_map_is_named(
    made: OccurrenceMap, index: OccurrenceIndex, tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    folder = tmp_path / "map"
    shutil.copytree(write_map([index], made), folder)
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(FormatError, match=message):
        read_map(folder)


def test_a_map_that_lies_about_itself_is_refused(made: OccurrenceMap, index: OccurrenceIndex, tmp_path: Path) -> None:
    folder = tmp_path / "map"
    shutil.copytree(write_map([index], made), folder)
    record = json.loads((folder / MANIFEST).read_text())
    for change, message in (
        ({"points": 150}, r"words.npy: uint32 \(200,\), expected uint32 \(150,\)"),
        ({"sample": 10_000}, "names a sample or a layer that is not there"),
        ({"layers": ["../../x"]}, r"map.json: layers.0: string should match pattern"),
    ):
        (folder / MANIFEST).write_text(json.dumps(record | change))
        with pytest.raises(FormatError, match=message):
            read_map(folder)


def test_two_texts_share_a_map(index: OccurrenceIndex, tmp_path: Path) -> None:
    other = OccurrenceIndex.build(Embedder(tiny_model()), SENTENCES[:10], tmp_path / "other")
    made = build_map([index, other], MapSettings(points=100, sample=60), Watcher())
    words = sum(any(map(str.isalpha, word)) for sentence in SENTENCES[:10] for word in sentence)
    assert np.bincount(made.corpora).tolist() == [50, words]
    for corpus, one in enumerate((index, other)):
        mine = made.corpora == corpus
        assert [made.word_names[number] for number in made.words[mine]] == one.numbered.words(made.numbers[mine])
    folder = write_map([index, other], made)
    assert find_map([index, other], {}) == folder
    assert folder != find_map([index], {})
    bare = OccurrenceIndex.build(Embedder(tiny_model()), SENTENCES, tmp_path / "bottom", layers=0)
    with pytest.raises(InputError, match=r"was built with layers 'top', .* with 0; their vectors cannot be compared"):
        build_map([index, bare], MapSettings(), Watcher())


def test_labels(made: OccurrenceMap, index: OccurrenceIndex, tmp_path: Path) -> None:
    table = tmp_path / "labels.csv"
    table.write_text("word,kind\nbank,noun\nof,\n")
    found = read_labels(table, "upos", made, [index])
    assert found.title == "kind"
    assert {
        made.word_names[word]: found.names[label] for word, label in zip(made.words, found.labels, strict=True)
    } == {name: "noun" if name == "bank" else "" for name in made.word_names}
    tagged = tmp_path / "text.conllu"
    rows = [f"{n}\t{token}\t_\tX{n}\t_\t_\t0\t_\t_\t_" for n, token in enumerate(SENTENCES[0], 1)]
    tagged.write_text("\n".join(rows) + "\n\n")
    by_sentence = read_labels(tagged, "upos", made, [index])
    for point, one in enumerate(index.numbered.read(made.numbers)):
        expected = f"X{one.position + 1}" if one.sentence == SENTENCES[0] else ""
        assert by_sentence.names[by_sentence.labels[point]] == expected
    for content, message in (
        ("", r"line 1 is 'nothing', expected titles such as word,label"),
        ("lemma,kind\n", r"line 1 is 'lemma,kind'"),
        ("word,kind\nbank\n", r"line 2: one column, expected word and kind"),
        ("word,kind\nxyz,noun\n", r"labels none of the 200 points of the map; give the labels of this text"),
    ):
        table.write_text(content)
        with pytest.raises(InputError, match=message):
            read_labels(table, "upos", made, [index])
    with pytest.raises(InputError, match=r"cannot be read as CSV \(No such file or directory\)"):
        read_labels(tmp_path / "none.csv", "upos", made, [index])


def test_labels_and_documents_of_the_index(tmp_path: Path) -> None:
    text = tmp_path / "text.vrt"
    text.write_text('<text id="one">\n<s>\nthe\nbank\n</s>\n</text>\n<text id="two">\n<s>\na\nriver\n</s>\n</text>\n')
    index = OccurrenceIndex.build(Embedder(tiny_model()), Corpus([str(text)]), tmp_path / "index", label="old")
    OccurrenceIndex.build(Embedder(tiny_model()), [["a", "play"]], index.path, append=True, label="new")
    index = OccurrenceIndex(index.path, Embedder(tiny_model()))
    made = build_map([index], MapSettings(), Watcher())
    assert [made.document_names[number] for number in made.documents] == ["one", "one", "two", "two", "", ""]
    labels = own_labels(made)
    assert labels is not None
    assert [labels.names[number] for number in labels.labels] == ["old"] * 4 + ["new"] * 2
    table = tmp_path / "genres.csv"
    table.write_text("document,genre\ntwo,poem\n")
    found = read_labels(table, "upos", made, [index])
    assert [found.names[number] for number in found.labels] == ["", "", "poem", "poem", "", ""]


def test_a_map_of_static_vectors_has_one_layer(tmp_path: Path, static: StaticVectors) -> None:
    index = OccurrenceIndex.build(static, SENTENCES, tmp_path / "index")
    made = build_map([index], MapSettings(points=50, sample=50), Watcher())
    assert (list(made.layers), made.own) == (["0"], "0")
