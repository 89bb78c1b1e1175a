"""One call from text to a model folder."""

import json
import os
import shutil
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyseme.errors import InputError, OutputError
from polyseme.formats.detect import open_model
from polyseme.formats.model import Model
from polyseme.text.characters import ByteCharacters, Indexer, UnicodeCharacters
from polyseme.text.corpus import Corpus, Dictionary, Reader, Tokenizer
from polyseme.text.vocabulary import Vocabulary
from polyseme.train import text_store
from polyseme.train.build import continued_model, fresh_model, softmax_kind
from polyseme.train.distributed import World, world
from polyseme.train.loop import Trainer
from polyseme.train.publish import refresh
from polyseme.train.records import BOARD
from polyseme.train.settings import ARCHITECTURE, Preset, Settings, settings_of
from polyseme.train.text_store import TextStore
from polyseme.train.watcher import Watcher

_MAY_CHANGE = frozenset({"checkpoint_every"})
"""Settings that a resumed run may have otherwise."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    output: Path
    finished: bool
    """False when it was interrupted and can be resumed."""
    updates: int
    perplexity: float | None
    """The best held-out one: full softmax, average of the directions."""


def train(
    corpus: Sequence[str | Path],
    output: str | Path,
    *,
    preset: Preset = "small",
    heldout: Sequence[str | Path] = (),
    reader: Reader = "auto",
    tokenize: Tokenizer | None = None,
    dictionary: str | Path | None = None,
    stop_words: str | Path | None = None,
    start: str | Path | None = None,
    resume: bool = False,
    watcher: Watcher | None = None,
    **settings: Any,
) -> Outcome:
    """Train a biLM on text, from the raw files to a model folder that everything else in polyseme uses.

    Args:
        corpus: Files, folders or "-"; plain or gzip. May be left empty with ``resume``.
        output: The model folder to write. Checkpoints lie beside it in ``OUTPUT.training`` until the run is done.
        preset: Where settings come from that are not given.
        heldout: Held-out text; without it a part of the corpus is held out.
        reader: The format of the text, as in `polyseme.text.corpus.Corpus`.
        tokenize: How raw text is parted into sentences and tokens.
        dictionary: A file of words, one a line, that the tokeniser ``zh`` keeps whole.
        stop_words: A file of words, one a line, that are left out of the text.
        start: A model to go on from, of any known format.
        resume: Go on where an interrupted run of the same configuration stopped.
        watcher: Told what happens.
        settings: Any of `polyseme.train.settings.Settings`.

    Example:
        >>> train(["novel.txt"], "novel-model", preset="tiny", tokenize="en")  # doctest: +SKIP
    """
    output = Path(output)
    folder = output.with_name(output.name + ".training")
    watcher = watcher or Watcher()
    _check_output(output, folder, resume=resume)
    given = {name: value for name, value in settings.items() if value is not None}
    if resume:
        stored = _read_run(folder / "run.json")
        asked = {
            "corpus": [str(path) for path in corpus] or None,
            "heldout": [str(path) for path in heldout] or None,
            "reader": reader if reader != "auto" else None,
            "tokenize": tokenize,
            "dictionary": None if dictionary is None else str(dictionary),
            "stop_words": None if stop_words is None else str(stop_words),
            "start": None if start is None else str(start),
        }
        chosen, run = _agree(stored, asked, preset, given, folder)
    else:
        if start is not None and (settled := sorted(ARCHITECTURE & given.keys())):
            raise InputError(f"{settled[0]} is settled by the model {start} to go on from; leave it out")
        chosen = settings_of(preset, **given)
        run = {
            "corpus": [str(path) for path in corpus],
            "heldout": [str(path) for path in heldout],
            "reader": reader,
            "tokenize": tokenize,
            "dictionary": None if dictionary is None else str(dictionary),
            "stop_words": None if stop_words is None else str(stop_words),
            "start": None if start is None else str(start),
        }
    with world(chosen.device) as everyone:
        return _train(run, chosen, output, folder, everyone, watcher if everyone.first else Watcher(), resume=resume)


def _check_output(output: Path, folder: Path, *, resume: bool) -> None:
    rank = int(os.environ.get("RANK", "0"))
    if rank:
        return
    if resume:
        if not (folder / "run.json").exists():
            done = f"{output}: is complete" if output.exists() else f"{folder}: no such folder"
            raise InputError(f"{done}, so there is nothing to resume; leave out --resume and give a new output folder")
        return
    if output.exists():
        raise InputError(f"{output}: exists already; give the name of a new folder, or --resume to go on training it")
    if folder.exists():
        raise InputError(f"{folder}: an interrupted run is here; go on with --resume, or remove this folder")
    if not output.absolute().parent.is_dir():
        raise InputError(f"{output.absolute().parent}: no such folder to write {output.name} into; create it first")


def _read_run(path: Path) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return stored


def _agree(
    stored: dict[str, Any], asked: dict[str, Any], preset: Preset, given: dict[str, Any], folder: Path
) -> tuple[Settings, dict[str, Any]]:
    """The stored run, if nothing that is asked for now differs from it."""
    before = Settings(**stored["settings"])
    if given or preset != "small":
        now = settings_of(preset, **given).model_dump()
        wanted = set(given) | (set(Settings.model_fields) if preset != "small" else set())
        for name in sorted(wanted - _MAY_CHANGE):
            if now[name] != getattr(before, name):
                raise InputError(
                    f"{folder}: this run was begun with {name} {getattr(before, name)!r}, not {now[name]!r}; "
                    "resume it with the same settings (or with none), or begin another run"
                )
        if "checkpoint_every" in given:
            before = before.model_copy(update={"checkpoint_every": now["checkpoint_every"]})
    for name, value in asked.items():
        if value is not None and value != (known := stored["run"].get(name)):
            raise InputError(
                f"{folder}: this run was begun with {name} {known!r}, not {value!r}; "
                "resume it with the same text, or begin another run"
            )
    return before, stored["run"]


def _train(
    run: dict[str, Any],
    settings: Settings,
    output: Path,
    folder: Path,
    everyone: World,
    watcher: Watcher,
    *,
    resume: bool,
) -> Outcome:
    begun = resume and text_store.is_whole(folder / "text")
    try:
        start = None if run["start"] is None else open_model(run["start"])
        if everyone.first and not begun:
            _prepare(run, settings, folder, start, watcher)
    except Exception:
        # Nothing was learnt yet: leave nothing behind.
        if everyone.first and not begun and not (folder / "checkpoint.pt").exists():
            shutil.rmtree(folder, ignore_errors=True)
        raise
    everyone.wait()
    model, store = _open(settings, folder, start)
    watcher.counted(store.facts)
    trainer = Trainer(model, store, settings, world=everyone, folder=folder, output=output, watcher=watcher)
    with _interruptible(trainer):
        finished = trainer.run(resume=resume)
    progress = trainer.progress
    if everyone.first:
        refresh(output, store.facts, settings, progress, trainer.kind)
        if finished:
            if (folder / BOARD).exists():
                shutil.move(folder / BOARD, output / BOARD)
            shutil.rmtree(folder, ignore_errors=True)
    return Outcome(output, finished, progress.update, progress.best)


def _prepare(run: dict[str, Any], settings: Settings, folder: Path, start: Model | None, watcher: Watcher) -> None:
    """Read the corpus, settle vocabulary and characters, and write what every process then opens."""
    dictionary = Dictionary.read(run["dictionary"]) if run.get("dictionary") else None
    options = {"reader": run["reader"], "tokenize": run["tokenize"], "dictionary": dictionary}
    corpus = Corpus(run["corpus"], **options)
    heldout = Corpus(run["heldout"], **options) if run["heldout"] else None
    stop_words = _stop_words(run["stop_words"])
    text = folder / "text"
    try:
        text.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be created ({error.strerror})") from error
    stored = {"run": run, "settings": settings.model_dump(mode="json")}
    (folder / "run.json").write_text(json.dumps(stored, indent=1), encoding="utf-8")
    words = text_store.read_corpus(
        text,
        corpus,
        heldout,
        stop_words=stop_words,
        heldout_tokens=settings.heldout_tokens,
        seed=settings.seed,
        counting=watcher.counting,
    )
    if corpus.repairs:
        watcher.note(f"{corpus}: {corpus.repairs}")
    counts = text_store.count_words(text, len(words))
    if start is not None and start.bilm.softmax is not None and start.vocabulary is not None:
        vocabulary = start.vocabulary
    else:
        vocabulary = text_store.make_vocabulary(
            words, counts, size=settings.vocabulary_size, min_count=settings.min_count
        )
        if len(vocabulary) == 3:
            raise InputError(
                f"{corpus}: no word stands {settings.min_count} times or more in it, so that there is nothing to "
                "predict; give more text, or --min-count 1"
            )
        softmax_kind(settings, len(vocabulary))  # refuses what does not fit
        unicode = start is None and settings.characters == "unicode"
        table = text_store.character_set(words, counts) if unicode else None
        (text / "tables.json").write_text(
            json.dumps({"vocabulary": vocabulary.words, "characters": table}, ensure_ascii=False), encoding="utf-8"
        )
    indexer = start.indexer if start is not None else _indexer(settings, text)
    text_store.finish(text, words, vocabulary, indexer)


def _indexer(settings: Settings, text: Path) -> Indexer:
    if settings.characters == "bytes":
        return ByteCharacters(settings.max_characters)
    table = json.loads((text / "tables.json").read_text(encoding="utf-8"))["characters"]
    return UnicodeCharacters(table, max_characters=settings.max_characters)


def _open(settings: Settings, folder: Path, start: Model | None) -> tuple[Model, TextStore]:
    text = folder / "text"
    if start is not None and not (text / "tables.json").exists():
        assert start.vocabulary is not None
        vocabulary = start.vocabulary
    else:
        vocabulary = Vocabulary(json.loads((text / "tables.json").read_text(encoding="utf-8"))["vocabulary"])
    if start is not None:
        model = continued_model(start, settings, vocabulary)
    else:
        model = fresh_model(settings, _indexer(settings, text), vocabulary)
    return model, text_store.open_store(text, vocabulary)


def _stop_words(path: str | None) -> frozenset[str]:
    if path is None:
        return frozenset()
    try:
        return frozenset(Path(path).read_text(encoding="utf-8-sig").split())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the stop words cannot be read ({error}); give UTF-8 text, a word a line") from error


@contextmanager
def _interruptible(trainer: Trainer) -> Iterator[None]:
    """Turn Ctrl-C and a polite kill into a request to save and stop; a second Ctrl-C stops at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        trainer.interrupted = True
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        trainer.watcher.note("stopping after this update; once more to stop at once")

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
