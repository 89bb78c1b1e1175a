"""``polyseme substitutes``: words that the model would put in place of another."""

from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.cli.arguments import (
    CsvFlag,
    DictionaryOption,
    JsonFlag,
    ModelArgument,
    OptionsFile,
    SoftmaxFile,
    TokenizerChoice,
    VocabularyFile,
    model_path,
    read_dictionary,
)
from polyseme.cli.tables import Column, Table, form_of, print_results

if TYPE_CHECKING:
    from polyseme.files.whole import JSON

COLUMNS = (
    Column("word"),
    Column("log_probability", 10, ".3f", title="log-prob."),
    Column("forward", 10, ".3f"),
    Column("backward", 10, ".3f"),
)


def substitutes(
    model: ModelArgument,
    sentence: Annotated[
        str,
        typer.Argument(help='A sentence with the word in brackets: "The river [bank] was steep".', show_default=False),
    ],
    k: Annotated[int, typer.Option("-k", min=1, help="How many words.")] = 10,
    tokenize: Annotated[
        TokenizerChoice | None,
        typer.Option(
            help="Cut the sentence into tokens. [default: as the model's text was; at spaces where that is not known]",
            show_default=False,
        ),
    ] = None,
    dictionary: DictionaryOption = None,
    options: OptionsFile = None,
    softmax: SoftmaxFile = None,
    vocabulary: VocabularyFile = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Print the words that fit best in place of the word in brackets, given the words before and after it.

    Example: polyseme substitutes novel-model "The river [bank] was steep" -k 10
    """
    from polyseme.embed.load import load
    from polyseme.text.marked import marked

    form = form_of(as_json, as_csv)
    embedder = load(model_path(model, options), softmax=softmax, vocabulary=vocabulary)
    cut = tokenize.value if tokenize else embedder.model.config.tokenize
    tokens, position = marked(sentence, cut, read_dictionary(dictionary))
    found = embedder.substitutes(tokens, position, k=k)
    facts: dict[str, JSON] = {"model": model, "sentence": [*tokens], "position": position}
    print_results(form, "substitutes", facts, Table(COLUMNS, [one.to_dict() for one in found]))
