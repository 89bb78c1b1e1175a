"""``polyseme index`` and ``polyseme nearest``: the occurrences of a text as vectors on disk, and the search in them."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    VectorsFile,
    check_outside,
    follow_model,
    model_path,
    open_corpus,
    query_model,
    tell_repairs,
)
from polyseme.cli.kwic import COLUMNS as KWIC
from polyseme.cli.kwic import kwic_lines, kwic_row
from polyseme.cli.progress import shown
from polyseme.cli.tables import Column, Row, Table, form_of, print_json, print_results
from polyseme.errors import InputError
from polyseme.index.choices import Compression, Words

if TYPE_CHECKING:
    from polyseme.index.occurrence import Occurrence
    from polyseme.index.occurrence_index import OccurrenceIndex

NEAREST = ("word", "similarity", "sentence", "position", "file", "line", "document", "name")
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
WhitenFlag = Annotated[
    bool,
    typer.Option("--whiten", help="Whiten by the spread within words; fitted once and stored with the index."),
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
    vectors: VectorsFile = None,
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
    embedder = load(model_path(model, options, vectors), precision=precision, device=device)
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


MarkedSentence = Annotated[
    str,
    typer.Argument(
        metavar="SENTENCE", help='With the word in brackets: "She signed to do a [play]".', show_default=False
    ),
]

Kwic = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Align the words below each other, with this many tokens on each side, and say where each sentence came "
        "from: file, line, document.",
        show_default=False,
    ),
]


def nearest(
    folder: IndexArgument,
    sentence: MarkedSentence,
    k: Annotated[int, typer.Option("-k", min=1, help="How many occurrences.")] = 10,
    words: Annotated[Words, typer.Option(help="Occurrences of any word, of the same one, or of others only.")] = "any",
    group: Annotated[bool, typer.Option("--group", help="Only the best occurrence of each word.")] = False,
    exact: Annotated[bool, typer.Option("--exact", help="Compare with every vector; slower in a large index.")] = False,
    whiten: WhitenFlag = False,
    kwic: Kwic = None,
    model: QueryModel = None,
    options: OptionsFile = None,
    vectors: VectorsFile = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Print the places of a corpus where a word means what it means in this sentence.

    The sentence is tokenised as the corpus was, with the same dictionary.

    Example: polyseme nearest news-index "Olivia signed to do a Broadway [play] for Garson" -k 10 --kwic 8
    """
    from polyseme.index.occurrence_index import OccurrenceIndex
    from polyseme.text.marked import marked

    form = form_of(as_json, as_csv)
    opened = OccurrenceIndex(folder, model=query_model(model, options, vectors))
    tokens, position = marked(sentence, opened.segmentation)
    _tell_if_cut(opened, tokens[position])
    found = opened.nearest(tokens, position, k=k, words=words, group=group, exact=exact, whiten=whiten)
    if not found:
        which = f"{'of another word than' if words == 'other' else 'of'} {tokens[position]!r}"
        raise InputError(f"{folder}: no occurrence {which}; leave out --words, or index more text")
    if form == "text":
        _print_found(found, folder, kwic)
        return
    table = Table([Column(name) for name in NEAREST], [one.to_dict() for one in found])
    if kwic is not None:
        table = Table(KWIC, [kwic_row(one, kwic) for one in found])
    facts: Row = {"index": str(folder), "sentence": [*tokens], "position": position, "whitened": whiten}
    print_results(form, "nearest", facts, table)


def _print_found(found: "list[Occurrence]", folder: Path, kwic: int | None) -> None:
    from polyseme.text.marked import mark

    if kwic is None:
        for one in found:
            typer.echo(f"{one.similarity:.3f}  {mark(one.sentence, one.position)}")
        return
    for line in kwic_lines(found, kwic):
        typer.echo(line)
    if not any(any(one.place) for one in found):
        typer.echo(
            f"polyseme: {folder}: does not record where its sentences came from; build it again from files to see that",
            err=True,
        )


def _tell_if_cut(index: "OccurrenceIndex", word: str) -> None:
    """Say so if the tokeniser of an index never makes this word a token."""
    from polyseme.text.query_word import cut_apart

    apart = None if word in index.counts else cut_apart(word, index.segmentation)
    if apart is not None:
        typer.echo(f"polyseme: {index.path}: {apart} when the text is indexed", err=True)
