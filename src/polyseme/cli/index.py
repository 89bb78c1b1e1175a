"""``polyseme index`` and ``polyseme nearest``: the occurrences of a text as vectors on disk, and the search in them."""

import time
from pathlib import Path
from typing import Annotated

import typer

from polyseme.cli.arguments import (
    CsvFlag,
    DeviceOption,
    DictionaryOption,
    FormatOption,
    JsonFlag,
    ModelOption,
    OptionsFile,
    PrecisionOption,
    ProgressOption,
    TextArgument,
    TokenizeOption,
    check_outside,
    follow_model,
    model_path,
    open_corpus,
    query_model,
    tell_repairs,
)
from polyseme.cli.progress import shown
from polyseme.cli.tables import Column, Table, form_of, print_json, print_results
from polyseme.errors import InputError
from polyseme.index.choices import Compression, Words

NEAREST = ("word", "similarity", "sentence", "position")
"""What is printed about an occurrence."""
IndexArgument = Annotated[
    Path, typer.Argument(metavar="INDEX", help="A folder written by polyseme index.", show_default=False)
]
QueryModel = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="The model that the index was built with, if it has been moved since.",
        show_default=False,
    ),
]


def index(
    text: TextArgument,
    model: ModelOption,
    output: Annotated[Path, typer.Option("--output", "-o", help="The index folder to write.", show_default=False)],
    layers: Annotated[
        str, typer.Option(help="Which vector of an occurrence: top, mean or the number of a layer.")
    ] = "top",
    compression: Annotated[
        Compression, typer.Option(help="Two bytes per number, one, or a quarter of one.")
    ] = "float16",
    word: Annotated[
        list[str] | None, typer.Option("--word", help="Only occurrences of this word; may be repeated.")
    ] = None,
    sample: Annotated[float, typer.Option(help="Only this share of the occurrences.")] = 1.0,
    tokenize: TokenizeOption = "auto",
    dictionary: DictionaryOption = None,
    reader: FormatOption = "auto",
    append: Annotated[bool, typer.Option("--append", help="Add to an index that exists.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    precision: PrecisionOption = "float32",
    device: DeviceOption = "cpu",
    options: OptionsFile = None,
    progress: ProgressOption = "auto",
    as_json: JsonFlag = False,
) -> None:
    """Store every occurrence of a corpus as a vector, to be searched by meaning.

    A run that is killed loses at most a minute of its work. Continue it with --resume; that is safe even if the run had
    come to its end: no text is lost, and none is stored twice.

    Example: polyseme index news.txt -m english-small -o news-index
    """
    from polyseme.embed.layers import parse_choice
    from polyseme.embed.load import load
    from polyseme.index.occurrence_index import OccurrenceIndex

    check_outside(output, text)
    corpus = open_corpus(text, reader, tokenize, dictionary)
    embedder = load(model_path(model, options), precision=precision, device=device)
    follow_model(embedder.segmentation, corpus)
    begun = time.monotonic()
    with shown(progress) as watcher:
        built = OccurrenceIndex.build(
            embedder,
            corpus,
            output,
            layers=parse_choice(layers),
            compression=compression,
            words=word or None,
            sample=sample,
            append=append,
            resume=resume,
            watcher=watcher,
        )
    seconds = time.monotonic() - begun
    tell_repairs(corpus)
    if as_json:
        size = {"occurrences": len(built), "words": len(built.counts)}
        print_json("index", {"model": model, "output": str(output), **size, "seconds": seconds})
    else:
        typer.echo(f"{output}: {len(built):,} occurrences of {len(built.counts):,} words, {seconds:,.1f} s", err=True)


def nearest(
    folder: IndexArgument,
    sentence: Annotated[
        str,
        typer.Argument(
            metavar="SENTENCE", help='With the word in brackets: "She signed to do a [play]".', show_default=False
        ),
    ],
    k: Annotated[int, typer.Option("-k", min=1, help="How many occurrences.")] = 10,
    words: Annotated[Words, typer.Option(help="Occurrences of any word, of the same one, or of others only.")] = "any",
    group: Annotated[bool, typer.Option("--group", help="Only the best occurrence of each word.")] = False,
    exact: Annotated[bool, typer.Option("--exact", help="Compare with every vector; slower in a large index.")] = False,
    model: QueryModel = None,
    options: OptionsFile = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Print the places of a corpus where a word means what it means in this sentence.

    The sentence is tokenised as the corpus was, with the same dictionary.

    Example: polyseme nearest news-index "Olivia signed to do a Broadway [play] for Garson" -k 10
    """
    from polyseme.index.occurrence_index import OccurrenceIndex
    from polyseme.text.marked import mark, marked

    form = form_of(as_json, as_csv)
    opened = OccurrenceIndex(folder, model=query_model(model, options))
    tokens, position = marked(sentence, opened.segmentation)
    found = opened.nearest(tokens, position, k=k, words=words, group=group, exact=exact)
    if not found:
        which = f"{'of another word than' if words == 'other' else 'of'} {tokens[position]!r}"
        raise InputError(f"{folder}: no occurrence {which}; leave out --words, or index more text")
    if form == "text":
        for one in found:
            typer.echo(f"{one.similarity:.3f}  {mark(one.sentence, one.position)}")
        return
    table = Table([Column(name) for name in NEAREST], [one.to_dict() for one in found])
    print_results(form, "nearest", {"index": str(folder), "sentence": [*tokens], "position": position}, table)
