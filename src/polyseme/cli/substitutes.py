"""``polyseme substitutes``: words that the model would put in a place."""

import json
from typing import Annotated

import typer

from polyseme.cli.arguments import (
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
from polyseme.cli.columns import padded


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
) -> None:
    """Print the words that fit a place best, given what stands before and after it.

    Example: polyseme substitutes novel-model "The river [bank] was steep" -k 10
    """
    from polyseme.embed.load import load_embedder
    from polyseme.text.marked import marked

    embedder = load_embedder(model_path(model, options), softmax=softmax, vocabulary=vocabulary)
    cut = tokenize.value if tokenize else embedder.model.config.tokenize
    tokens, position = marked(sentence, cut, read_dictionary(dictionary))
    found = embedder.substitutes(tokens, position, k=k)
    if as_json:
        typer.echo(json.dumps([one._asdict() for one in found], ensure_ascii=False))
        return
    typer.echo(f"{'word':24}{'log-prob.':>10}{'forward':>10}{'backward':>10}")
    for one in found:
        typer.echo(f"{padded(one.word, 24)}{one.log_probability:10.3f}{one.forward:10.3f}{one.backward:10.3f}")
