import io
import json
import random
import tarfile
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from polyseme.errors import InputError
from recipes import blocks, sources
from recipes.clean import Seen, chinese_fault, english_fault
from recipes.collect import BLOCK_SENTENCES, Filters, collect
from recipes.overlap import Measured, key
from recipes.prepare import prepare
from recipes.sources import Recipe, Source


@pytest.mark.parametrize(
    ("sentence", "fault"),
    [
        ("He sat on the bank .", None),
        ('" Yes , I do . "', None),
        ("It ’s frightening .", None),
        ("Tom saw Mary driving John 's new car .", None),
        ("Go .", "too short"),
        ("word " * 201, "too long"),
        ("1 2 3 4 = 5 + 6 x", "mostly digits or signs"),
        ("CORONATION OF KING GEORGE V .", "heading"),
        ("Set SECURE_REDIRECT to true .", "markup"),
        ("See { { bar } } for more .", "markup"),
        ("This is the Project Gutenberg licence .", "markup"),
        ("Name ................ Date", "markup"),
        ("Сидит на берегу реки .", "not English"),
        ("Arma virumque cano Troiae qui primus ab oris Italiam fato profugus .", "not English"),
    ],
)
def test_english_faults(sentence: str, fault: str | None) -> None:
    assert english_fault(sentence.split()) == fault


@pytest.mark.parametrize(
    ("sentence", "fault"),
    [
        ("他 坐在 河 岸上 。", None),
        ("GOOGLE 更 伟大 ！", None),
        ("盖 曰 ： “ 甚善 。 ”", None),
        ("好 。", "too short"),
        ("字 " * 201, "too long"),
        ("电话 13800138000 - 2 - 1", "mostly digits or signs"),
        ("the river bank is 好", "not Chinese"),
        ("好 ！！！！！ 好", "markup"),
    ],
)
def test_chinese_faults(sentence: str, fault: str | None) -> None:
    assert chinese_fault(sentence.split()) == fault


def test_seen_knows_what_it_saw() -> None:
    seen = Seen()
    assert [seen(line) for line in ("a b", "a c", "a b")] == [False, False, True]


def some_blocks(count: int) -> list[blocks.Block]:
    return [blocks.Block("novel", number, 0, 0, 100, 2000) for number in range(count)]


def test_a_cap_draws_from_the_whole_source() -> None:
    drawn = blocks.capped(some_blocks(1000), 200_000)
    assert len(drawn) == 100
    assert [block.number for block in drawn] == sorted(block.number for block in drawn)
    assert 300 < sum(block.number for block in drawn) / 100 < 700
    assert blocks.capped(some_blocks(7), None) == some_blocks(7)


@pytest.mark.parametrize(("count", "held"), [(0, 0), (1, 0), (2, 1), (100, 1), (1000, 5)])
def test_half_a_percent_is_held_out_and_never_everything(count: int, held: int) -> None:
    training, held_out = blocks.split(some_blocks(count))
    assert len(held_out) == held
    assert sorted(block.number for block in training + held_out) == list(range(count))


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    rng = random.Random(5)
    words = ["river", "bank", "money", "tree", "house", "light", "spring", "table", "water", "stone"]
    texts = {
        name: "\n\n".join(f"The {' '.join(rng.choices(words, k=6))} was {name}." for _ in range(3 * BLOCK_SENTENCES))
        for name in ("old", "new")
    }
    texts["new"] += "\n\nThe house was sold.\n\nThe house was sold.\n\nGo."
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    downloads = tmp_path / "toy" / "work" / "downloads"
    downloads.mkdir(parents=True)
    with tarfile.open(downloads / "toy.tar.gz", "w:gz") as archive:
        for name, text in texts.items():
            info = tarfile.TarInfo(f"{name}.txt")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    digest = sha256((downloads / "toy.tar.gz").read_bytes()).hexdigest()
    entries = tuple(
        Source(
            name=name,
            registry="npm",
            package="toy",
            version="1.0",
            file="toy.tar.gz",
            sha256=digest,
            members=(f"{name}.txt",),
            reader="plain",
            licence="CC0",
            what="Toys.",
            cap=2000 if name == "old" else None,
        )
        for name in texts
    )
    return Recipe("toy", "en", entries)


def test_preparation_counts_splits_and_repeats_itself(recipe: Recipe) -> None:
    summary = prepare(recipe)
    names = ("train.txt", "heldout.txt", "old-heldout.txt", "sources.json")
    first = {name: (recipe.work / name).read_bytes() for name in names}
    assert prepare(recipe) == summary == json.loads(first["sources.json"])
    assert {name: (recipe.work / name).read_bytes() for name in names} == first
    assert sorted(path.name for path in recipe.work.iterdir()) == sorted([*names, "downloads"])

    train, heldout = (first[name].decode().splitlines() for name in names[:2])
    assert len(set(train)) == len(train)
    assert not set(train) & set(heldout)
    assert summary["heldout"] == {"sentences": len(heldout), "tokens": sum(len(line.split()) for line in heldout)}
    assert summary["train"] == {"sentences": len(train), "tokens": sum(len(line.split()) for line in train)}
    old, new = (json.loads(first["sources.json"])["sources"][name] for name in ("old", "new"))
    assert new["removed sentences"] == {"duplicate": 1, "too short": 1}
    # A block of the old text holds 100 sentences of 9 or 10 tokens, so that two fit under the cap.
    assert old["removed sentences"] == {"over the cap": 100}
    assert old["heldout"]["sentences"] == 100
    assert new["heldout"]["sentences"] > 0


