"""``polyseme words``: the frequent words of a text that its tokeniser does not know."""

from typing import Annotated

import typer

from polyseme.cli.arguments import (
    CsvFlag,
    DictionaryOption,
    FormatOption,
    JsonFlag,
    TextArgument,
    TokenizeOption,
    open_corpus,
    tell_repairs,
)
from polyseme.cli.tables import Column, Table, form_of, print_results

COLUMNS = ("word", "occurrences", "as_token", "cohesion", "freedom", "example")


def words(
    text: TextArgument,
    k: Annotated[int, typer.Option("-k", min=1, help="How many words.")] = 200,
    least: Annotated[int, typer.Option(min=2, help="Only words that occur at least this often.")] = 10,
    longest: Annotated[int, typer.Option(min=2, max=12, help="Characters (Chinese) or tokens of the longest.")] = 5,
    kept: Annotated[
        float,
        typer.Option(
            min=0.0, max=1.01, help="Leave out words that are a token in this share of their occurrences or more."
        ),
    ] = 0.6,
    tokenize: TokenizeOption = "auto",
    dictionary: DictionaryOption = None,
    reader: FormatOption = "auto",
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Propose words for a dictionary: names and terms that are frequent in a text but cut apart by its tokeniser.

    Each line has a word and how often it occurs, best first; --dictionary takes such a file. For a language with spaces
    these are names and terms of several words, and no dictionary is needed.

    Example: polyseme words novel.txt > names.txt
    """
    from polyseme.study.new_words import new_words

    form = form_of(as_json, as_csv)
    corpus = open_corpus(text, reader, tokenize, dictionary)
    if note := corpus.follow(None):
        typer.echo(f"polyseme: {note}", err=True)
    found = new_words(corpus, least=least, longest=longest, kept=kept, most=k)
    tell_repairs(corpus)
    if form == "text":
        for one in found:
            typer.echo(f"{one.word} {one.occurrences}")
        if not found:
            typer.echo("polyseme: no word is proposed; give more text, or a lower --least", err=True)
        return
    table = Table([Column(name) for name in COLUMNS], [one.to_dict() for one in found])
    print_results(form, "words", {"tokenize": corpus.tokenize, "words": len(found)}, table)
