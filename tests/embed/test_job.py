"""A corpus into a file of vectors, called from Python: what it returns, says, stores and resumes."""

import io
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tiny import tiny_model
from writer_cases import SUFFIXES, read

from polyseme.embed import job
from polyseme.embed.embedder import Embedder
from polyseme.embed.job import embed_corpus
from polyseme.embed.writers import VectorWriter, open_writer
from polyseme.errors import FormatError, InputError, Interrupted, OutputError
from polyseme.files.work_folder import WorkFolder
from polyseme.nn.scalar_mix import ScalarMix
from polyseme.progress import Watcher, open_watcher
from polyseme.text.corpus import Corpus

SENTENCES = [[f"word{number}", "on", "the", "bank"][: number % 5] for number in range(40)]


class Stopping(Embedder):
    """Does something when it has given some sentences."""

    def __init__(self, action: Callable[[], object], after: int, *, batch_tokens: int = 8) -> None:
        super().__init__(tiny_model(), batch_tokens=batch_tokens)
        self._action, self._after = action, after

    def stream(self, sentences: Iterable[Sequence[str]], *, layers: object = "all") -> Iterator[np.ndarray]:
        for number, vectors in enumerate(super().stream(sentences, layers=layers)):  # type: ignore[arg-type]
            if number == self._after:
                self._action()
            yield vectors


class Notes(Watcher):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def note(self, text: str) -> None:
        self.told.append(text)


@pytest.fixture(autouse=True)
def _usual_handlers() -> Iterator[None]:
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


def expected(layers: object = "all") -> list[np.ndarray]:
    return Embedder(tiny_model()).embed(SENTENCES, layers=layers)  # type: ignore[arg-type]


