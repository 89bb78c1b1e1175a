"""From a corpus to the job that trains on it: text as numbers, vocabulary, characters, and a model to begin with."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from polyseme.errors import InputError, OutputError
from polyseme.files.json_file import read_record
from polyseme.files.text_file import read_text
from polyseme.files.whole import JSON, reason, write_json
from polyseme.formats.detect import open_model
from polyseme.models.config import BiLMConfig
from polyseme.models.model import Model
from polyseme.nn.softmax import FullSoftmax
from polyseme.progress import Figure, Watcher
from polyseme.text.characters import ByteCharacters, Indexer, UnicodeCharacters, WholeWords
from polyseme.text.choices import Reader, Tokenizer, TokenizerChoice
from polyseme.text.corpus import Corpus, Dictionary
from polyseme.text.vocabulary import Vocabulary
from polyseme.train.choices import SoftmaxKind
from polyseme.train.engine.distributed import World
from polyseme.train.engine.job import Plan
from polyseme.train.lm import encode_text, text_store
from polyseme.train.lm.case_noise import add_counts, add_forms, changes_anything
from polyseme.train.lm.initial_model import continued_model, fresh_model
from polyseme.train.lm.job import LmJob
from polyseme.train.lm.output_bias import set_biases
from polyseme.train.lm.settings import LmSettings
from polyseme.train.lm.softmax_choice import choose_softmax, cutoffs_of
from polyseme.train.lm.static_start import StaticStart
from polyseme.train.lm.vectors_stage import begin_with_vectors, check_vectors, load_beginning, read_vectors

TEXT = "text"
TABLES = "tables.json"


class TextSource(BaseModel):
    """Which text a run learns from, and how it is read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    corpus: list[str]
    heldout: list[str] = []
    reader: Reader = "auto"
    tokenize: TokenizerChoice = "auto"
    dictionary: str | None = None
    stop_words: str | None = None
    start: str | list[str] | None = None
    """A model to start from."""
    vectors: str | None = None
    """Static word vectors to start from."""


