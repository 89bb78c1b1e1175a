"""The job of embedding: a corpus in, a file of vectors out, resumable."""

import signal
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from polyseme.embed.choices import Keys, NumberType, Pool
from polyseme.embed.layers import LayerChoice, check_choice
from polyseme.embed.long_sentences import LongSentences
from polyseme.embed.named_keys import chosen_keys, named_sentences
from polyseme.embed.read_ahead import read_ahead
from polyseme.embed.source import VectorSource, check_pool, pool_tokens
from polyseme.embed.vectors_record import VectorsRecord, mix_record
from polyseme.embed.writers import Record, VectorWriter, open_writer
from polyseme.embed.writers.base import check_number_type
from polyseme.errors import InputError, Interrupted
from polyseme.files.interrupt import Interruption, interruptible
from polyseme.files.whole import JSON
from polyseme.nn.scalar_mix import ScalarMix
from polyseme.progress import Figure, TokenCounter, Watcher, watching
from polyseme.progress.figures import counted
from polyseme.text.corpus import Corpus, Sentence
from polyseme.text.held_sentences import HeldSentences


@dataclass(frozen=True, kw_only=True)
class EmbedResult:
    """What `embed_corpus` did.

    Attributes:
        output: The file of vectors.
        sentences: How many sentences this run embedded.
        sentences_before: How many an interrupted run had embedded before; None if its file was complete already.
        tokens: How many tokens this run embedded.
        seconds: How long this run took.
        layers: Which layers: "all", "mean", "top", the number of one, or "mix".
        pool: How tokens make one vector per sentence; None for one vector per token.
        dim: The length of a vector.
        dtype: The numbers in the file.
        longest: The tokens of the longest sentence of this run.
        replaced: How many invalid UTF-8 sequences and NULs in the text were replaced by U+FFFD.
    """

    output: Path
    sentences: int
    sentences_before: int | None
    tokens: int
    seconds: float
    layers: str
    pool: Pool | None
    dim: int
    dtype: NumberType
    longest: int
    replaced: int

    def to_dict(self) -> dict[str, JSON]:
        """The result as JSON values."""
        return {**asdict(self), "output": str(self.output), "seconds": round(self.seconds, 3)}


def embed_corpus(
    source: VectorSource,
    corpus: Corpus | Iterable[Sequence[str]],
    output: str | Path,
    *,
    layers: LayerChoice | None = None,
    pool: Pool | None = None,
    dtype: NumberType = "float32",
    resume: bool = False,
    overwrite: bool = False,
    sentence_index: bool = True,
    keys: Keys = "auto",
    watcher: Watcher | None = None,
) -> EmbedResult:
    """Embed a corpus into a file that appears when it is whole.

    Work in progress is stored in ``OUTPUT.partial`` at least twice a minute. Ctrl-C and SIGTERM store what is done.

    Args:
        source: What gives the vectors.
        corpus: A `Corpus`, or lists of tokens.
        output: The file to write: .npz, .h5, .hdf5 or .parquet.
        layers: ``"all"``, ``"mean"``, ``"top"``, the number of a layer or a `ScalarMix`; if None, ``"all"``, with
            `pool` ``"mean"``.
        pool: Store one vector per sentence, the mean or maximum over its tokens.
        dtype: The numbers in the file.
        resume: Continue an interrupted run of the same text and settings. If there is none, a new one begins.
        overwrite: Replace the output if it exists, at the very end.
        sentence_index: Store in .h5 which sentence has which number.
        keys: How arrays in .npz and .h5 are called: by the ``"number"`` of the sentence or by its ``"name"``;
            ``"auto"`` is by name for FASTA.
        watcher: Is told how the job goes; if None, a notebook gets a bar.

    Raises:
        InputError: An argument or the text is not what was expected, or a file is in the way.
        FormatError: The record of the interrupted run, or what it stored, is damaged.
        OutputError: The disk is full, or another process writes this output.
        Interrupted: A signal came; what was done is stored.

    Example:
        >>> from polyseme import load
        >>> embed_corpus(load("english-small"), [["The", "river", "bank"], ["Yes"]], "bank.h5").tokens
        4
    """
    if isinstance(corpus, str | Path):
        raise InputError(f"corpus is the path {str(corpus)!r}, expected Corpus([path], tokenize=...) or sentences")
    text = corpus if isinstance(corpus, Corpus) else HeldSentences(corpus)
    choice: LayerChoice = layers if layers is not None else "mean" if pool else "all"
    check_layers(source, choice, pool)
    check_number_type(dtype)
    if resume:
        _check_resumable(source, text)
    begun = time.monotonic()
    path, lengths = Path(output), LongSentences()
    by_name = chosen_keys(keys, text) == "name" and path.suffix != ".parquet"
    with watching(watcher) as shown, interruptible() as interrupted:
        writer = open_writer(
            path,
            settings={**_settings(source, text, choice, pool), "by_name": by_name},
            dtype=dtype,
            resume=resume,
            overwrite=overwrite,
            sentence_index=sentence_index,
            by_name=by_name,
            metadata=VectorsRecord.of(source, text.segmentation, layers=choice, pool=pool, dtype=dtype).as_metadata(),
            background=True,
        )
        _tell_beginning(shown, writer, resume=resume)
        tokens = 0
        if not writer.complete:
            with _explained(source, text, writer):
                sentences = islice(named_sentences(text) if by_name else text.nonempty(), writer.done, None)
                tokens = _write_all(source, text, sentences, choice, pool, writer, lengths, shown, interrupted)
        result = EmbedResult(
            output=path,
            sentences=writer.stored - writer.done,
            sentences_before=None if writer.complete else writer.done,
            tokens=tokens,
            seconds=time.monotonic() - begun,
            layers="mix" if isinstance(choice, ScalarMix) else str(choice),
            pool=pool,
            dim=source.dim,
            dtype=dtype,
            longest=lengths.longest,
            replaced=text.repairs.invalid + text.repairs.nulls,
        )
        if not writer.complete:
            _tell_result(shown, result)
            if lengths.count:
                shown.note(f"{text}: {lengths}")
    return result


