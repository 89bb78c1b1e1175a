"""``polyseme evaluate``: how well a model predicts a text."""

from collections.abc import Iterator
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
from polyseme.cli.tables import Column, Table, form_of, print_results
from polyseme.progress import TokenCounter
from polyseme.progress.figures import counted

if TYPE_CHECKING:
    from polyseme.files.whole import JSON
    from polyseme.progress import Watcher
    from polyseme.text.corpus import Corpus

COLUMNS = (
    Column("predictions", 28, title="perplexity (full softmax)"),
    Column("forward", 12, ".2f"),
    Column("backward", 12, ".2f"),
    Column("average", 12, ".2f"),
)


def evaluate(
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
    """Measure the perplexity of a text: forward, backward and average, always of the full softmax.

    Perplexity is exp of the mean negative log-probability of the predictions: every token and, forward, the end
    marker, backward, the begin marker. The average is the mean of the two perplexities, as the ELMo paper reports it.

    Example: polyseme evaluate novel-model test.txt
    """
    from polyseme.formats.detect import open_model
    from polyseme.train.lm.evaluate import evaluate as measure

    form = form_of(as_json, as_csv)
    corpus = open_corpus(text, reader, tokenize, dictionary)
    opened = open_model(model_path(model, options), softmax=softmax, vocabulary=vocabulary)
    follow_model(opened.segmentation, corpus)
    with shown(progress) as watcher:
        result = measure(opened, _counted(corpus, watcher), device=device)
    tell_repairs(corpus)
    words = opened.bilm_config.vocabulary_size
    facts: dict[str, JSON] = {"model": model, "tokens": result.tokens, "unknown_share": result.unknown_share}
    print_results(form, "evaluate", {**facts, "softmax_words": words}, Table(COLUMNS, _rows(result.to_dict())))
    if form == "text":
        typer.echo(f"{counted(result.tokens, 'token')}, {result.unknown_share:.2%} unknown to the vocabulary")


def _counted(corpus: "Corpus", watcher: "Watcher") -> Iterator[list[str]]:
    """The sentences of a corpus, reported as they are used."""
    counter = TokenCounter(watcher, f"evaluating {corpus}")
    for sentence in corpus.nonempty():
        yield sentence.tokens
        counter.add(len(sentence.tokens), corpus.share_read())


def _rows(found: "dict[str, JSON]") -> "list[dict[str, JSON]]":
    """Perplexities of both directions, of all predictions and of known words alone."""
    directions = ("forward", "backward", "average")
    return [
        {"predictions": "all predictions", **{name: found[name] for name in directions}},
        {"predictions": "without <UNK>", **{name: found[f"{name}_known"] for name in directions}},
    ]
