"""``polyseme score``: how likely each token of a text is."""

import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import typer

from polyseme.cli.arguments import (
    CsvFlag,
    DeviceOption,
    DictionaryOption,
    FormatOption,
    JsonFlag,
    OptionsFile,
    PredictingModel,
    ProgressOption,
    SoftmaxFile,
    TextArgument,
    TokenizeOption,
    VocabularyFile,
    follow_model,
    model_path,
    open_corpus,
    tell_repairs,
)
from polyseme.cli.progress import shown
from polyseme.cli.tables import Column, Form, form_of, json_line, print_csv, text_head, text_row
from polyseme.progress import TokenCounter

if TYPE_CHECKING:
    from polyseme import Embedder
    from polyseme.files.whole import JSON

SENTENCES_AT_ONCE = 1024
SHOWN = (
    Column("shown", title="token"),
    Column("forward", 10, ".3f"),
    Column("forward_surprisal", 8, ".2f", title="bits"),
    Column("backward", 10, ".3f"),
    Column("backward_surprisal", 8, ".2f", title="bits"),
)
COLUMNS = tuple(
    Column(name)
    for name in (
        "sentence",
        "position",
        "token",
        "known",
        "forward",
        "backward",
        "forward_surprisal",
        "backward_surprisal",
    )
)


def score(
    model: PredictingModel,
    text: TextArgument,
    tokenize: TokenizeOption = "auto",
    dictionary: DictionaryOption = None,
    reader: FormatOption = "auto",
    device: DeviceOption = "cpu",
    options: OptionsFile = None,
    softmax: SoftmaxFile = None,
    vocabulary: VocabularyFile = None,
    progress: ProgressOption = "auto",
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Print each token's log-probability and surprisal, given the words before it and given the words after it.

    Log-probabilities are natural, surprisal is in bits; a word outside the vocabulary is scored as `<UNK>` and marked
    with a star. Text: one line per token, a blank line after each sentence. --csv: one row per token. --json: one line
    with an object per sentence, for blank lines too.

    Example: polyseme score novel-model lines.txt
    """
    from polyseme.embed.load import load_embedder

    form = form_of(as_json, as_csv)
    corpus = open_corpus(text, reader, tokenize, dictionary)
    embedder = load_embedder(model_path(model, options), device=device, softmax=softmax, vocabulary=vocabulary)
    follow_model(embedder.segmentation, corpus)
    numbered = enumerate(sentence.tokens for sentence in corpus.nonempty())
    sentences = ((number, tokens) for number, tokens in numbered if tokens or form == "json")
    head = True
    # On a terminal the results themselves show how far it is.
    with shown("none" if progress == "auto" and sys.stdout.isatty() else progress) as watcher:
        counter = TokenCounter(watcher, f"scoring {corpus}")
        while some := list(islice(sentences, SENTENCES_AT_ONCE)):
            _print(form, _scored(embedder, some), head=head)
            head = False
            counter.add(sum(len(tokens) for _, tokens in some), corpus.share_read())
    tell_repairs(corpus)


def _print(form: Form, records: "Iterator[dict[str, JSON]]", *, head: bool) -> None:
    """Print what there is to say about some sentences, below a head if they are the first."""
    if form == "json":
        for record in records:
            typer.echo(json_line(record))
    elif form == "csv":
        print_csv(COLUMNS, (row for record in records for row in _rows(record)), head=head)
    else:
        if head:
            typer.echo(text_head(SHOWN))
        for record in records:
            for row in _rows(record):
                typer.echo(text_row(SHOWN, row))
            typer.echo("")


def _scored(embedder: "Embedder", sentences: list[tuple[int, list[str]]]) -> "Iterator[dict[str, JSON]]":
    """The results for each sentence."""
    from polyseme.study.token_scores import token_scores

    scored = token_scores(embedder, [tokens for _, tokens in sentences])
    for (number, _), record in zip(sentences, scored, strict=True):
        yield {"sentence": number, **record}


def _rows(record: "dict[str, JSON]") -> "Iterator[dict[str, JSON]]":
    """One row per token of a sentence."""
    values = {name: column for name, column in record.items() if isinstance(column, list)}
    for position, (token, *rest) in enumerate(zip(*values.values(), strict=True)):
        row = dict(zip([*values][1:], rest, strict=True))
        shown = token if row["known"] else f"{token} *"
        yield {"sentence": record["sentence"], "position": position, "token": token, "shown": shown, **row}
