"""Combined vectors beside plain numpy, from one folder, in bounded memory."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import tiny_model
from tiny_cove import tiny_cove

import polyseme
from polyseme import Embedder, ScalarMix, StaticVectors, combine
from polyseme.arrays import Vectors
from polyseme.embed.combined_vectors import CombinedVectors
from polyseme.embed.source import VectorSource
from polyseme.errors import FormatError, InputError
from polyseme.formats import cove_folder, native, word_vectors
from polyseme.models.combined_layers import CombinedLayers, Part
from polyseme.models.static import WordVectors
from polyseme.text.segmentation import Segmentation

SENTENCES = [["the", "river", "bank"], [], ["a", "bank", "of", "Sand"], ["the"]]


def glove(dim: int = 5) -> StaticVectors:
    rng = np.random.default_rng(3)
    words = ["the", "river", "bank", "of", "a"]
    return StaticVectors(WordVectors(words, rng.normal(2, 1, (len(words), dim)).astype(np.float32)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one model of each kind."""
    native.write(tiny_model(), tmp_path / "elmo")
    cove_folder.write(tiny_cove(), tmp_path / "cove")
    word_vectors.write(glove().table, tmp_path / "glove")
    return tmp_path


def unit(vectors: Vectors) -> Vectors:
    lengths: Vectors = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / lengths


def close(ours: list[Vectors], theirs: list[Vectors]) -> None:
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)


def test_concat_is_the_static_vector_the_mean_of_elmo_and_the_top_of_cove() -> None:
    static, elmo, cove = glove(), Embedder(tiny_model()), Embedder(tiny_cove())
    combined = combine(static, elmo, cove)
    assert (combined.dim, combined.layers, combined.path) == (5 + 12 + 8, 1, None)
    expected = [
        np.concatenate([x, h.mean(axis=0), c[2]], axis=1)
        for x, h, c in zip(static.embed(SENTENCES), elmo.embed(SENTENCES), cove.embed(SENTENCES), strict=True)
    ]
    close(combined.embed(SENTENCES), expected)
    close([array[0] for array in combined.embed(SENTENCES, layers="all")], expected)
    mixed = combined.embed(SENTENCES[:1], layers=ScalarMix(1))[0]
    np.testing.assert_allclose(mixed, expected[0], atol=1e-6)
    np.testing.assert_allclose(combined.embed_sentences(SENTENCES)[0], expected[0].mean(axis=0), atol=1e-6)


class Given(VectorSource):
    """The states of the worked example, for any word."""

    layers, dim, precision, stateful, segmentation, path = 3, 4, "float32", False, Segmentation(), None

    def stream(self, sentences: object, *, layers: object = "all") -> Iterator[Vectors]:
        assert layers == "all"
        states = [[9, 9, 9, 9], [0.2, 0.4, 0.1, 0.3], [0.6, 0.1, 0.5, 0.2]]
        return (np.array(states, dtype=np.float32)[:, np.newaxis] for _ in sentences)  # type: ignore[attr-defined]

    def fingerprint(self) -> str:
        return "example"


def test_the_bank_example_to_the_last_digit() -> None:
    word = StaticVectors(WordVectors(["bank"], np.array([[1, 2, 3, 4]], dtype=np.float32)))
    (alone,) = combine(Given(), layers=[{1: 0.3, 2: 0.7}]).embed([["bank"]])
    assert [f"{value:.6f}" for value in alone[0]] == ["0.480000", "0.190000", "0.380000", "0.230000"]
    (added,) = combine(word, Given(), how="add", layers=[None, {1: 0.3, 2: 0.7}]).embed([["bank"]])
    assert [f"{value:.6f}" for value in added[0]] == ["1.480000", "2.190000", "3.380000", "4.230000"]


def test_a_learned_mix_gives_its_own_weights() -> None:
    mix = ScalarMix(3, initial_weights=[0.0, 1.0, 2.0])
    torch.nn.init.constant_(mix.gamma, 1.5)
    elmo = Embedder(tiny_model())
    close(combine(elmo, layers=[mix]).embed(SENTENCES), elmo.embed(SENTENCES, layers=mix))
    with pytest.raises(InputError, match="Embedder: a mix with layer norm cannot be combined"):
        combine(elmo, layers=[ScalarMix(3, layer_norm=True)])


