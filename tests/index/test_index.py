"""The index beside a plain search over all vectors."""

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorder import Recorder
from tiny import tiny_model

from polyseme.embed.embedder import Embedder
from polyseme.embed.load import load
from polyseme.errors import FormatError, InputError, Interrupted, OutputError
from polyseme.files.work_folder import work_path
from polyseme.formats import native
from polyseme.index import transaction, vectors
from polyseme.index.manifest import read_manifest
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.index.places import Place
from polyseme.index.transaction import Transaction
from polyseme.text.corpus import Corpus
from polyseme.text.dictionary import Dictionary
from polyseme.text.held_sentences import HeldSentences

SENTENCES = [
    ["The", "bank", "of", "the", "river", "was", "steep"],
    ["She", "works", "at", "a", "bank"],
    ["They", "play", "cards"],
    ["The", "Bank", "closed"],
    ["A", "play", "in", "three", "acts", "."],
] * 4
SHARD = 600  # bytes of vectors: a few sentences
QUERY = ["A", "bank", "by", "the", "river"]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder(tiny_model())


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("".join(" ".join(sentence) + "\n" for sentence in SENTENCES), encoding="utf-8")
    return path


@pytest.fixture
def index(embedder: Embedder, text: Path, tmp_path: Path) -> OccurrenceIndex:
    return OccurrenceIndex.build(embedder, Corpus([text]), tmp_path / "index")


def same_files(one: Path, two: Path) -> None:
    """Two indexes are the same byte by byte, but for the ids of their runs."""
    files = [sorted(path.relative_to(folder) for path in folder.rglob("*.*")) for folder in (one, two)]
    assert files[0] == files[1]
    for name in files[0]:
        if name.name != "index.json":
            assert (one / name).read_bytes() == (two / name).read_bytes()
    assert read_manifest(one).model_copy(update={"runs": []}) == read_manifest(two).model_copy(update={"runs": []})


def plain_search(embedder: Embedder, sentences: list[list[str]]) -> list[tuple[float, str, int, int]]:
    """Every occurrence with its cosine to the query, best first."""
    (rows,) = embedder.embed([QUERY], layers="top")
    query = rows[1] / np.linalg.norm(rows[1])
    found = []
    for number, sentence in enumerate(sentences):
        (rows,) = embedder.embed([sentence], layers="top")
        for position, row in enumerate(rows):
            found.append((float(row @ query / np.linalg.norm(row)), sentence[position], number, position))
    return sorted(found, reverse=True)


def test_the_model_is_found_again(text: Path, tmp_path: Path) -> None:
    native.write(tiny_model(), tmp_path / "model")
    OccurrenceIndex.build(load(tmp_path / "model"), Corpus([text]), tmp_path / "index")
    assert OccurrenceIndex(tmp_path / "index").nearest(SENTENCES[0], 1, k=1)[0].similarity == pytest.approx(1, abs=2e-3)


def test_sentences_in_memory(embedder: Embedder, index: OccurrenceIndex, tmp_path: Path) -> None:
    told = Recorder()
    held = OccurrenceIndex.build(embedder, iter(SENTENCES), tmp_path / "held", watcher=told)
    found = index.nearest(QUERY, 1, k=20)
    assert held.nearest(QUERY, 1, k=20) == [one._replace(place=Place()) for one in found]
    stage = "indexing 20 sentences in memory"
    assert told.shares(stage) == [number / len(SENTENCES) for number in range(1, len(SENTENCES) + 1)]
    assert told.stages[stage][-1][1]["tokens"] == sum(map(len, SENTENCES))
    assert (
        HeldSentences(SENTENCES).identity() == HeldSentences(SENTENCES).identity() != HeldSentences([QUERY]).identity()
    )
    odd = OccurrenceIndex.build(embedder, [["half", "\ud83d"]], tmp_path / "odd", layers=np.int64(1))  # type: ignore[arg-type]
    assert odd.nearest(["half", "\ud83d"], 1, k=1)[0].sentence == ["half", "\ud83d"]
    assert OccurrenceIndex(tmp_path / "odd", embedder).counts["\ud83d"] == 1
    with pytest.raises(InputError, match=r"^0 sentences in memory: no sentences; give text with at least one word"):
        OccurrenceIndex.build(embedder, [], tmp_path / "none")