def same(path: Path, wanted: list[np.ndarray], kind: str = "all layers") -> None:
    got = read(path, kind, len(wanted))
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_sentences_in_memory_become_a_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    result = embed_corpus(Embedder(tiny_model()), SENTENCES, path)
    same(path, expected())
    assert result.to_dict() == {
        "output": str(path),
        "sentences": 40,
        "sentences_before": 0,
        "tokens": sum(map(len, SENTENCES)),
        "seconds": round(result.seconds, 3),
        "layers": "all",
        "pool": None,
        "dim": 12,
        "dtype": "float32",
        "longest": 4,
        "replaced": 0,
    }
    json.dumps(result.to_dict())
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_corpus_pooled(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("".join(" ".join(tokens) + "\n" for tokens in SENTENCES))
    embedder = Embedder(tiny_model())
    result = embed_corpus(embedder, Corpus([tmp_path / "text.txt"]), str(tmp_path / "out.npz"), pool="max")
    assert (result.layers, result.pool, result.sentences) == ("mean", "max", 40)
    with np.load(tmp_path / "out.npz") as stored:
        np.testing.assert_array_equal(stored["vectors"], embedder.embed_sentences(SENTENCES, pool="max"))


def test_a_mix_is_part_of_the_identity_of_a_run(tmp_path: Path) -> None:
    path = tmp_path / "out.npz"
    mixes = [ScalarMix(3, initial_weights=weights, trainable=False) for weights in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])]
    for _ in range(2):
        with pytest.raises(Interrupted):
            embed_corpus(
                Stopping(lambda: signal.raise_signal(signal.SIGINT), 7), SENTENCES, path, layers=mixes[0], resume=True
            )
    with pytest.raises(InputError, match=r"layers was \{\"weights\": \[1.0, 0.0, 0.0\], \"gamma\": \[1.0\], "):
        embed_corpus(Embedder(tiny_model()), SENTENCES, path, layers=mixes[1], resume=True)
    assert embed_corpus(Embedder(tiny_model()), SENTENCES, path, layers=mixes[0], resume=True).layers == "mix"
    same(path, expected(mixes[0]), "one layer")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pool": "sum"}, "unknown pool 'sum'; expected 'mean' or 'max'"),
        ({"pool": "mean", "layers": "all"}, "one vector per sentence is made of one layer or mix; choose layers mean"),
        ({"layers": 3}, "unknown layer 3; expected one of 0, 1, 2"),
        ({"dtype": "float64"}, "unknown dtype 'float64'; expected one of float32, float16"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_made(
    tmp_path: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        embed_corpus(Embedder(tiny_model()), SENTENCES, tmp_path / "out.npz", **options)  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_path_is_not_a_corpus(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"corpus is the path 'news.txt', expected Corpus\(\[path\]"):
        embed_corpus(Embedder(tiny_model()), "news.txt", tmp_path / "out.npz")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_signal_stores_what_is_done_and_the_run_resumes(tmp_path: Path, suffix: str, number: signal.Signals) -> None:
    path = tmp_path / f"out{suffix}"
    before = signal.getsignal(number)
    with pytest.raises(Interrupted) as caught:
        embed_corpus(Stopping(lambda: os.kill(os.getpid(), number), 17), SENTENCES, path)
    assert str(caught.value) == (f"{path}: interrupted; 17 sentences stored in {path}.partial; continue with --resume")
    assert caught.value.number == number
    assert signal.getsignal(number) == before
    assert not path.exists()
    assert not (tmp_path / f"out{suffix}.lock").exists()
    watcher = Notes()
    result = embed_corpus(Embedder(tiny_model()), SENTENCES, path, resume=True, watcher=watcher)
    assert watcher.told == [f"{path}: continuing after 17 sentences"]
    assert (result.sentences, result.sentences_before) == (23, 17)
    same(path, expected())


def test_a_table_says_where_each_sentence_came_from_also_after_an_interruption(tmp_path: Path) -> None:
    for name, start in (("a.txt", 0), ("b.txt", 20)):
        (tmp_path / name).write_text("".join(f"{' '.join(one)}\n" for one in SENTENCES[start : start + 20]))
    files, path = [tmp_path / "a.txt", tmp_path / "b.txt"], tmp_path / "out.parquet"
    with pytest.raises(Interrupted):
        embed_corpus(Stopping(lambda: os.kill(os.getpid(), signal.SIGINT), 21), Corpus(files), path, pool="mean")
    embed_corpus(Embedder(tiny_model()), Corpus(files), path, pool="mean", resume=True)
    table = pq.read_table(path)
    found = list(zip(*(table[name].to_pylist() for name in ("file", "line", "text")), strict=True))
    assert found == [
        (str(files[number // 20]), number % 20 + 1, " ".join(tokens)) for number, tokens in enumerate(SENTENCES)
    ]


def test_an_interrupt_before_the_first_sentence_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "out.npz"
    with pytest.raises(Interrupted, match=r"out\.npz: interrupted; nothing was stored$"):
        embed_corpus(Stopping(lambda: signal.raise_signal(signal.SIGINT), 0), SENTENCES, path)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_cannot_be_resumed_does_not_advise_it(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, b"The river bank\n" * 30)
    os.close(write_end)
    try:
        corpus = Corpus([f"/dev/fd/{read_end}"])
        with pytest.raises(
            Interrupted, match=r"9 sentences stored in .* this run cannot be resumed, delete the folder"
        ):
            embed_corpus(Stopping(lambda: signal.raise_signal(signal.SIGINT), 9), corpus, tmp_path / "out.npz")
    finally:
        os.close(read_end)


def test_a_signal_at_the_end_lets_the_file_be_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = VectorWriter._finish

    def finish(self: VectorWriter) -> None:
        signal.raise_signal(signal.SIGTERM)
        real(self)

    monkeypatch.setattr(VectorWriter, "_finish", finish)
    embed_corpus(Embedder(tiny_model()), SENTENCES, tmp_path / "out.npz")
    same(tmp_path / "out.npz", expected())


def test_a_thread_embeds_without_handlers(tmp_path: Path) -> None:
    seen: list[object] = []
    handler = signal.getsignal(signal.SIGTERM)

    def work() -> None:
        source = Stopping(lambda: seen.append(signal.getsignal(signal.SIGTERM)), 3)
        seen.append(embed_corpus(source, SENTENCES, tmp_path / "out.npz").sentences)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [handler, 40]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_work_is_stored_by_time_before_the_source_computes_again(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, stored = [0.0], []
    path = tmp_path / f"out{suffix}"
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    class Slow(Embedder):
        """Computes five sentences in 20 seconds and reads one ahead, as an embedder does."""

        def stream(self, sentences: Iterable[Sequence[str]], *, layers: object = "all") -> Iterator[np.ndarray]:
            remaining = iter(sentences)
            following = next(remaining, None)
            while following is not None:
                window = [following, *islice(remaining, 4)]
                following = next(remaining, None)
                parts = [each.stem.split("-") for each in Path(f"{path}.partial").glob("[pr]*-*-*.bin")]
                stored.append(max((int(stop) for _, _, stop in parts), default=0))
                now[0] += 20
                yield from super().stream(window, layers=layers)  # type: ignore[arg-type]

    embed_corpus(Slow(tiny_model()), SENTENCES, path, pool="mean")
    # After 40 seconds everything computed is stored, so that a kill costs those and the 20 of the window in hand.
    assert stored == [0, 0, 10, 10, 20, 20, 30, 30]
    same(path, list(Embedder(tiny_model()).embed_sentences(SENTENCES)), "one vector")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("parts", [1, 3])
def test_a_run_killed_after_its_last_rename_is_complete(
    tmp_path: Path, suffix: str, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"out{suffix}"
    for after in range(parts - 1):
        with pytest.raises(Interrupted):
            embed_corpus(Stopping(lambda: signal.raise_signal(signal.SIGINT), 5 + after), SENTENCES, path, resume=True)
    with monkeypatch.context() as patch:
        patch.setattr(WorkFolder, "remove", lambda self: None)
        embed_corpus(Embedder(tiny_model()), SENTENCES, path, resume=True)
    stamp = path.stat().st_mtime_ns
    assert Path(f"{path}.partial").exists()
    watcher = Notes()
    result = embed_corpus(Embedder(tiny_model()), SENTENCES, path, resume=True, watcher=watcher)
    assert (result.sentences, result.sentences_before, result.tokens) == (0, None, 0)
    assert watcher.told == [
        f"{path}: is complete; only the work folder of the interrupted run was left, and is removed"
    ]
    assert path.stat().st_mtime_ns == stamp
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    same(path, expected())


@pytest.mark.parametrize("kind", ["part", "rest"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_damaged_record_of_what_is_stored_is_named(
    tmp_path: Path, suffix: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "open_writer", partial(open_writer, part_bytes=8000))
    path = tmp_path / f"out{suffix}"
    with pytest.raises(Interrupted):
        embed_corpus(Stopping(lambda: signal.raise_signal(signal.SIGINT), 30), SENTENCES, path)
    stored = sorted(Path(f"{path}.partial").glob(f"{kind}-*"))[-1]
    before = int(stored.stem.split("-")[1])
    assert before
    stored.write_bytes(stored.read_bytes()[:-1])
    with pytest.raises(FormatError) as caught:
        embed_corpus(Embedder(tiny_model()), SENTENCES, path, resume=True)
    assert str(caught.value).startswith(f"{stored}: damaged (")
    assert str(caught.value).endswith("); delete this file and run again with --resume")
    assert "\n" not in str(caught.value)
    stored.unlink()
    assert embed_corpus(Embedder(tiny_model()), SENTENCES, path, resume=True).sentences_before == before
    same(path, expected())


def test_bad_text_after_good_text_names_what_is_left(tmp_path: Path) -> None:
    text, path = tmp_path / "text.jsonl", tmp_path / "out.npz"
    text.write_text('["a"]\n' * 30 + "3\n")
    with pytest.raises(InputError) as caught:
        embed_corpus(Embedder(tiny_model(), batch_tokens=1), Corpus([text]), path)
    assert str(caught.value).startswith(f"{text}:31: ")
    assert str(caught.value).endswith(f"; what was done before is in {path}.partial: delete this folder to begin again")


def test_another_run_on_the_same_output_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.h5"
    seen: list[str] = []

    def meanwhile() -> None:
        with pytest.raises(OutputError) as caught:
            embed_corpus(Embedder(tiny_model()), SENTENCES, path, resume=True)
        seen.append(str(caught.value))

    embed_corpus(Stopping(meanwhile, 3), SENTENCES, path)
    assert seen == [
        f"{path}: is being written by process {os.getpid()}; wait until it is done, or give another name for the output"
    ]
    same(path, expected())


def test_json_progress_tells_the_stages_and_the_result(tmp_path: Path) -> None:
    stream = io.StringIO()
    with open_watcher("json", stream) as watcher:
        embed_corpus(Embedder(tiny_model()), SENTENCES, tmp_path / "out.npz", watcher=watcher)
    events = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [event["event"] for event in events] == ["begin", "step", "step", "begin", "result", "end"]
    assert events[0]["stage"] == "embedding 40 sentences in memory"
    assert events[2]["figures"]["tokens"] == sum(map(len, SENTENCES))
    assert events[2]["share"] == 1.0
    assert events[4]["what"] == str(tmp_path / "out.npz")
    assert events[4]["figures"]["sentences"] == 40