def test_unit_scale_centres_by_the_text_it_was_fitted_on() -> None:
    static, elmo = glove(), Embedder(tiny_model())
    combined = combine(static, elmo, scale="unit", layers=[None, "top"], weights=[1, 0.5], fit=SENTENCES)
    x, h = (np.concatenate(s.embed(SENTENCES, layers="top")) for s in (static, elmo))
    known = x.any(axis=1)
    assert known.tolist() == [True] * 6 + [False, True]  # Sand has no static vector
    expected = np.concatenate([unit(x - x[known].mean(axis=0)), 0.5 * unit(h - h.mean(axis=0))], axis=1)
    expected[~known, :5] = 0
    np.testing.assert_allclose(np.concatenate(combined.embed(SENTENCES)), expected, atol=1e-6)


def test_the_module_for_tasks_computes_the_same() -> None:
    static, elmo = glove(), Embedder(tiny_model())
    source = combine(static, elmo, scale="unit", weights=[0.7, 1], fit=SENTENCES)
    x, h = static.embed(SENTENCES, layers="all"), elmo.embed(SENTENCES)
    means = [torch.from_numpy(part[:, part.any(axis=(0, 2))].mean(axis=1)) for part in map(joined, (x, h))]  # (L, D)
    module = CombinedLayers(
        {
            "glove": Part(layers=1, dim=5, means=means[0], weight=0.7),
            "elmo": Part(layers=3, dim=12, means=means[1]),
        },
        scale="unit",
    )
    for number, ours in enumerate(source.embed(SENTENCES)):
        layers = {"glove": x[number], "elmo": h[number]}
        given = {name: [torch.from_numpy(layer).unsqueeze(0) for layer in some] for name, some in layers.items()}
        theirs = module(given, torch.ones(1, len(SENTENCES[number])))["input"][0]
        np.testing.assert_allclose(ours, theirs.detach(), atol=1e-6)


def joined(sentences: list[Vectors]) -> Vectors:
    """All tokens of all sentences: (L, N, D)."""
    return np.concatenate(sentences, axis=1)


def test_means_that_are_missing_are_asked_for() -> None:
    combined = combine(glove(), scale="unit")
    with pytest.raises(InputError, match=r"mean vectors are not known; call fit\(sentences\) with some text first, or"):
        combined.embed(SENTENCES)
    with pytest.raises(InputError, match="StaticVectors: knows no word of the text to fit on; give other text"):
        combined.fit([["zebra"]])
    np.testing.assert_allclose(
        combine(glove(), scale="unit", centre=False).embed(SENTENCES)[0], unit(glove().embed(SENTENCES)[0]), atol=1e-6
    )


def test_project_maps_a_part_to_the_common_width() -> None:
    static, cove = glove(), Embedder(tiny_cove())
    matrix = np.random.default_rng(1).normal(size=(8, 5)).astype(np.float32)
    combined = combine(static, cove, how="add", project=[None, matrix])
    x, c = (source.embed(SENTENCES, layers="top") for source in (static, cove))
    close(combined.embed(SENTENCES), [one + other @ matrix for one, other in zip(x, c, strict=True)])


def test_a_folder_names_its_parts_and_moves_with_them(folder: Path) -> None:
    sources = [polyseme.load(folder / name) for name in ("glove", "elmo", "cove")]
    combined = combine(*sources, scale="unit", layers=[None, {1: 0.3, 2: 0.7}, 1], weights=[1, 2, 3], fit=SENTENCES)
    combined.save(folder / "all")
    config = json.loads((folder / "all" / "config.json").read_text())
    assert [part["path"] for part in config["parts"]] == ["../glove", "../elmo", "../cove"]
    moved = folder.rename(folder.with_name("moved"))
    again = polyseme.load(moved / "all")
    assert isinstance(again, CombinedVectors)
    assert again.path == str(moved / "all")
    assert again.fingerprint() == combined.fingerprint()
    close(again.embed(SENTENCES), combined.embed(SENTENCES))