class TestNearest:
    def test_what_is_found_is_what_a_plain_search_finds(self, index: OccurrenceIndex, embedder: Embedder) -> None:
        expected = plain_search(embedder, SENTENCES)
        found = index.nearest(QUERY, 1, k=20)
        assert len(index) == sum(map(len, SENTENCES)) == len(expected)
        assert [one.similarity for one in found] == pytest.approx([one[0] for one in expected[:20]], abs=2e-3)
        for one in found:
            assert one.sentence in SENTENCES
            assert one.sentence[one.position] == one.word

    def test_the_same_word_in_any_case_and_other_words(self, index: OccurrenceIndex, embedder: Embedder) -> None:
        same = index.nearest(QUERY, 1, k=100, words="same")
        assert [one.word.lower() for one in same] == ["bank"] * 12
        expected = [one[0] for one in plain_search(embedder, SENTENCES) if one[1].lower() == "bank"]
        assert [one.similarity for one in same] == pytest.approx(expected, abs=2e-3)
        other = index.nearest(QUERY, 1, k=1000, words="other")
        assert len(other) == len(index) - 12
        assert "bank" not in {one.word.lower() for one in other}

    def test_grouped_by_word(self, index: OccurrenceIndex, embedder: Embedder) -> None:
        best: dict[str, float] = {}
        for similarity, word, _, _ in plain_search(embedder, SENTENCES):
            best.setdefault(word, similarity)
        found = index.nearest(QUERY, 1, k=8, group=True)
        assert [one.word for one in found] == list(best)[:8]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"position": 9}, "position 9 is not in the sentence of 5 tokens; count from 0"),
            ({"k": 0}, "k is 0, expected how many occurrences to give, at least 1"),
            ({"words": "same", "group": True}, "leave out one of the two"),
            ({"words": "Same"}, "words is 'Same', expected one of any, same, other"),
            ({"position": "bank"}, "position is 'bank', expected the number of a token, from 0"),
        ],
    )
    def test_what_cannot_be_asked(self, index: OccurrenceIndex, options: dict[str, Any], message: str) -> None:
        with pytest.raises(InputError, match=message):
            index.nearest(QUERY, **{"position": 1, **options})

    @pytest.mark.parametrize("compression", ["float16", "int8", "pq"])
    def test_many_vectors_are_clustered_and_nearly_all_is_found(
        self, compression: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        draw = np.random.default_rng(1)
        centres = draw.standard_normal((50, 32))
        spread = centres[draw.integers(50, size=12_000)] + draw.standard_normal((12_000, 32)) * 0.3
        rows = vectors.unit(spread.astype(np.float32))
        monkeypatch.setattr(vectors, "_CLUSTERED", 10_000)
        found = vectors.build(rows.astype(np.float16), compression)  # type: ignore[arg-type]
        assert found.nlist == 109
        hits = 0
        for query in rows[:50].astype(np.float32):
            exact = set(np.argsort(-(rows @ query))[:10].tolist())
            hits += len(exact & set(vectors.search(found, query, 10)[1].tolist()))
        assert hits / 500 > {"float16": 0.95, "int8": 0.9, "pq": 0.3}[compression]
        only = np.arange(0, 12_000, 7)
        query = rows[3].astype(np.float32)
        got = vectors.search(found, query, 5, only=only)[1]
        assert set(got.tolist()) <= set(only.tolist())
        assert len(got) == 5


class TestBuilding:
    def test_several_shards_are_one_index(self, embedder: Embedder, text: Path, tmp_path: Path) -> None:
        whole = OccurrenceIndex.build(embedder, Corpus([text]), tmp_path / "whole")
        parts = OccurrenceIndex.build(embedder, Corpus([text]), tmp_path / "parts", shard_bytes=SHARD)
        assert len(list((tmp_path / "parts").glob("shard-*"))) > 2
        assert len(parts) == len(whole)
        assert parts.counts == whole.counts
        one, two = (index.nearest(QUERY, 1, k=30) for index in (whole, parts))
        assert [found.similarity for found in one] == pytest.approx([found.similarity for found in two], abs=1e-3)
        assert [found[0] for found in parts.similar("bank", least=4)] == [
            found[0] for found in whole.similar("bank", least=4)
        ]

    def test_only_sentences_with_a_chosen_word_are_embedded(
        self, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for stateful, expected in ((False, [SENTENCES[3]] * 4), (True, SENTENCES)):
            embedder, told = Embedder(tiny_model(), stateful=stateful), Recorder()
            seen: list[list[str]] = []
            stream = embedder.stream

            def watched(sentences, *, layers, stream=stream, seen=seen):  # type: ignore[no-untyped-def]
                return stream((seen.append(one) or one for one in sentences), layers=layers)

            monkeypatch.setattr(embedder, "stream", watched)
            built = OccurrenceIndex.build(
                embedder,
                Corpus([text]),
                tmp_path / f"chosen-{stateful}",
                words=["Bank"],
                watcher=told,
            )
            assert len(built) == 4
            assert seen == expected
            assert told.stages[f"indexing {text}"][-1][1]["tokens"] == sum(map(len, SENTENCES))
            told.check_shares()

    def test_chosen_words_and_a_sample(self, embedder: Embedder, text: Path, tmp_path: Path) -> None:
        chosen = OccurrenceIndex.build(embedder, Corpus([text]), tmp_path / "chosen", words=["bank", "play"])
        assert chosen.counts == {"bank": 8, "play": 8}
        sample = OccurrenceIndex.build(embedder, Corpus([text]), tmp_path / "sample", sample=0.5)
        again = OccurrenceIndex.build(embedder, Corpus([text]), tmp_path / "again", sample=0.5)
        assert 30 < len(sample) < 74
        assert sample.counts == again.counts

    def test_added_text_is_found(self, index: OccurrenceIndex, embedder: Embedder, tmp_path: Path) -> None:
        (tmp_path / "more.txt").write_text("the bank by the river\n", encoding="utf-8")
        before = len(index)
        more = OccurrenceIndex.build(embedder, Corpus([tmp_path / "more.txt"]), index.path, append=True)
        assert len(more) == before + 5
        best = more.nearest(["the", "bank", "by", "the", "river"], 1, k=1)[0]
        assert best.sentence == ["the", "bank", "by", "the", "river"]
        assert best.similarity == pytest.approx(1, abs=1e-3)
        assert not (tmp_path / "index.partial").exists()

    def test_an_interrupted_build_goes_on(
        self, embedder: Embedder, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = OccurrenceIndex.build(embedder, Corpus([text]), tmp_path / "whole", shard_bytes=SHARD)
        store, calls = Transaction.store, []

        def stop_at_the_third(self: Transaction, *given: object, **options: object) -> None:
            calls.append(1)
            if len(calls) == 3:
                (self.path / "index" / "shard-00002").mkdir()  # half written
                raise KeyboardInterrupt
            store(self, *given, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(Transaction, "store", stop_at_the_third)
        with pytest.raises(KeyboardInterrupt):
            OccurrenceIndex.build(embedder, Corpus([text]), tmp_path / "index", shard_bytes=SHARD)
        monkeypatch.setattr(Transaction, "store", store)
        assert not (tmp_path / "index").exists()
        with pytest.raises(InputError, match=r"index\.partial: holds the work of an interrupted run; continue it with"):
            OccurrenceIndex.build(embedder, Corpus([text]), tmp_path / "index")
        with pytest.raises(InputError, match=r"sample was 1.0 in the interrupted run and is 0.5 here; resume with the"):
            OccurrenceIndex.build(
                embedder, Corpus([text]), tmp_path / "index", shard_bytes=SHARD, sample=0.5, resume=True
            )
        OccurrenceIndex.build(embedder, Corpus([text]), tmp_path / "index", shard_bytes=SHARD, resume=True)
        same_files(tmp_path / "index", whole.path)

    @pytest.mark.parametrize("stateful", [False, True])
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_a_signal_stores_the_shard_in_hand(
        self, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, stateful: bool
    ) -> None:
        def embedder() -> Embedder:
            return Embedder(tiny_model(), stateful=stateful, batch_size=2, batch_tokens=4)

        whole = OccurrenceIndex.build(embedder(), Corpus([text]), tmp_path / "whole", shard_bytes=SHARD)
        interrupted = embedder()
        stream = interrupted.stream

        def signalled(*given, **options):  # type: ignore[no-untyped-def]
            for count, rows in enumerate(stream(*given, **options)):
                if count == 9:
                    signal.raise_signal(number)
                yield rows

        monkeypatch.setattr(interrupted, "stream", signalled)
        with pytest.raises(
            Interrupted, match=r"^interrupted; what was done is stored in .*index\.partial: continue with"
        ):
            OccurrenceIndex.build(interrupted, Corpus([text]), tmp_path / "index", shard_bytes=SHARD)
        stored = json.loads((tmp_path / "index.partial" / "stored.json").read_text())
        assert (stored["sentences"], stored["pending"]) == (9, "pending-9.npz")
        OccurrenceIndex.build(embedder(), Corpus([text]), tmp_path / "index", shard_bytes=SHARD, resume=True)
        same_files(tmp_path / "index", whole.path)

    def test_what_was_finished_is_recognised(
        self, index: OccurrenceIndex, embedder: Embedder, text: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "more.txt").write_text("the bank by the river\n", encoding="utf-8")
        more = Corpus([tmp_path / "more.txt"])
        for _ in range(2):  # there is nothing to resume at first
            told = Recorder()
            added = OccurrenceIndex.build(embedder, more, index.path, append=True, resume=True, watcher=told)
            assert len(added) == len(index) + 5
        assert told.notes == [
            f"{index.path}: this text was added already, and nothing was left to do; without --resume it is added again"
        ]
        assert len(OccurrenceIndex.build(embedder, more, index.path, append=True)) == len(index) + 10
        told = Recorder()
        OccurrenceIndex.build(embedder, Corpus([text]), index.path, resume=True, watcher=told)
        assert told.notes == [f"{index.path}: this index was built already, and nothing was left to do"]
        assert len(read_manifest(index.path).runs) == 3

    def test_an_index_that_got_other_text_since(
        self, index: OccurrenceIndex, embedder: Embedder, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        finish = Transaction.finish

        def stop(self: Transaction, manifest: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(Transaction, "finish", stop)
        with pytest.raises(KeyboardInterrupt):
            OccurrenceIndex.build(embedder, Corpus([text]), index.path, append=True)
        monkeypatch.setattr(Transaction, "finish", finish)
        partial = tmp_path / "index.partial"
        partial.rename(tmp_path / "aside")
        OccurrenceIndex.build(embedder, [["other", "text"]], index.path, append=True)
        (tmp_path / "aside").rename(partial)
        with pytest.raises(
            InputError, match=r"index: has got other text since .*partial was begun; delete .*partial to"
        ):
            OccurrenceIndex.build(embedder, Corpus([text]), index.path, append=True, resume=True)

    @pytest.mark.parametrize("name", ["run.json", "stored.json", "pending-9.npz"])
    @pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b"PK\x03\x04", b'{"run": 3}'])
    def test_a_damaged_work_folder(
        self, embedder: Embedder, text: Path, tmp_path: Path, name: str, content: bytes
    ) -> None:
        with Transaction(
            tmp_path / "index", {}, resume=False, append=False, check=lambda manifest: None
        ) as transaction:
            writer = transaction.pending(12)
            writer.add(["a", "bank"], [1], np.ones((1, 12), dtype=np.float32))
            transaction.store_pending(writer, sentences=9)
        (tmp_path / "index.partial" / name).write_bytes(content)
        with (
            pytest.raises(FormatError, match=rf"{name}: .*; delete .*index\.partial to begin again$"),
            Transaction(tmp_path / "index", {}, resume=True, append=False, check=lambda manifest: None) as transaction,
        ):
            transaction.pending(12)

    def test_a_refused_build_does_not_block_the_next(self, embedder: Embedder, text: Path, tmp_path: Path) -> None:
        (tmp_path / "empty.txt").write_text("\n")
        with pytest.raises(InputError, match=r"empty\.txt: no sentences"):
            OccurrenceIndex.build(embedder, Corpus([tmp_path / "empty.txt"]), tmp_path / "index")
        assert len(OccurrenceIndex.build(embedder, Corpus([text]), tmp_path / "index"))

    def test_the_folder_one_stands_in(
        self, index: OccurrenceIndex, embedder: Embedder, text: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(index.path)
        with pytest.raises(InputError, match=r"^\.: exists already; give the name of a new folder, or --append"):
            OccurrenceIndex.build(embedder, Corpus([text]), ".")
        assert len(OccurrenceIndex.build(embedder, Corpus([text]), ".", append=True)) == 2 * len(index)
        with pytest.raises(InputError, match=r"^/: exists already; give the name of a new folder"):
            OccurrenceIndex.build(embedder, Corpus([text]), "/")

    @pytest.mark.parametrize("failing", [1, 2])
    def test_a_full_disk(
        self, failing: int, embedder: Embedder, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Faiss has an error of its own for it."""
        writes = iter(range(1, 100))
        plain = vectors.write

        def full(index: object, path: Path) -> None:
            if next(writes) == failing:
                raise RuntimeError("Error in virtual size_t faiss::FileIOWriter: write error:\n  disk full")
            plain(index, path)

        monkeypatch.setattr(vectors, "write", full)
        told = "nothing was stored" if failing == 1 else "what was stored before is kept, continue with --resume"
        with pytest.raises(
            OutputError, match=rf"index.partial: could not be written \(Error in .* disk full\); {told}$"
        ):
            OccurrenceIndex.build(embedder, Corpus([text]), tmp_path / "index", shard_bytes=SHARD)
        assert (tmp_path / "index.partial").exists() == (failing == 2)

    def test_a_disk_that_is_full_from_the_beginning(
        self, embedder: Embedder, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(path: Path, value: object) -> None:
            raise OSError(28, "No space left on device", str(path))

        monkeypatch.setattr(transaction, "write_json", full)
        with pytest.raises(
            OutputError, match=r"index.partial: could not be written \(No space left on device\); nothing"
        ):
            OccurrenceIndex.build(embedder, Corpus([text]), tmp_path / "index")
        assert not (tmp_path / "index.partial").exists()

    def test_a_disk_without_room_for_a_folder(
        self, index: OccurrenceIndex, embedder: Embedder, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Text is added: the folder of the new shards cannot be made."""
        plain, before = Path.mkdir, sorted(index.path.iterdir())

        def full(path: Path, *, exist_ok: bool = False, parents: bool = False) -> None:
            if path.parent.suffix == ".partial":
                raise OSError(28, "No space left on device", str(path))
            plain(path, exist_ok=exist_ok, parents=parents)

        monkeypatch.setattr(Path, "mkdir", full)
        with pytest.raises(
            OutputError, match=r"partial: could not be written \(No space left on device\); nothing was"
        ):
            OccurrenceIndex.build(embedder, Corpus([text]), index.path, append=True)
        assert sorted(index.path.iterdir()) == before
        assert not work_path(index.path).exists()

    def test_refusals(self, index: OccurrenceIndex, embedder: Embedder, text: Path, tmp_path: Path) -> None:
        corpus = Corpus([text])
        with pytest.raises(InputError, match=r"index: exists already; give the name of a new folder, or --append"):
            OccurrenceIndex.build(embedder, corpus, index.path)
        with pytest.raises(InputError, match=r"the path is not UTF-8, and faiss cannot open it; give another$"):
            OccurrenceIndex.build(embedder, corpus, tmp_path / "caf\udce9")
        with pytest.raises(
            InputError, match=r"words is the single word 'bank', but a list of words is expected: \['bank"
        ):
            OccurrenceIndex.build(embedder, corpus, tmp_path / "none", words="bank")
        with pytest.raises(
            InputError, match=r"corpus is the path 'text.txt', expected Corpus\(\[path\], tokenize=...\) or"
        ):
            OccurrenceIndex.build(embedder, "text.txt", tmp_path / "none")
        with pytest.raises(InputError, match=r"embedder is 'a-model', expected what polyseme.load gives; a path goes"):
            OccurrenceIndex(index.path, "a-model")  # type: ignore[arg-type]
        with pytest.raises(InputError, match=r"index: 'BANK' is not in it; try 'bank'$"):
            index.similar("BANK")
        with pytest.raises(InputError, match=r"index: 'zebra' is not in it; give another word$"):
            index.similar("zebra")
        with pytest.raises(InputError, match=r"^k is -1, expected how many words to give, at least 1$"):
            index.similar("bank", k=-1)
        with pytest.raises(InputError, match=r"does not say where its model is; name it with -m, or as model="):
            OccurrenceIndex(index.path).nearest(QUERY, 1)
        with pytest.raises(InputError, match=r"was built with layers 'top', not 'mean'"):
            OccurrenceIndex.build(embedder, corpus, index.path, append=True, layers="mean")
        with pytest.raises(InputError, match=r"it has none of the words; nothing was stored"):
            OccurrenceIndex.build(embedder, corpus, tmp_path / "none", words=["zebra"])
        with pytest.raises(
            InputError, match=r"an occurrence has one vector; choose layers 'top', 'mean' or a layer's number"
        ):
            OccurrenceIndex.build(embedder, corpus, tmp_path / "none", layers="all")
        (tmp_path / "empty.txt").write_text("\n")
        with pytest.raises(InputError, match=r"empty\.txt: no sentences; give text with at least one word"):
            OccurrenceIndex.build(embedder, Corpus([tmp_path / "empty.txt"]), tmp_path / "none")
        assert not (tmp_path / "none").exists()


class TestOpening:
    def test_another_models_query_is_refused(self, index: OccurrenceIndex) -> None:
        with pytest.raises(
            InputError, match=r"index: was built with model .* vectors of two models cannot be compared"
        ):
            OccurrenceIndex(index.path, Embedder(tiny_model(seed=1)))

    @pytest.mark.parametrize("name", ["vectors.faiss", "occurrences.npy", "sentences.jsonl", "sums.npy", "words.json"])
    def test_damage_is_reported(self, index: OccurrenceIndex, name: str) -> None:
        path = index.path / "shard-00000" / name
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(FormatError, match=rf"{name}: its bytes have changed since it was written"):
            OccurrenceIndex(index.path)
        path.write_bytes(whole[:-1])
        with pytest.raises(FormatError, match=rf"{name}: .* bytes where .* were written; the index is damaged"):
            OccurrenceIndex(index.path)
        path.unlink()
        with pytest.raises(FormatError, match=rf"{name}: missing; the index is incomplete"):
            OccurrenceIndex(index.path)

    def test_what_is_no_index(self, index: OccurrenceIndex, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"no index is here \(index\.json is missing\); build one"):
            OccurrenceIndex(tmp_path)
        (index.path / "index.json").write_text('{"format"')
        with pytest.raises(
            FormatError, match=r"index\.json: cannot be read, empty or damaged .*; the index is damaged, build it again"
        ):
            OccurrenceIndex(index.path)


class TestWords:
    def test_similar_words_by_the_average_of_their_vectors(self, index: OccurrenceIndex, embedder: Embedder) -> None:
        rows: dict[str, list[np.ndarray]] = {}
        for sentence, array in zip(SENTENCES, embedder.embed(SENTENCES, layers="top"), strict=True):
            for token, row in zip(sentence, array, strict=True):
                rows.setdefault(token, []).append(row / np.linalg.norm(row))
        means = {word: np.mean(some, axis=0) for word, some in rows.items() if len(some) >= 8}
        centre = np.mean(list(means.values()), axis=0)
        unit = {word: (mean - centre) / np.linalg.norm(mean - centre) for word, mean in means.items()}
        expected = sorted(((float(unit[w] @ unit["bank"]), w) for w in unit if w != "bank"), reverse=True)
        found = index.similar("bank", least=8)
        assert [one.word for one in found] == [word for _, word in expected][:10]
        assert [one.similarity for one in found] == pytest.approx([value for value, _ in expected][:10], abs=5e-3)
        assert found[0].occurrences >= 8

    def test_occurrences_of_a_word_with_their_vectors(self, index: OccurrenceIndex, embedder: Embedder) -> None:
        found, rows = index.occurrences("play")
        assert len(found) == len(rows) == 8
        for one, row in zip(found, rows, strict=True):
            (array,) = embedder.embed([one.sentence], layers="top")
            assert row @ vectors.unit(array[one.position]) > 0.999
        assert len(index.occurrences("play", most=3)[0]) == 3

    def test_a_missing_word(self, index: OccurrenceIndex) -> None:
        with pytest.raises(InputError, match=r"no occurrence of 'zebra'; it is not in the text, or was not chosen"):
            index.occurrences("zebra")
        with pytest.raises(InputError, match=r"'zebra' is not in it; give another word"):
            index.similar("zebra")
        with pytest.raises(InputError, match=r"'acts' occurs only 4 times in it, fewer than 5"):
            index.similar("acts")


class TestDictionary:
    NAMES = Dictionary(["玄德", "操"])

    @pytest.fixture
    def novel(self, embedder: Embedder, tmp_path: Path) -> OccurrenceIndex:
        (tmp_path / "novel.txt").write_text("玄德甚喜。操大怒曰。\n", encoding="utf-8")
        corpus = Corpus([tmp_path / "novel.txt"], tokenize="zh", dictionary=self.NAMES)
        return OccurrenceIndex.build(embedder, corpus, tmp_path / "novel")

    def test_an_index_keeps_the_words_themselves(self, novel: OccurrenceIndex, index: OccurrenceIndex) -> None:
        assert novel.counts["玄德"] == novel.counts["操"] == 1
        opened = OccurrenceIndex(novel.path)
        assert opened.segmentation.dictionary == self.NAMES
        assert index.segmentation.dictionary is None

    def test_text_cut_otherwise_is_not_added(self, novel: OccurrenceIndex, embedder: Embedder, tmp_path: Path) -> None:
        text = [tmp_path / "novel.txt"]
        for other in (None, Dictionary(["玄德"])):
            corpus = Corpus(text, tokenize="zh", dictionary=other)
            with pytest.raises(InputError, match=r"novel: was built with another dictionary; add to it with the same"):
                OccurrenceIndex.build(embedder, corpus, novel.path, append=True)
        again = Corpus(text, tokenize="zh", dictionary=Dictionary(["操", "玄德"]))  # the order does not matter
        assert len(OccurrenceIndex.build(embedder, again, novel.path, append=True)) == 2 * len(novel)

    def test_an_index_built_before_there_were_dictionaries(self, index: OccurrenceIndex) -> None:
        path = index.path / "index.json"
        manifest = json.loads(path.read_text(encoding="utf-8"))
        del manifest["dictionary"]
        path.write_text(json.dumps(manifest), encoding="utf-8")
        assert OccurrenceIndex(index.path).segmentation.dictionary is None


class TestChoice:
    """Searches in a part of the index, beside a plain search in that part."""

    @pytest.fixture
    def index(self, embedder: Embedder, tmp_path: Path) -> OccurrenceIndex:
        for name, lines in (("one", SENTENCES[:3]), ("two", SENTENCES[3:5])):
            text = "".join(" ".join(tokens) + "\n" for tokens in lines)
            (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
        place = tmp_path / "index"
        files = Corpus([tmp_path / "one.txt", tmp_path / "two.txt"])
        OccurrenceIndex.build(embedder, files, place, shard_bytes=SHARD, label="old")
        return OccurrenceIndex.build(embedder, SENTENCES[:2], place, append=True, label="new")

    def test_every_condition_is_kept(self, index: OccurrenceIndex, embedder: Embedder, tmp_path: Path) -> None:
        expected = plain_search(embedder, SENTENCES[3:5])
        two = index.nearest(QUERY, 1, k=100, document=str(tmp_path / "two.txt"))
        assert [one.similarity for one in two] == pytest.approx([one[0] for one in expected], abs=2e-3)
        assert {one.place.label for one in two} == {"old"}
        new = index.nearest(QUERY, 1, k=100, label="new", words="other")
        assert sorted(one.word for one in new) == sorted(
            token for tokens in SENTENCES[:2] for token in tokens if token != "bank"
        )
        assert {one.place for one in new} == {Place(label="new")}
        both = index.nearest(QUERY, 1, k=100, only=["PLAY", "the"], document=str(tmp_path / "one.txt"), label="old")
        assert sorted(one.word for one in both) == ["The", "play", "the"]

    def test_what_does_not_fit(self, index: OccurrenceIndex, tmp_path: Path) -> None:
        assert index.nearest(QUERY, 1, document=str(tmp_path / "one.txt"), label="new") == []
        assert index.nearest(QUERY, 1, document="steep") == index.nearest(QUERY, 1, label="") == []
        assert index.nearest(QUERY, 1, words="same", only=["play"]) == []
        assert len(index.nearest(QUERY, 1, words="same", only=["play", "BANK"])) == 5
        with pytest.raises(InputError, match=r"only is the single word 'bank', but a list of words is expected"):
            index.nearest(QUERY, 1, only="bank")
