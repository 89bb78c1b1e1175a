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

from polyseme.errors import InputError
from polyseme.formats.detect import open_model
from polyseme.models.model import ModelPath
from polyseme.text.choices import Reader, TokenizerChoice
from polyseme.train.choices import Preset
from polyseme.train.engine import checkpoint
from polyseme.train.engine.distributed import World, world
from polyseme.train.engine.loop import Trainer
from polyseme.train.engine.precision import settled, without_kernel
from polyseme.train.engine.records import BOARD
from polyseme.train.engine.watcher import Watcher
from polyseme.train.lm import text_store
from polyseme.train.lm.prepare import open_prepared, prepare
from polyseme.train.lm.publish import refresh
from polyseme.train.lm.settings import ARCHITECTURE, Settings, settings_of

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
    corpus: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    preset: Preset = "small",
    heldout: str | Path | Sequence[str | Path] = (),
    reader: Reader = "auto",
    tokenize: TokenizerChoice = "auto",
    dictionary: str | Path | None = None,
    stop_words: str | Path | None = None,
    start: ModelPath | None = None,
    resume: bool = False,
    watcher: Watcher | None = None,
    **settings: Any,
) -> Outcome:
    """Train a biLM on text, from the raw files to a model folder that everything else in polyseme uses.

    Args:
        corpus: A file, a folder or "-", or several; plain or gzip. May be left empty with ``resume``.
        output: The model folder to write. Checkpoints lie beside it in ``OUTPUT.training`` until the run is done.
        preset: Where settings come from that are not given.
        heldout: Held-out text; without it a part of the corpus is held out.
        reader: The format of the text, as in `polyseme.text.corpus.Corpus`.
        tokenize: How raw text is cut into sentences and tokens: a tokeniser, or ``"none"`` for text that is cut
            already. ``"auto"`` cuts it as the text of the model ``start`` was cut, and without one goes by what the
            text looks like. The model records it.
        dictionary: A file of words, one per line, that the tokeniser ``zh`` keeps whole.
        stop_words: A file of words, one a line, that are left out of the text.
        start: A model to go on from, of any known format, as `polyseme.load` takes it.
        resume: Go on where an interrupted run of the same configuration stopped.
        watcher: Told what happens.
        settings: Any of `polyseme.train.lm.settings.Settings`.

    Example:
        >>> train("novel.txt", "novel-model", preset="tiny")  # doctest: +SKIP
    """
    output = Path(output)
    if not output.name:  # "." or "/": there is no name to put beside
        raise InputError(
            f"{output}: exists already; give the name of a new folder, or with --resume that of the run's folder"
        )
    folder = output.with_name(output.name + ".training")
    watcher = watcher or Watcher()
    _check_output(output, folder, resume=resume)
    given = {name: value for name, value in settings.items() if value is not None}
    run = {
        "corpus": _spelled(corpus),
        "heldout": _spelled(heldout),
        "reader": reader,
        "tokenize": tokenize,
        "dictionary": None if dictionary is None else str(dictionary),
        "stop_words": None if stop_words is None else str(stop_words),
        "start": _spelled(start) if isinstance(start, tuple) else None if start is None else str(start),
    }
    if resume:
        chosen, run = _agree(_read_run(folder / "run.json"), run, preset, given, folder)
    else:
        if start is not None and (settled_by := sorted(ARCHITECTURE & given.keys())):
            model = " and ".join(_spelled(start))
            raise InputError(f"{settled_by[0]} is settled by the model {model} to go on from; leave it out")
        chosen = settings_of(preset, **given)
    with world(chosen.device) as everyone:
        chosen = settled(chosen, everyone)
        return _train(run, chosen, output, folder, everyone, watcher if everyone.first else Watcher(), resume=resume)


def _spelled(paths: str | Path | Sequence[str | Path]) -> list[str]:
    """One path or several, as a list."""
    return [str(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]


def _check_output(output: Path, folder: Path, *, resume: bool) -> None:
    rank = int(os.environ.get("RANK", "0"))
    if rank:
        return
    if resume:
        if not (folder / "run.json").exists():
            raise InputError(
                f"{folder}: no interrupted run is there, so there is nothing to resume; leave out --resume and give a "
                "new output folder, or train a finished model further with --from"
            )
        return
    if output.exists():
        further = "--resume to go on training it" if (folder / "run.json").exists() else "go on from it with --from"
        raise InputError(f"{output}: exists already; give the name of a new folder, or {further}")
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
        if now["precision"] == "auto":  # it was settled when the run began
            wanted.discard("precision")
        for name in sorted(wanted - _MAY_CHANGE):
            if now[name] != getattr(before, name):
                raise InputError(
                    f"{folder}: this run was begun with {name} {getattr(before, name)!r}, not {now[name]!r}; "
                    "resume it with the same settings (or with none), or begin another run"
                )
        if "checkpoint_every" in given:
            before = before.model_copy(update={"checkpoint_every": now["checkpoint_every"]})
    for name, value in asked.items():
        left_open = value in (None, []) or (name in ("reader", "tokenize") and value == "auto")
        known = stored["run"].get(name)
        if name == "tokenize" and known is None:  # as earlier versions wrote it
            known = "none"
        if not left_open and value != known:
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
        path = run["start"]  # two of them come from run.json as a list
        start = None if path is None else open_model(tuple(path) if isinstance(path, list) else path)
        if everyone.first and not begun:
            prepare(run, settings, folder, start, watcher)
        everyone.wait()
        model, store = open_prepared(settings, folder, start)
        trainer = Trainer(model, store, settings, world=everyone, folder=folder, output=output, watcher=watcher)
        watcher.counted(store.facts)
        if note := without_kernel(settings, everyone):
            watcher.note(note)
        with _interruptible(trainer):
            finished = trainer.run(resume=resume)
    except Exception as error:
        # Before the first checkpoint nothing was learnt: leave nothing behind but a text that a resume can use.
        usable = begun or (isinstance(error, OSError) and text_store.is_whole(folder / "text"))
        if everyone.first and not usable and not (folder / checkpoint.FILE).exists():
            shutil.rmtree(folder, ignore_errors=True)
        raise
    progress = trainer.progress
    if everyone.first:
        refresh(model, output, store.facts, settings, progress, trainer.kind)
        if finished:
            if (folder / BOARD).exists():
                shutil.move(folder / BOARD, output / BOARD)
            shutil.rmtree(folder, ignore_errors=True)
    return Outcome(output, finished, progress.update, progress.best)


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