def test_settings_of_static_vectors_and_matrices_are_kept(folder: Path) -> None:
    static = StaticVectors.load(folder / "glove", unknown="random", case_backoff=False, limit=3)
    matrix = np.eye(5, 8, dtype=np.float32)
    combined = combine(static, folder / "cove", how="add", project=[matrix, None])
    combined.save(folder / "sum")
    again = polyseme.load(folder / "sum")
    close(again.embed(SENTENCES), combined.embed(SENTENCES))
    nested = combine(folder / "sum", folder / "elmo")
    nested.save(folder / "nested")
    close(polyseme.load(folder / "nested").embed(SENTENCES), nested.embed(SENTENCES))


def test_the_fingerprint_depends_on_everything_the_vectors_depend_on() -> None:
    made = [
        combine(glove(), Embedder(tiny_cove())),
        combine(Embedder(tiny_cove()), glove()),
        combine(glove(), Embedder(tiny_cove()), layers=[None, 1]),
        combine(glove(), Embedder(tiny_cove()), layers=[None, {1: 1.0, 2: 0.5}]),
        combine(glove(), Embedder(tiny_cove()), weights=[1, 2]),
        combine(glove(), Embedder(tiny_cove()), scale="unit", centre=False),
        combine(glove(), Embedder(tiny_cove()), centre=True, fit=SENTENCES),
        combine(glove(), Embedder(tiny_cove()), centre=True, fit=SENTENCES[:1]),
        combine(glove(8), Embedder(tiny_cove()), how="add"),
        combine(glove(8), Embedder(tiny_cove()), how="add", project=[np.eye(8), None]),
    ]
    prints = [one.fingerprint() for one in made]
    assert len(set(prints)) == len(prints)
    assert combine(glove(), Embedder(tiny_cove())).fingerprint() == prints[0]


def test_a_changed_or_missing_part_is_refused(folder: Path) -> None:
    combine(folder / "glove", folder / "cove").save(folder / "both")
    shutil.rmtree(folder / "cove")
    with pytest.raises(InputError, match=r"cove: no such file or folder"):
        polyseme.load(folder / "both")
    cove_folder.write(tiny_cove(hidden_dim=5), folder / "cove")
    message = (
        r"both/config.json: part 1 \(.*/cove\) has changed since it was combined \(its fingerprint is .*, expected"
    )
    with pytest.raises(FormatError, match=message):
        polyseme.load(folder / "both")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"how": "join"}, r"config.json: how: .*'concat' or 'add', got 'join'; correct it"),
        ({"parts": []}, r"config.json: parts: "),
        ({"parts": [{"weight": 1}]}, r"config.json: parts.0: has neither 'bundled' nor 'path'; correct it"),
        ({"parts": [{"path": "../both"}]}, r"both: the combination is a part of itself"),
        ({"parts": [{"path": "../cove", "layers": 7}]}, r"unknown layer 7; expected one of 0, 1, 2"),
        ({"parts": [{"path": "../cove", "weight": "x"}]}, r"config.json: parts.0.weight: "),
        ({"parts": [{"path": "../cove", "layers": {"1": float("inf")}}]}, r"config.json: parts.0.layers"),
        ({"parts": [{"path": "../glove"}, {"path": "../cove"}], "how": "add"}, r"different widths cannot be added"),
    ],
)
def test_a_damaged_config_is_named(folder: Path, change: dict[str, object], message: str) -> None:
    combine(folder / "glove", folder / "cove").save(folder / "both")
    path = folder / "both" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises((FormatError, InputError), match=message):
        polyseme.load(folder / "both")


def test_damaged_means_are_named(folder: Path) -> None:
    combine(folder / "glove", scale="unit", fit=SENTENCES).save(folder / "unit")
    (folder / "unit" / "combination.safetensors").write_bytes(b"no")
    with pytest.raises(FormatError, match=r"combination.safetensors: not a safetensors file, or a truncated one"):
        polyseme.load(folder / "unit")
    (folder / "unit" / "combination.safetensors").unlink()
    with pytest.raises(InputError, match=r"mean vectors are not known"):
        polyseme.load(folder / "unit").embed(SENTENCES)


