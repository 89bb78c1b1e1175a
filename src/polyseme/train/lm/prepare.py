"""From a corpus to what training begins with: the text as numbers, and a model."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from polyseme.errors import InputError, OutputError
from polyseme.models.config import BiLMConfig
from polyseme.models.model import Model
from polyseme.text.characters import ByteCharacters, Indexer, UnicodeCharacters
from polyseme.text.corpus import Corpus, Dictionary
from polyseme.text.vocabulary import Vocabulary
from polyseme.train.engine.watcher import Watcher
from polyseme.train.lm import text_store
from polyseme.train.lm.initial_model import continued_model, fresh_model, softmax_kind
from polyseme.train.lm.settings import Settings
from polyseme.train.lm.text_store import TextStore


def prepare(run: dict[str, Any], settings: Settings, folder: Path, start: Model | None, watcher: Watcher) -> None:
    """Read the corpus, settle vocabulary and characters, and write what every process then opens."""
    own = None if start is None or start.bilm.softmax is None else start.vocabulary  # words it predicts already
    if own is not None and start is not None:
        adaptive = bool(start.config.softmax_cutoffs)
        if settings.softmax != "auto" and (settings.softmax == "adaptive") != adaptive:
            has = "an adaptive" if adaptive else "a full"
            raise InputError(
                f"softmax {settings.softmax!r} was asked for, but the model to go on from has {has} softmax, which "
                "learns further; leave out --softmax"
            )
        if not adaptive:
            softmax_kind(settings, len(own))  # refuses what does not fit
    corpus, heldout = _open_texts(run, start, watcher)
    cut = corpus.segmentation
    decided = {
        "tokenize": cut.tokenizer or "none",
        "dictionary_words": cut.dictionary.words if cut.dictionary else None,
    }
    stop_words = _stop_words(run["stop_words"])
    text = folder / "text"
    try:
        text.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be created ({error.strerror})") from error
    stored = {"run": {**run, **decided}, "settings": settings.model_dump(mode="json")}
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
    if own is not None:
        vocabulary = own
    else:
        vocabulary = text_store.make_vocabulary(
            words, counts, size=settings.vocabulary_size, min_count=settings.min_count
        )
        if len(vocabulary) == 3:
            raise InputError(
                f"{corpus}: no word stands {settings.min_count} times or more in it, so that there is nothing to "
                "predict; give more text, or --min-count 1"
            )
        softmax_kind(settings, len(vocabulary))
        unicode = start is None and settings.characters == "unicode"
        table = text_store.character_set(words, counts) if unicode else None
        (text / "tables.json").write_text(
            json.dumps({"vocabulary": vocabulary.words, "characters": table}, ensure_ascii=False), encoding="utf-8"
        )
    indexer = start.indexer if start is not None else _indexer(settings, text)
    text_store.finish(text, words, vocabulary, indexer)


def _open_texts(run: dict[str, Any], start: Model | None, watcher: Watcher) -> tuple[Corpus, Corpus | None]:
    """The corpus and the held-out text, both cut in the same way."""
    dictionary = Dictionary.read(run["dictionary"]) if run.get("dictionary") else None
    corpus = Corpus(run["corpus"], reader=run["reader"], tokenize=run["tokenize"], dictionary=dictionary)
    if note := corpus.follow(None if start is None else start.config.segmentation):
        watcher.note(note)
    if not run["heldout"]:
        return corpus, None
    heldout = Corpus(run["heldout"], reader=run["reader"], tokenize=corpus.tokenize, dictionary=corpus.dictionary)
    return corpus, heldout


def _indexer(settings: Settings, text: Path) -> Indexer:
    if settings.characters == "bytes":
        return ByteCharacters(settings.max_characters)
    table = json.loads((text / "tables.json").read_text(encoding="utf-8"))["characters"]
    return UnicodeCharacters(table, max_characters=settings.max_characters)


def open_prepared(settings: Settings, folder: Path, start: Model | None) -> tuple[Model, TextStore]:
    """The model that training begins with, and the text; the same for every process."""
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
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))["run"]
    if run["tokenize"] not in (None, "none"):  # tokens leave a continued model what it knows of its text
        # Validated anew, as model_copy would not: what a run accepts has to be readable in its model.
        cut = {"tokenize": run["tokenize"], "dictionary": run.get("dictionary_words")}
        model = replace(model, config=BiLMConfig.model_validate({**model.config.model_dump(), **cut}))
    return model, text_store.open_store(text, vocabulary)


def _stop_words(path: str | None) -> frozenset[str]:
    if path is None:
        return frozenset()
    try:
        return frozenset(Path(path).read_text(encoding="utf-8-sig").split())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the stop words cannot be read ({error}); give UTF-8 text, a word a line") from error