def check_layers(source: VectorSource, choice: LayerChoice, pool: Pool | None) -> None:
    """Refuse layers that a source does not have, or that cannot be one vector per sentence.

    Raises:
        InputError: With what to choose.
    """
    if pool is not None:
        check_pool(pool)
        if isinstance(choice, str) and choice == "all":
            raise InputError(
                "one vector per sentence is made of one layer or mix; choose layers mean, top or the number of a layer"
            )
    check_choice(choice, source.layers)


def _check_resumable(source: VectorSource, corpus: Corpus) -> None:
    if source.stateful:
        raise InputError("--resume cannot bring back the state that --stateful carries; leave one of them out")
    corpus.check_resumable()


def _settings(source: VectorSource, corpus: Corpus, choice: LayerChoice, pool: Pool | None) -> dict[str, JSON]:
    """What the vectors depend on: a run is resumed only if all of it is the same."""
    return {
        "model": source.fingerprint(),
        "text": [[*file] for file in corpus.identity()],
        "format": corpus.reader,
        "tokenize": corpus.tokenize,
        "dictionary": str(corpus.dictionary) if corpus.dictionary else None,
        "layers": mix_record(choice) or str(choice),
        "pool": pool,
        "stateful": source.stateful,
        "precision": source.precision,
    }


def _write_all(
    source: VectorSource,
    corpus: Corpus,
    sentences: Iterator[Sentence],
    choice: LayerChoice,
    pool: Pool | None,
    writer: VectorWriter,
    lengths: LongSentences,
    watcher: Watcher,
    interrupted: Interruption,
) -> int:
    """Embed the sentences that are not stored yet, and close the writer; return the number of tokens."""
    waiting: deque[tuple[Sentence, float | None]] = deque()  # read, but their vectors are not computed yet

    def read() -> Generator[tuple[Sentence, float | None], None, None]:
        for sentence in sentences:
            lengths.add(sentence)
            yield sentence, corpus.share_read()

    pairs = read_ahead(read(), lambda pair: len(pair[0].tokens)) if corpus.from_files else read()

    def token_lists() -> Iterator[list[str]]:
        for pair in pairs:
            waiting.append(pair)
            yield pair[0].tokens

    with closing(pairs), writer:
        counter = TokenCounter(watcher, f"embedding {corpus}")
        for rows in interrupted.each(source.stream(token_lists(), layers=choice)):
            sentence, share = waiting.popleft()
            vectors = pool_tokens(rows, pool) if pool else rows
            writer.write(Record.of(sentence, vectors), copy=False)
            counter.add(len(sentence.tokens), share)
            if len(waiting) <= 1:  # the source reads one sentence ahead, and is going to compute for a while
                writer.store_if_due()
        watcher.begin(f"writing {writer.path}")
    return counter.tokens


@contextmanager
def _explained(source: VectorSource, corpus: Corpus, writer: VectorWriter) -> Iterator[None]:
    """Say of a run that is broken off what is kept of it."""
    try:
        yield
    except KeyboardInterrupt as stopped:
        number = stopped.number if isinstance(stopped, Interrupted) else int(signal.SIGINT)
        raise Interrupted(f"{writer.path}: interrupted; {_kept(source, corpus, writer)}", number=number) from None
    except InputError as error:
        if not writer.work_path.exists():
            raise
        raise InputError(
            f"{error}; what was done before is in {writer.work_path}: delete this folder to begin again"
        ) from error


def _kept(source: VectorSource, corpus: Corpus, writer: VectorWriter) -> str:
    if not writer.work_path.exists():
        return "nothing was stored"
    stored = f"{counted(writer.stored, 'sentence')} stored in {writer.work_path}"
    try:
        _check_resumable(source, corpus)
    except InputError:  # a pipe, or state that is carried along
        return f"{stored}; this run cannot be resumed, delete the folder to begin again"
    return f"{stored}; continue with --resume"


def _tell_beginning(watcher: Watcher, writer: VectorWriter, *, resume: bool) -> None:
    if writer.complete:
        watcher.note(
            f"{writer.path}: is complete; only the work folder of the interrupted run was left, and is removed"
        )
    elif writer.done:
        watcher.note(f"{writer.path}: continuing after {counted(writer.done, 'sentence')}")
    elif resume and not writer.resumed:
        watcher.note(f"{writer.work_path}: there is nothing to resume; starting from the beginning")


def _tell_result(watcher: Watcher, result: EmbedResult) -> None:
    figures: dict[str, Figure] = {"sentences": result.sentences, "tokens": result.tokens}
    figures |= {"seconds": round(result.seconds, 2), "tokens/s": result.tokens / max(result.seconds, 1e-9)}
    if result.sentences_before:
        figures["sentences in all"] = result.sentences_before + result.sentences
    watcher.result(str(result.output), figures)