def test_a_source_that_is_read_several_times_counts_once_as_text(recipe: Recipe) -> None:
    once = prepare(recipe)
    often = replace(recipe, sources=tuple(replace(one, times=3 if one.name == "new" else 1) for one in recipe.sources))
    summary = prepare(often)
    lines = Counter((recipe.work / "train.txt").read_text("utf-8").splitlines())
    assert {line.split()[-2]: count for line, count in lines.items() if len(line.split()) > 6} == {"old": 1, "new": 3}
    assert {name: summary[name] for name in ("train", "heldout")} == {name: once[name] for name in ("train", "heldout")}
    assert once["read"] == once["train"]
    assert summary["read"] == {
        "sentences": lines.total(),
        "tokens": sum(count * len(line.split()) for line, count in lines.items()),
    }
    text = (recipe.work.parent / "TEXT.md").read_text("utf-8")
    assert f"With what is read several times, an epoch has {summary['read']['tokens']:,}." in text
    assert f"| {summary['sources']['new']['train']['tokens']:,} x 3 |" in text  # type: ignore[index]


def test_a_failed_run_leaves_what_was_there(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(recipe)
    before = {path.name: path.read_bytes() for path in recipe.work.glob("*.*")}

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(blocks, "write", fail)
    with pytest.raises(OSError, match="disk full"):
        prepare(recipe)
    assert {path.name: path.read_bytes() for path in recipe.work.glob("*.*")} == before


def test_measured_text_is_left_out_sentence_by_sentence_or_as_a_document(tmp_path: Path, recipe: Recipe) -> None:
    measured = Measured()
    measured.add("pets", ["THE CAT was sold to us -- the DOG, too.", "The dog was sold to them."], "en")
    documents = [
        "The cat was sold to us, the dog too. The dog was sold to them. The fox was here.",
        "The cat was sold to us; the dog, too. The hen was there.",
    ]
    with (tmp_path / "scratch").open("w+b") as scratch:
        counts = collect(documents, recipe.sources[1], Filters("en", measured), scratch)
        scratch.seek(0)
        assert scratch.read() == b"The hen was there .\n"
    assert counts.removed == {"measured text": 4}
    assert counts.measured == {"pets": 3}


def test_what_was_held_out_before_is_written_apart_and_not_trained_on(recipe: Recipe) -> None:
    prepare(recipe)
    lines = (recipe.work / "train.txt").read_text("utf-8").splitlines()
    before = [lines[3].upper(), lines[70]]
    keys = "".join(f"{key(line):016x}\n" for line in before)
    (recipe.work.parent / "old-heldout.keys").write_text(keys, encoding="ascii")
    summary = prepare(recipe)
    assert sorted((recipe.work / "old-heldout.txt").read_text("utf-8").splitlines()) == sorted([lines[3], lines[70]])
    after = (recipe.work / "train.txt").read_text("utf-8") + (recipe.work / "heldout.txt").read_text("utf-8")
    assert not {lines[3], lines[70]} & set(after.splitlines())
    assert summary["old heldout"] == {
        "sentences": 2,
        "of": 2,
        "tokens": len(lines[3].split()) + len(lines[70].split()),
    }


def test_an_optional_source_that_cannot_be_had_is_left_out(recipe: Recipe, capsys: pytest.CaptureFixture[str]) -> None:
    gone = replace(recipe.sources[0], name="gone", registry="debian", package="no-such", file="no-such.deb")
    with pytest.raises(InputError, match=r"no-such=1\.0: apt-get"):
        prepare(replace(recipe, sources=(*recipe.sources, gone)))
    summary = prepare(replace(recipe, sources=(*recipe.sources, replace(gone, optional=True))))
    assert summary["unavailable"] == ["gone"]
    assert "gone: left out: no-such=1.0: apt-get" in capsys.readouterr().err


def test_a_table_of_the_sources_is_written(recipe: Recipe) -> None:
    prepare(recipe)
    table = (recipe.work.parent / "TEXT.md").read_text("utf-8")
    assert "| Toys. | other | npm: toy 1.0 | CC0 | " in table
    assert "Found in the sources: " in table


def test_evaluation_sources_are_not_trained_on(recipe: Recipe) -> None:
    summary = prepare(Recipe("toy", "en", recipe.sources, recipe.sources[:1]))
    assert summary["sources"]["old"]["train"] == {"sentences": 0, "tokens": 0}  # type: ignore[index]
    assert not any(" was old ." in line for line in (recipe.work / "train.txt").read_text().splitlines())
