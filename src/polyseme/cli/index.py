"""``polyseme index`` and ``polyseme nearest``: the occurrences of a text as vectors on disk, and the search in them."""

import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.cli.arguments import (
    CsvFlag,
    DeviceOption,
    DictionaryOption,
    FormatOption,
    JsonFlag,
    OptionsFile,
    PrecisionOption,
    ProgressOption,
    TokenizeOption,
    VectorsFile,
    query_model,
    tell_repairs,
)
from polyseme.cli.index_source import (
    IndexedText,
    IndexLayers,
    IndexModel,
    IndexVectors,
    open_stored_vectors,
    open_text,
)
from polyseme.cli.kwic import COLUMNS as KWIC
from polyseme.cli.kwic import kwic_lines, kwic_row
from polyseme.cli.progress import shown
from polyseme.cli.tables import Column, Row, Table, form_of, print_json, print_results
from polyseme.errors import InputError
from polyseme.index.choices import Compression, Words
from polyseme.progress.figures import counted

if TYPE_CHECKING:
    from polyseme.index.occurrence import Occurrence
    from polyseme.index.occurrence_index import OccurrenceIndex

NEAREST = ("word", "similarity", "sentence", "position", "file", "line", "document", "name", "label")
"""What is printed about an occurrence."""
_WRITTEN = "What polyseme index wrote: a folder, or postgresql://..."
IndexArgument = Annotated[str, typer.Argument(metavar="INDEX", help=_WRITTEN, show_default=False)]
IndexOption = Annotated[str, typer.Option("--index", help=_WRITTEN, show_default=False)]
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
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="The index to write: a folder, or postgresql://USER@HOST/DATABASE?schema=NAME.",
            show_default=False,
        ),
    ],
    text: IndexedText = None,
    model: IndexModel = None,
    layers: IndexLayers = None,
    compression: Annotated[
        Compression, typer.Option(help="Two bytes per number, one, or a quarter of one.")
    ] = "float16",
    word: Annotated[
        list[str] | None, typer.Option("--word", help="Only occurrences of this word; may be repeated.")
    ] = None,
    sample: Annotated[float, typer.Option(help="Only this share of the occurrences.")] = 1.0,
    label: Annotated[
        str | None,
        typer.Option(help="What to call this text, such as its decade; polyseme nearest --label searches it alone."),
    ] = None,
    tokenize: TokenizeOption = "auto",
    dictionary: DictionaryOption = None,
    reader: FormatOption = "auto",
    append: Annotated[bool, typer.Option("--append", help="Add to an index that exists.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    precision: PrecisionOption = "float32",
    device: DeviceOption = "cpu",
    options: OptionsFile = None,
    vectors: IndexVectors = None,
    progress: ProgressOption = "auto",
    as_json: JsonFlag = False,
) -> None:
    """Store every occurrence of a corpus as a vector, to be searched by meaning.

    A run that is killed loses at most a minute of its work. Continue it with --resume; that is safe even if the run had
    come to its end: no text is lost, and none is stored twice.

    Example: polyseme index news.txt -m english-small -o news-index
    """
    from polyseme.index.occurrence_index import OccurrenceIndex

    if vectors is not None and model is None and not text:
        embedder, corpus, choice = open_stored_vectors(vectors, layers)
    else:
        embedder, corpus, choice = open_text(
            text,
            model,
            layers,
            output,
            reader=reader,
            tokenize=tokenize,
            dictionary=dictionary,
            precision=precision,
            device=device,
            options=options,
            vectors=vectors,
        )
    begun = time.monotonic()
    with shown(progress) as watcher:
        built = OccurrenceIndex.build(
            embedder,
            corpus,
            output,
            layers=choice,
            compression=compression,
            words=word or None,
            sample=sample,
            label=label,
            append=append,
            resume=resume,
            watcher=watcher,
        )
    seconds = time.monotonic() - begun
    tell_repairs(corpus)
    occurrences, words = len(built), len(built.counts)
    if as_json:
        size = {"occurrences": occurrences, "words": words}
        print_json("index", {"model": model or embedder.name, "output": built.name, **size, "seconds": seconds})
    else:
        typer.echo(
            f"{built.name}: {counted(occurrences, 'occurrence')} of {counted(words, 'word')}, {seconds:,.1f} s",
            err=True,
        )


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
OnlyWords = Annotated[list[str] | None, typer.Option("--only", help="Only occurrences of this word; may be repeated.")]
InDocument = Annotated[
    str | None, typer.Option(help="Only in this document; or file, where the text names no documents.")
]
WithLabel = Annotated[str | None, typer.Option(help="Only in the text that was indexed with this label.")]
ExactFlag = Annotated[bool, typer.Option("--exact", help="Compare with every vector; slower in a large index.")]


def nearest(
    index: IndexArgument,
    sentence: MarkedSentence,
    k: Annotated[int, typer.Option("-k", min=1, help="How many occurrences.")] = 10,
    words: Annotated[Words, typer.Option(help="Occurrences of any word, of the same one, or of others only.")] = "any",
    group: Annotated[bool, typer.Option("--group", help="Only the best occurrence of each word.")] = False,
    only: OnlyWords = None,
    document: InDocument = None,
    label: WithLabel = None,
    exact: ExactFlag = False,
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

    form = form_of(as_json, as_csv)
    opened = OccurrenceIndex(index, model=query_model(model, options, vectors))
    tokens, position = _query(opened, sentence)
    apart = _tell_if_cut(opened, tokens[position])
    search = partial(opened.nearest, tokens, position, k=k, words=words, group=group)
    found = search(only=only or None, document=document, label=label, exact=exact, whiten=whiten)
    if not found:
        part = {"only": only, "document": document, "label": label}
        raise _none_found(opened, tokens[position], words, part, more_text=not apart)
    if form == "text":
        return _print_found(found, opened.name, kwic)
    facts: Row = {"index": opened.name, "sentence": [*tokens], "position": position, "whitened": whiten}
    return print_results(form, "nearest", facts, _as_table(found, kwic))


def _query(index: "OccurrenceIndex", sentence: str) -> tuple[list[str], int]:
    """The tokens of a sentence and the position of its marked word; a sentence in another language is told."""
    from polyseme.text.marked import marked
    from polyseme.text.segmentation import in_another_language

    if (foreign := in_another_language(sentence, index.segmentation)) is not None:
        typer.echo(f"polyseme: {foreign}", err=True)
    return marked(sentence, index.segmentation)


def _as_table(found: "list[Occurrence]", kwic: int | None) -> Table:
    if kwic is None:
        return Table([Column(name) for name in NEAREST], [one.to_dict() for one in found])
    return Table(KWIC, [kwic_row(one, kwic) for one in found])


def _none_found(
    index: "OccurrenceIndex", word: str, words: Words, part: Mapping[str, object], *, more_text: bool
) -> InputError:
    """What to raise if nothing fits the options that were given."""
    for name, known in (("label", index.numbered.labels), ("document", index.numbered.documents)):
        if part[name] is not None and part[name] not in (there := known()):
            some = f"it has {_some(there)}; give one of them" if there else f"it has none; leave out --{name}"
            return InputError(f"{index.name}: no {name} is {part[name]!r}; {some}")
    which = {"any": "", "same": f" of {word!r}", "other": f" of another word than {word!r}"}[words]
    given = {"words": words != "any", **part}
    named = " or ".join(f"--{name}" for name, value in given.items() if value)
    return InputError(f"{index.name}: no occurrence{which}; leave out {named}{', or index more text' * more_text}")


def _some(names: list[str], most: int = 8) -> str:
    """The first of some names, and how many more there are."""
    more = len(names) - most
    return ", ".join(map(repr, names[:most])) + (f" and {more:,} more" if more > 0 else "")


def _print_found(found: "list[Occurrence]", name: str, kwic: int | None) -> None:
    from polyseme.text.marked import mark

    if kwic is None:
        for one in found:
            typer.echo(f"{one.similarity:.3f}  {mark(one.sentence, one.position)}")
        return
    for line in kwic_lines(found, kwic):
        typer.echo(line)
    if not any(any(one.place) for one in found):
        typer.echo(
            f"polyseme: {name}: does not record where its sentences came from; build it again from files to see that",
            err=True,
        )


def _tell_if_cut(index: "OccurrenceIndex", word: str) -> bool:
    """Whether the tokeniser of an index never makes this word a token; if so, say it."""
    from polyseme.text.query_word import cut_apart

    apart = None if word in index.counts else cut_apart(word, index.segmentation, "when the text is indexed")
    if apart is not None:
        typer.echo(f"polyseme: {index.name}: {apart}", err=True)
    return apart is not None
