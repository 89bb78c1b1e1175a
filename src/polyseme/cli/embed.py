"""``polyseme embed``: text in, a file of vectors out."""

import json
import time
from collections import deque
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from polyseme.cli.arguments import (
    DeviceOption,
    DictionaryOption,
    JsonFlag,
    ModelOption,
    OptionsFile,
    PrecisionChoice,
    PrecisionOption,
    ReaderChoice,
    TokenizerChoice,
    VocabularyFile,
    check_outside,
    model_path,
    open_corpus,
    tell_repairs,
)
from polyseme.cli.progress import progress, resumable
from polyseme.errors import InputError


class PoolChoice(StrEnum):
    """How tokens make one vector a sentence."""

    mean = "mean"
    max = "max"


class NumberType(StrEnum):
    """The numbers in the file."""

    float32 = "float32"
    float16 = "float16"


def embed(
    text: Annotated[
        list[str],
        typer.Argument(metavar="TEXT...", help="Files, folders, or - for standard input.", show_default=False),
    ],
    model: ModelOption,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="What to write: .npz, .h5 or .parquet.", show_default=False)
    ],
    layers: Annotated[
        str | None,
        typer.Option(help="all, mean, top or a layer's number. [default: all; mean with --pool]", show_default=False),
    ] = None,
    pool: Annotated[PoolChoice | None, typer.Option(help="One vector a sentence instead of one a token.")] = None,
    tokenize: Annotated[
        TokenizerChoice | None,
        typer.Option(
            help="Cut raw text into sentences and tokens; else a line is a sentence of tokens between spaces."
        ),
    ] = None,
    dictionary: DictionaryOption = None,
    reader: Annotated[
        ReaderChoice, typer.Option("--format", help="The layout of the input; auto goes by the file's suffix.")
    ] = ReaderChoice.auto,
    dtype: Annotated[NumberType, typer.Option(help="The numbers in the file.")] = NumberType.float32,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an interrupted run stopped.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output file if it exists.")] = False,
    sentence_index: Annotated[
        bool, typer.Option(help="In .h5, store which sentence has which number (sentence_to_index).")
    ] = True,
    stateful: Annotated[
        bool, typer.Option("--stateful", help="Carry state from batch to batch, as the original software did.")
    ] = False,
    batch_size: Annotated[int, typer.Option(min=1, help="Sentences of a batch when stateful.")] = 64,
    batch_tokens: Annotated[int, typer.Option(min=1, help="Tokens of a batch otherwise.")] = 8192,
    precision: PrecisionOption = PrecisionChoice.float32,
    device: DeviceOption = "cpu",
    options: OptionsFile = None,
    vocabulary: VocabularyFile = None,
    as_json: JsonFlag = False,
) -> None:
    """Embed text: every token's vectors, or one vector a sentence, into a file.

    The input is plain text (one tokenised sentence a line, or raw text with --tokenize), CoNLL-U, JSON lines or FASTA,
    each also as .gz. Memory does not grow with the input, and an interrupted run goes on with --resume.

    Example: polyseme embed novel.txt --tokenize en -m elmo.zip -o novel.parquet --layers mean
    """
    from polyseme.embed.layers import check_choice, parse_choice
    from polyseme.embed.load import load
    from polyseme.embed.source import pool_tokens
    from polyseme.embed.writers import Record, open_writer
    from polyseme.text.corpus import Sentence

    if stateful and resume:
        raise InputError("--resume cannot bring back the state that --stateful carries; leave one of them out")
    check_outside(output, text)
    corpus = open_corpus(text, reader, tokenize, dictionary)
    if resume:
        corpus.check_resumable()
    choice = parse_choice(layers or ("mean" if pool else "all"))
    if pool and choice == "all":
        raise InputError("--pool gives one vector of one layer or mix; choose --layers mean, top or a layer's number")
    embedder = load(
        model_path(model, options),
        vocabulary=vocabulary,
        precision=precision.value,
        stateful=stateful,
        device=device,
        batch_size=batch_size,
        batch_tokens=batch_tokens,
    )
    check_choice(choice, embedder.layers)
    settings = {
        "model": embedder.fingerprint(),
        "text": corpus.facts(),
        "format": reader.value,
        "tokenize": tokenize.value if tokenize else None,
        "dictionary": str(corpus.dictionary) if corpus.dictionary else None,
        "layers": str(choice),
        "pool": pool.value if pool else None,
        "stateful": stateful,
        "precision": precision.value,
    }
    begun = time.monotonic()
    sentences = tokens = 0
    waiting: deque[tuple[Sentence, float | None]] = deque()  # read, but their vectors are not computed yet

    with (
        resumable(output, resume=resume),
        open_writer(
            output,
            settings=settings,
            dtype=dtype.value,
            resume=resume,
            overwrite=overwrite,
            sentence_index=sentence_index,
        ) as writer,
        progress(f"embedding {corpus}") as advance,
    ):
        if writer.done:
            typer.echo(f"{output}: going on after {writer.done:,} sentences", err=True)

        def token_lists() -> Iterator[list[str]]:
            for sentence in islice(corpus.nonempty(), writer.done, None):
                waiting.append((sentence, corpus.share_read()))
                yield sentence.tokens

        for vectors in embedder.stream(token_lists(), layers=choice):
            sentence, share = waiting.popleft()
            row = pool_tokens(vectors, pool.value) if pool else vectors
            writer.write(Record(sentence.tokens, row, sentence.name))
            sentences += 1
            tokens += len(sentence.tokens)
            advance(len(sentence.tokens), share)
    tell_repairs(corpus)
    seconds = time.monotonic() - begun
    if as_json:
        facts = {"output": str(output), "sentences": sentences, "tokens": tokens, "seconds": round(seconds, 3)}
        facts["sentences_before"] = writer.done
        facts |= {"layers": str(choice), "dim": embedder.dim, "replaced": corpus.repairs.invalid + corpus.repairs.nulls}
        typer.echo(json.dumps(facts))
    else:
        more, whole = ("more ", f", {writer.done + sentences:,} sentences in all") if writer.done else ("", "")
        typer.echo(
            f"{output}: {sentences:,} {more}sentences, {tokens:,} tokens in {seconds:,.1f} s "
            f"({tokens / seconds:,.0f} tokens/s){whole}",
            err=True,
        )
