"""From parallel text to the job that trains on it: pairs as numbers, words, vectors, and a network to begin with."""

from itertools import compress
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.formats import word_vectors
from polyseme.models.translation import END, TranslationModel, source_ids
from polyseme.models.translator import Translator
from polyseme.progress import Figure, Watcher
from polyseme.text.choices import TokenizerChoice
from polyseme.text.parallel import ParallelText
from polyseme.text.vocabulary import Vocabulary
from polyseme.train.engine.distributed import World
from polyseme.train.engine.job import Plan
from polyseme.train.translate import pair_store
from polyseme.train.translate.encode_pairs import PairReader, ReadPairs, as_pairs, keep_vectors, make_vocabulary
from polyseme.train.translate.job import TranslateJob
from polyseme.train.translate.pair_store import PairRecord, PairStore
from polyseme.train.translate.settings import TranslateSettings
from polyseme.train.translate.split import groups_of, hold_out

PAIRS = "pairs"
_HELDOUT_SHARE = 0.05


class PairSource(BaseModel):
    """Which text a translator learns from, and how it is read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    parallel: list[str]
    vectors: str
    heldout: list[str] = []
    fields: list[str] = []
    source_tokenize: TokenizerChoice = "auto"
    target_tokenize: TokenizerChoice = "auto"


class TranslatePlan(Plan[TranslateSettings]):
    """How a translator comes to be trained.

    Args:
        text: What it learns from.
        settings: The run's.
        output: The folder of the translator.
    """

    kind = "cove train"

    def __init__(self, text: PairSource, settings: TranslateSettings, output: Path) -> None:
        self.text, self.settings, self.output = text, settings, output
        self.identity: dict[str, JSON] = text.model_dump(mode="json")
        self.job: TranslateJob | None = None
        """The job, once it is open."""

    def is_prepared(self, folder: Path) -> bool:
        """See `Plan`."""
        return pair_store.is_whole(folder / PAIRS)

    def prepare(self, folder: Path, watcher: Watcher) -> None:
        """Read the pairs and the vectors, hold pairs out, decide on the words, and write what every process opens."""
        table = word_vectors.read(Path(self.text.vectors))
        reader, training, heldout, chosen = self._read(watcher)
        words = list(reader.types[0]), list(reader.types[1])
        learnt = np.ones(len(training), dtype=bool) if heldout is not None else ~chosen
        vocabulary = make_vocabulary(
            words[1],
            training.target.part(learnt)[0],
            size=self.settings.vocabulary_size,
            min_count=self.settings.min_count,
        )
        source = training.source.part(learnt)[0]
        kept = keep_vectors(table, words[0], source, most=self.settings.source_words, where=self.text.vectors)
        self._check_words(vocabulary)
        rows, numbers = source_ids(kept, words[0]), _word_ids(vocabulary, words[1])
        measured = training if heldout is None else heldout
        sources, references = self._heldout_text(reader, measured, chosen)
        record = PairRecord(
            source_words=list(kept.words),
            target_words=list(vocabulary.words),
            source_tokenize=reader.segmentations[0].tokenizer,
            target_tokenize=reader.segmentations[1].tokenizer,
            heldout_sources=sources,
            heldout_references=references,
        )
        parts = as_pairs(training, learnt, rows, numbers), as_pairs(measured, chosen, rows, numbers)
        pair_store.write_store(folder / PAIRS, *parts, kept.matrix, record)

    def open(self, folder: Path, settings: TranslateSettings, world: World, watcher: Watcher) -> TranslateJob:
        """See `Plan`."""
        store = pair_store.open_store(folder / PAIRS)
        torch.manual_seed(settings.seed)
        network = Translator(
            vector_dim=store.table.dim,
            encoder_dim=settings.encoder_dim,
            encoder_layers=settings.encoder_layers,
            decoder_dim=settings.decoder_dim,
            vocabulary_size=len(store.vocabulary),
            dropout=settings.dropout,
        )
        model = TranslationModel(network, store.table, store.vocabulary, store.source, store.target)
        self.job = TranslateJob(model, store, settings, world=world, output=self.output, watcher=watcher)
        _tell_sizes(store, watcher)
        return self.job

    def _read(self, watcher: Watcher) -> tuple[PairReader, ReadPairs, ReadPairs | None, NDArray[np.bool_]]:
        """The reader, the pairs of the text, those of held-out files, and which of them (or of the text) to measure."""
        given, settings = self.text, self.settings
        text = self._parallel(given.parallel)
        cuts = [text.segmentation("source", given.source_tokenize), text.segmentation("target", given.target_tokenize)]
        for _, note in cuts:
            if note:
                watcher.note(note)
        reader = PairReader(cuts[0][0], cuts[1][0], max_length=settings.max_length, watcher=watcher)
        training = reader.read(text)
        if not given.heldout:
            wanted = min(settings.heldout_pairs, int(_HELDOUT_SHARE * len(training)))
            groups = groups_of(training.source.sentences, training.target.sentences)
            chosen = hold_out(groups, wanted=wanted, seed=settings.seed)
            if not chosen.any():
                raise InputError(
                    f"{text}: of {len(training):,} pairs none can be held out without a sentence of it in the others; "
                    "give more pairs, or --heldout"
                )
            return reader, training, None, chosen
        heldout = reader.read(self._parallel(given.heldout))
        shared = _shared(training, heldout)
        if shared:
            watcher.note(
                f"{' and '.join(given.heldout)}: {shared:,} of {len(heldout):,} held-out pairs have a sentence that is "
                "also in the training pairs, so that figures on them flatter"
            )
        return reader, training, heldout, np.arange(len(heldout)) < settings.heldout_pairs

    def _parallel(self, files: list[str]) -> ParallelText:
        return ParallelText(files, self.text.fields)

    def _heldout_text(
        self, reader: PairReader, read: ReadPairs, chosen: NDArray[np.bool_]
    ) -> tuple[list[list[str]], list[str]]:
        """Source tokens and translations of the held-out pairs as they stand in the text, which is read again."""
        wanted = set(compress(read.numbers, chosen))
        pairs = [pair for n, pair in enumerate(self._parallel(self.text.heldout or self.text.parallel)) if n in wanted]
        return [reader.tokens(pair)[0] for pair in pairs], [" ".join(pair.target.split()) for pair in pairs]

    def _check_words(self, vocabulary: Vocabulary) -> None:
        words, settings = len(vocabulary), self.settings
        if words <= vocabulary.unknown + 1:
            raise InputError(
                f"{' and '.join(self.text.parallel)}: no target word occurs {settings.min_count} times or more, so "
                "that there is nothing to predict; give more text, or --min-count 1"
            )
        if settings.sampled(words) and 2 * settings.samples > words:
            raise InputError(
                f"samples is {settings.samples:,} but the vocabulary has {words:,} words, of which at most half can be "
                f"drawn; use --samples {max(1, words // 2)} or --softmax full"
            )


def _word_ids(vocabulary: Vocabulary, words: list[str]) -> NDArray[np.int64]:
    """The output word of each target type; a marker in the text is an unknown word."""
    ids = np.array(vocabulary.lookup(words), dtype=np.int64)
    return np.where(ids <= END, vocabulary.unknown, ids)


def _shared(training: ReadPairs, heldout: ReadPairs) -> int:
    """How many held-out pairs have a side that is also in the training pairs."""
    sources, targets = set(training.source.sentences), set(training.target.sentences)
    sides = zip(heldout.source.sentences, heldout.target.sentences, strict=True)
    return sum(source in sources or target in targets for source, target in sides)


def _tell_sizes(store: PairStore, watcher: Watcher) -> None:
    figures: dict[str, Figure] = {
        "training pairs": len(store.training),
        "source tokens": len(store.training.source),
        "target tokens": len(store.training.target),
        "with a vector": f"{float((store.training.source >= 0).mean()):.2%}",
        "words to predict": len(store.vocabulary),
        "unknown": f"{float((store.training.target == store.vocabulary.unknown).mean()):.2%}",
        "held-out pairs": len(store.heldout),
    }
    watcher.result("pairs", figures)
