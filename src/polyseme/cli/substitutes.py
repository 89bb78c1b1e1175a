"""``polyseme substitutes``: words that the model would put in place of another."""

from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.cli.arguments import (
    CsvFlag,
    DictionaryOption,
    JsonFlag,
    OptionsFile,
    PredictingModel,
    SoftmaxFile,
    TokenizeOption,
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
    model: PredictingModel,
    sentence: Annotated[
        str,
        typer.Argument(help='A sentence with the word in brackets: "The river [bank] was steep".', show_default=False),
    ],
    k: Annotated[int, typer.Option("-k", min=1, help="How many words.")] = 10,
    tokenize: TokenizeOption = "auto",
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
    from polyseme.embed.load import load_embedder
    from polyseme.text.marked import marked
    from polyseme.text.segmentation import in_another_language, resolve

    form = form_of(as_json, as_csv)
    embedder = load_embedder(model_path(model, options), softmax=softmax, vocabulary=vocabulary)
    plain = sentence.replace("[", "").replace("]", "")
    cut, note = resolve(tokenize, read_dictionary(dictionary), embedder.segmentation, lambda: plain)
    if note is not None and (cut.tokenizer is None or cut != embedder.segmentation):
        typer.echo(f"polyseme: {note}", err=True)
    elif (foreign := in_another_language(plain, cut)) is not None:
        typer.echo(f"polyseme: {foreign}", err=True)
    tokens, position = marked(sentence, cut)
    found = embedder.substitutes(tokens, position, k=k)
    facts: dict[str, JSON] = {"model": model, "sentence": [*tokens], "position": position}
    print_results(form, "substitutes", facts, Table(COLUMNS, [one.to_dict() for one in found]))