class Tables(BaseModel):
    """What ``tables.json`` holds: what was decided once the text was counted."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    vocabulary: list[str] | None
    """Words to predict; None for those of the model that training starts from."""
    characters: dict[str, int] | None
    """The characters of a Unicode model that begins with random weights."""
    words: list[str] | None = None
    """The words of a model that reads whole words, by row."""
    softmax: SoftmaxKind
    tokenize: Tokenizer | None
    """How the text was tokenised; None if it came so."""
    dictionary: list[str] | None
    """Words that were kept whole."""


class LmPlan(Plan[LmSettings]):
    """How a biLM comes to be trained.

    Args:
        text: What it learns from.
        settings: The run's.
        output: The model folder.
    """

    kind = "train"

    def __init__(self, text: TextSource, settings: LmSettings, output: Path) -> None:
        self.text, self.settings, self.output = text, settings, output
        self.identity: dict[str, JSON] = text.model_dump(mode="json")
        check_vectors(text.vectors, settings, starts_from_model=text.start is not None)
        start = text.start
        self._start = None if start is None else open_model(tuple(start) if isinstance(start, list) else start)  # type: ignore[arg-type]

    def is_prepared(self, folder: Path) -> bool:
        """See `Plan`."""
        return text_store.is_whole(folder / TEXT)

    def prepare(self, folder: Path, watcher: Watcher) -> None:
        """Read the corpus, decide on vocabulary, characters and softmax, and write what every process opens."""
        settings, trained = self.settings, self._trained_further()
        own = None if trained is None else trained.vocabulary
        if own is not None:  # refused before the text is read
            choose_softmax(settings, len(own), trained)
        vectors = None if self.text.vectors is None else read_vectors(self.text.vectors, settings)
        place = folder / TEXT
        words, corpus = self._encode(place, watcher)
        counts = encode_text.count_words(place, len(words))
        vocabulary = own or self._counted_vocabulary(words, counts, where=str(corpus))
        forms = None
        if settings.case_noise:
            words, forms = add_forms(words)
            counts = add_counts(counts, forms, len(words))
            if not changes_anything(forms):
                watcher.note("no word of the text has upper or lower case, so that --case-noise changes nothing")
        static = None
        if vectors is not None:
            static = StaticStart(vectors, words, width=settings.projection_dim, seed=settings.seed)
            if not (static.rows >= 0).any():
                raise InputError(
                    f"{self.text.vectors}: has no vector for any word of the text; give vectors of the text's "
                    "language, or leave out --vectors"
                )
        tables = self._decide(words, counts, vocabulary, corpus, static)
        if static is not None:
            cutoffs = cutoffs_of(tables.softmax, settings)
            model = fresh_model(settings, self._indexer(tables), vocabulary, cutoffs=cutoffs)
            begin_with_vectors(place, model, static, counts, settings, watcher)
        try:
            write_json(place / TABLES, tables.model_dump())
        except OSError as error:
            raise OutputError(f"{place}: could not be written ({reason(error)})") from error
        encode_text.finish(place, words, vocabulary, self._indexer(tables), forms)

    def _counted_vocabulary(self, words: list[str], counts: NDArray[np.int64], *, where: str) -> Vocabulary:
        least = self.settings.min_count
        vocabulary = encode_text.make_vocabulary(words, counts, size=self.settings.vocabulary_size, min_count=least)
        if len(vocabulary) == 3:
            raise InputError(
                f"{where}: no word occurs {least} times or more in it, so that there is nothing to predict; give more "
                "text, or --min-count 1"
            )
        return vocabulary

    def _decide(
        self,
        words: list[str],
        counts: NDArray[np.int64],
        vocabulary: Vocabulary,
        corpus: Corpus,
        static: StaticStart | None,
    ) -> Tables:
        """What is known once the text is counted."""
        settings, trained = self.settings, self._trained_further()
        whole = static is not None and settings.word_input != "none"
        unicode = self._start is None and settings.characters == "unicode" and not whole
        cut = corpus.segmentation
        return Tables(
            vocabulary=None if trained is not None else list(vocabulary.words),
            characters=encode_text.character_set(words, counts) if unicode else None,
            words=static.input_words(tuned=settings.word_input == "tuned") if whole and static is not None else None,
            softmax=choose_softmax(settings, len(vocabulary), trained),
            tokenize=cut.tokenizer,
            dictionary=cut.dictionary.words if cut.dictionary else None,
        )

    def open(self, folder: Path, settings: LmSettings, world: World, watcher: Watcher) -> LmJob:
        """See `Plan`."""
        advice = f"delete {folder} and begin again"
        tables = read_record(folder / TEXT / TABLES, Tables, advice=advice)
        vocabulary = self._vocabulary(tables)
        cutoffs = cutoffs_of(tables.softmax, settings)
        if self._start is not None:
            model = continued_model(self._start, vocabulary, cutoffs=cutoffs, seed=settings.seed)
        else:
            model = fresh_model(settings, self._indexer(tables), vocabulary, cutoffs=cutoffs)
        if self.text.vectors is not None:
            load_beginning(folder / TEXT, model, advice=advice)
        if tables.tokenize is not None:  # text that came tokenised says nothing new about a model that is continued
            cut = {"tokenize": tables.tokenize, "dictionary": tables.dictionary}
            # Checked again, which model_copy would not do: what a run accepts must be readable in its model.
            model = replace(model, config=BiLMConfig.model_validate({**model.bilm_config.model_dump(), **cut}))
        store = text_store.open_store(folder / TEXT, vocabulary, model.bilm_config.token_encoder.id_bounds)
        softmax = model.bilm.softmax
        if settings.output_bias == "counts" and self._trained_further() is None and isinstance(softmax, FullSoftmax):
            set_biases(softmax, store)
        job = LmJob(
            model,
            store,
            settings,
            softmax=tables.softmax,
            world=world,
            output=self.output,
            vectors=None if self.text.vectors is None else Path(self.text.vectors).name,
        )
        _tell_sizes(job, watcher)
        return job

    def _encode(self, place: Path, watcher: Watcher) -> tuple[list[str], Corpus]:
        """Write the text as types; return the distinct words and the corpus."""
        text = self.text
        if not text.corpus:
            raise InputError("no corpus given; name files or folders of text, or - for standard input")
        dictionary = Dictionary.read(text.dictionary) if text.dictionary else None
        corpus = Corpus(text.corpus, reader=text.reader, tokenize=text.tokenize, dictionary=dictionary)
        if note := corpus.follow(None if self._start is None else self._start.segmentation):
            watcher.note(note)
        heldout = None
        if text.heldout:  # in the same way
            cut = corpus.segmentation
            heldout = Corpus(
                text.heldout, reader=text.reader, tokenize=cut.tokenizer or "none", dictionary=cut.dictionary
            )
        words = encode_text.encode_corpus(
            place,
            corpus,
            heldout,
            stop_words=_stop_words(text.stop_words),
            heldout_tokens=self.settings.heldout_tokens,
            seed=self.settings.seed,
            watcher=watcher,
        )
        for one in (corpus, heldout):
            if one is not None and one.repairs:
                watcher.note(f"{one}: {one.repairs}")
        return words, corpus

    def _trained_further(self) -> Model | None:
        """The model to start from, if it has a softmax with its words that is trained further."""
        start = self._start
        return start if start is not None and start.bilm.softmax is not None and start.vocabulary is not None else None

    def _vocabulary(self, tables: Tables) -> Vocabulary:
        if tables.vocabulary is not None:
            return Vocabulary(tables.vocabulary)
        trained = self._trained_further()
        if trained is None or trained.vocabulary is None:
            raise InputError(
                f"{self.text.start}: has no words to predict, but had some when this run was begun; resume it with the "
                "same model"
            )
        return trained.vocabulary

    def _indexer(self, tables: Tables) -> Indexer:
        if self._start is not None:
            return self._start.indexer
        if tables.words is not None:
            return WholeWords({word: row for row, word in enumerate(tables.words)})
        if tables.characters is None:
            return ByteCharacters(self.settings.max_characters)
        return UnicodeCharacters(tables.characters, max_characters=self.settings.max_characters)


def _tell_sizes(job: LmJob, watcher: Watcher) -> None:
    sizes = job.sizes
    figures: dict[str, Figure] = {
        "training tokens": sizes.training_tokens,
        "sentences": sizes.training_sentences,
        "distinct words": sizes.types,
        "words to predict": sizes.vocabulary,
        "unknown": f"{sizes.unknown_share:.2%}",
        "held-out tokens": sizes.heldout_tokens,
    }
    watcher.result("text", figures)


def _stop_words(path: str | None) -> frozenset[str]:
    if path is None:
        return frozenset()
    try:
        return frozenset(read_text(Path(path)).split())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: the stop words cannot be read ({reason(error)}); give UTF-8 text, one word per line"
        ) from error