def test_bundled_models_are_named(tmp_path: Path) -> None:
    combine("english-small", layers=["top"]).save(tmp_path / "one")
    config = json.loads((tmp_path / "one" / "config.json").read_text())
    assert config["parts"][0]["bundled"] == "english-small"
    assert config["tokenize"] == "en"
    assert polyseme.load(tmp_path / "one").tokenize("It rained.") == [["It", "rained", "."]]


def test_a_config_may_be_written_by_hand(folder: Path) -> None:
    parts = [{"path": "../cove"}, {"bundled": "english-small", "layers": {"1": 0.3, "2": 0.7}, "weight": 0.5}]
    (folder / "hand").mkdir()
    (folder / "hand" / "config.json").write_text(json.dumps({"format": "polyseme combination", "parts": parts}))
    by_hand = polyseme.load(folder / "hand")
    expected = combine(folder / "cove", "english-small", layers=[None, {1: 0.3, 2: 0.7}], weights=[1, 0.5])
    assert by_hand.fingerprint() == expected.fingerprint()
    assert by_hand.segmentation == Segmentation("en")
    by_choice = combine(folder / "cove", "english-small", segmentation=Segmentation())
    by_choice.save(folder / "tokenised")
    assert polyseme.load(folder / "tokenised").segmentation == Segmentation()


def test_sources_read_side_by_side_in_bounded_memory() -> None:
    read = 0

    def endless() -> Iterator[list[str]]:
        nonlocal read
        while True:
            read += 1
            yield ["the", "river", "bank"]

    elmo = Embedder(tiny_model(), batch_tokens=30)
    stream = combine(glove(), elmo, Embedder(tiny_cove(), batch_tokens=60)).stream(endless())
    for number in range(1, 400):
        next(stream)
        assert read <= number + 4 * 60 / 3 + 1  # the furthest reader has a window of four batches


def test_tokenisation_is_that_of_the_parts_that_record_one() -> None:
    english, chinese = polyseme.load("english-small"), polyseme.load("chinese-small")
    assert combine(glove(), english).segmentation == english.segmentation
    with pytest.raises(
        InputError, match=r"^english-small learnt from text with --tokenize en, chinese-small from text"
    ):
        combine(english, chinese)
    assert combine(english, chinese, segmentation=chinese.segmentation).segmentation == chinese.segmentation
    assert combine(glove()).segmentation == Segmentation()


def test_what_cannot_be_combined_is_refused(tmp_path: Path) -> None:
    static, cove = glove(), Embedder(tiny_cove())
    refused: dict[str, Callable[[], object]] = {
        "nothing to combine": lambda: combine(),
        "how is 'sum', expected 'concat' or 'add'": lambda: combine(static, how="sum"),  # type: ignore[arg-type]
        "scale is 'z', expected": lambda: combine(static, scale="z"),  # type: ignore[arg-type]
        r"cannot be added \(StaticVectors 5, Embedder 8\)": lambda: combine(static, cove, how="add"),
        "layers: got 1 of them, expected a list with one for each of 2 sources": lambda: combine(
            static, cove, layers=["top"]
        ),
        "weights: got 3, expected a list": lambda: combine(static, weights=3),  # type: ignore[arg-type]
        "unknown layer 3; expected one of 0, 1, 2": lambda: combine(cove, layers=[{3: 1.0}]),
        r"part 1 \(Embedder\): its weights hold NaN": lambda: combine(static, cove, weights=[1, float("nan")]),
        "Embedder: no layer has a weight": lambda: combine(cove, layers=[{}]),
        "Embedder: a part has one vector per token": lambda: combine(cove, layers=["all"]),
        r"its matrix has the shape \(3, 3\), expected \(5, common": lambda: combine(static, project=[np.eye(3)]),
        r"out: a part \(StaticVectors\) came from no file": lambda: combine(static).save(tmp_path / "out"),
        "the parts compute in float32 and int8": lambda: combine(
            cove, Embedder(tiny_model(), precision="int8"), layers=[1, 1]
        ),
    }
    for message, make in refused.items():
        with pytest.raises(InputError, match=message):
            make()
    assert not list(tmp_path.iterdir())
