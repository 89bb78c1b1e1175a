"""``polyseme embed``: text in, a file of vectors out."""

import json
import time
from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from polyseme.cli.arguments import (
    DeviceOption,
    DictionaryOption,
    FormatOption,
    JsonFlag,
    ModelOption,
    OptionsFile,
    PrecisionOption,
    TextArgument,
    TokenizeOption,
    VocabularyFile,
    check_outside,
    follow_model,
    model_path,
    open_corpus,
    tell_repairs,
)
from polyseme.cli.progress import progress, resumable
from polyseme.embed.choices import NumberType, Pool
from polyseme.errors import InputError


def embed(
    text: TextArgument,
    model: ModelOption,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="What to write: .npz, .h5 or .parquet.", show_default=False)
    ],
    layers: Annotated[
        str | None,
        typer.Option(help="all, mean, top or a layer's number. [default: all; mean with --pool]", show_default=False),
    ] = None,
    pool: Annotated[Pool | None, typer.Option(help="One vector per sentence instead of one per token.")] = None,
    tokenize: TokenizeOption = "auto",
    dictionary: DictionaryOption = None,
    reader: FormatOption = "auto",
    dtype: Annotated[NumberType, typer.Option(help="The numbers in the file.")] = "float32",
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
    precision: PrecisionOption = "float32",
    device: DeviceOption = "cpu",
    options: OptionsFile = None,
    vocabulary: VocabularyFile = None,
    as_json: JsonFlag = False,
) -> None:
    """Embed text: every token's vectors, or one vector per sentence, into a file.

    The input is raw text, text that is cut already (--tokenize none), CoNLL-U, JSON lines or FASTA, each also as .gz.
    Memory does not grow with the input, and an interrupted run goes on with --resume.

    Example: polyseme embed novel.txt -m english-small -o novel.parquet --layers mean
    """
    from polyseme.embed.embedder import pool_tokens
    from polyseme.embed.layers import check_choice, parse_choice
    from polyseme.embed.load import load
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
        precision=precision,
        stateful=stateful,
        device=device,
        batch_size=batch_size,
        batch_tokens=batch_tokens,
    )
    check_choice(choice, embedder.layers)
    follow_model(embedder.segmentation, corpus)
    settings = {
        "model": embedder.model.fingerprint(),
        "text": corpus.facts(),
        "format": reader,
        "tokenize": corpus.tokenize,
        "dictionary": str(corpus.dictionary) if corpus.dictionary else None,
        "layers": str(choice),
        "pool": pool,
        "stateful": stateful,
        "precision": precision,
    }
    begun = time.monotonic()
    sentences = tokens = 0
    waiting: deque[tuple[Sentence, float | None]] = deque()  # read, but their vectors are not computed yet

    with (
        resumable(output, resume=resume),
        open_writer(
            output,
            settings=settings,
            dtype=dtype,
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
            row = pool_tokens(vectors, pool) if pool else vectors
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
