"""``polyseme similar``: the words nearest to a word."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.cli.arguments import CsvFlag, JsonFlag
from polyseme.cli.tables import Column, Table, form_of, padded, print_results
from polyseme.errors import InputError

if TYPE_CHECKING:
    from polyseme import StaticVectors
    from polyseme.files.whole import JSON
    from polyseme.models.static import WordVectors
    from polyseme.text.segmentation import Segmentation


def similar(
    word: Annotated[str, typer.Argument(help="As it is written in the text.", show_default=False)],
    index: Annotated[
        str | None,
        typer.Option("--index", help="By the average of its vectors in the contexts of an index.", show_default=False),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="By a model's output embeddings, or by static vectors.",
            show_default=False,
        ),
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option("--vectors", help="By static vectors: GloVe, word2vec or fastText.", show_default=False),
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many words.")] = 10,
    least: Annotated[
        int, typer.Option(min=1, help="With --index, only words that occur at least this often in it.")
    ] = 5,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Print the words nearest to a word: in the contexts of a corpus, in a model's output, or in static vectors.

    Give several of --index, --model and --vectors to see them side by side.

    Example: polyseme similar play --index news-index --vectors glove.6B.50d.txt
    """
    from polyseme.embed.static_vectors import StaticVectors

    form = form_of(as_json, as_csv)
    places: dict[str, Callable[[], list[dict[str, JSON]]]] = {}
    if index is not None:
        from polyseme.index.occurrence_index import OccurrenceIndex

        similar_to = OccurrenceIndex(index).similar
        places["contexts"] = lambda: [one.to_dict() for one in similar_to(word, k=k, least=least)]
    if model is not None:
        kind, table, cut = _table(model)
        places[kind] = partial(_nearest, StaticVectors(table), word, k, where=model, cut=cut)
    if vectors is not None:
        places["static"] = partial(_nearest, StaticVectors.load(vectors), word, k, where=str(vectors))
    found = _where_it_is(places)
    if form == "text":
        _print_side_by_side(found)
        return
    rows = [{"source": source, "occurrences": None, **one} for source, some in found.items() for one in some]
    names = ("source", "word", "similarity", "occurrences")
    print_results(form, "similar", {"word": word}, Table([Column(name) for name in names], rows))


def _where_it_is(places: "dict[str, Callable[[], list[dict[str, JSON]]]]") -> "dict[str, list[dict[str, JSON]]]":
    """What each place has, with a note for one that lacks the word; an error if all do."""
    if not places:
        raise InputError("nothing to look in; give --index, --model or --vectors")
    found, lacking = {}, []
    for name, look in places.items():
        try:
            found[name] = look()
        except InputError as error:
            lacking.append(error)
    if not found:
        raise InputError("; ".join(map(str, lacking)))
    for why in lacking:
        typer.echo(f"polyseme: {why}", err=True)
    return found


def _table(model: str) -> "tuple[str, WordVectors, Segmentation | None]":
    """The word vectors of a model (its output embeddings, or static vectors), and how its text was tokenised."""
    from polyseme.formats.combination import Combination
    from polyseme.formats.detect import open_any
    from polyseme.models.model import Model
    from polyseme.study.output_words import output_words

    opened = open_any(model)
    if isinstance(opened, Combination):
        raise InputError(f"{model}: a combination has no list of words; index some text with it, and give --index")
    if isinstance(opened, Model):
        return "output", output_words(opened), opened.config.segmentation
    return "static", opened, None


def _print_side_by_side(found: "dict[str, list[dict[str, JSON]]]") -> None:
    typer.echo("".join(f"{name:32}" for name in found).rstrip())
    for number in range(max(map(len, found.values()))):
        cells = (some[number] if number < len(some) else None for some in found.values())
        shown = (f"{padded(str(one['word']), 24)}{one['similarity']:5.3f}   " if one else " " * 32 for one in cells)
        typer.echo("".join(shown).rstrip())


def _nearest(
    vectors: "StaticVectors", word: str, k: int, *, where: str, cut: "Segmentation | None" = None
) -> "list[dict[str, JSON]]":
    from polyseme.text.query_word import cut_apart

    try:
        return [{"word": near, "similarity": similarity} for near, similarity in vectors.nearest(word, k)]
    except InputError as error:
        asked = None if word in vectors else cut
        apart = None if asked is None else cut_apart(word, asked, "when a model is trained")
        why = f"{word!r} is not among the {len(vectors):,} words; {apart}" if apart else error
        raise InputError(f"{where}: {why}") from error
