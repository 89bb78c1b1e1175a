"""``polyseme compare``: one word in several sentences."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.cli.arguments import (
    CsvFlag,
    DictionaryOption,
    JsonFlag,
    OptionsFile,
    TokenizeOption,
    VectorsFile,
    model_path,
    read_dictionary,
)
from polyseme.cli.tables import Column, Table, form_of, padded, print_results
from polyseme.errors import InputError

if TYPE_CHECKING:
    from polyseme.files.whole import JSON
    from polyseme.study.compare import Comparison

_BUNDLED = {"english": "english-small", "chinese": "chinese-small"}
"""The model for a language, if none is named."""
_COLUMNS = tuple(Column(name) for name in ("layer", "first", "second", "similarity"))


Sentences = Annotated[
    list[str],
    typer.Argument(
        metavar="SENTENCE...",
        help="At least two. Where the word stands twice, or in another form, put the one you mean in brackets.",
        show_default=False,
    ),
]
ComparedModel = Annotated[
    str | None,
    typer.Option("--model", "-m", help="By default the bundled model of the sentences' language.", show_default=False),
]
PlotFile = Annotated[
    Path | None, typer.Option(help="Draw the similarities into this .png or .svg file.", show_default=False)
]


def compare(
    word: Annotated[str, typer.Argument(help="As it is written in the sentences.", show_default=False)],
    sentences: Sentences,
    model: ComparedModel = None,
    plot: PlotFile = None,
    tokenize: TokenizeOption = "auto",
    dictionary: DictionaryOption = None,
    options: OptionsFile = None,
    vectors: VectorsFile = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Print how alike the meanings of one word are in several sentences: the cosine between its vectors, by layer.

    Layer 0 knows the word alone, so that all its occurrences are the same there; the layers above know the sentence.

    Example: polyseme compare play "She wrote a play." "They play cards." "The play was long."
    """
    from polyseme import plots
    from polyseme.embed.load import load
    from polyseme.study.compare import compare_word
    from polyseme.text.segmentation import resolve

    form = form_of(as_json, as_csv)
    if plot is not None:
        plots.check_path(plot)
    plain = _plain(word, sentences)
    chosen = _bundled_model(plain) if model is None else model
    embedder = load(model_path(chosen, options, vectors))
    cut, note = resolve(tokenize, read_dictionary(dictionary), embedder.segmentation, lambda: plain)
    if note is not None and (cut.tokenizer is None or cut != embedder.segmentation):
        typer.echo(f"polyseme: {note}", err=True)
    found = compare_word(embedder, word, sentences, cut=cut)
    if plot is not None:
        _draw(found, plot)
    if form == "text":
        _print_tables(found)
        return
    facts: dict[str, JSON] = {"model": chosen, **found.to_dict()}
    print_results(form, "compare", facts, Table(_COLUMNS, found.pairs()))


def _plain(word: str, sentences: list[str]) -> str:
    """The sentences without brackets; words of a sentence that stands without quotes are refused."""
    from polyseme.text.looks import language_of

    alone = [one for one in sentences if len(one.split()) == 1 and word.casefold() not in one.casefold()]
    if (
        2 * len(alone) > len(sentences)
        and language_of(" ".join(sentences)) != "chinese"
        and not any(" " in one for one in sentences)
    ):
        quoted = f'"{" ".join(sentences)}"'
        raise InputError(f"{len(sentences)} sentences of one word each; put each sentence in quotes: {quoted}")
    return " ".join(sentences).replace("[", "").replace("]", "")


def _bundled_model(text: str) -> str:
    from polyseme.text.looks import language_of

    language = language_of(text)
    if language is None:
        raise InputError(
            "the sentences are neither English nor Chinese, and no other model is bundled; give one with -m"
        )
    name = _BUNDLED[language]
    typer.echo(f"polyseme: {language.capitalize()} sentences, compared by {name}; -m chooses another model", err=True)
    return name


def _draw(found: "Comparison", path: Path) -> None:
    from polyseme import plots
    from polyseme.text.marked import mark

    sentences = [mark(tokens, position, around=4) for tokens, position in found.sentences]
    note = plots.similarity_map(path, found.tables, sentences, title=f"{found.word} in {len(sentences)} sentences")
    if note:
        typer.echo(f"polyseme: {note}", err=True)


def _print_tables(found: "Comparison") -> None:
    from polyseme.text.marked import mark

    width = len(str(len(found.sentences)))
    for number, (tokens, position) in enumerate(found.sentences, 1):
        typer.echo(f"{number:>{width}}  {mark(tokens, position)}")
    for layer, table in found.tables.items():
        title = "mean of layers" if layer == "mean" else f"layer {layer}"
        typer.echo(f"\n{padded(title, 16)}" + "".join(f"{number:>8}" for number in range(1, len(table) + 1)))
        for number, row in enumerate(table, 1):
            typer.echo(f"{number:>14}  " + "".join(f"{value:8.3f}" for value in row.tolist()))
