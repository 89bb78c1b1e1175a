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
    TokenizeOption,
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
    tokenize: TokenizeOption = "auto",
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
    from polyseme.text.segmentation import resolve

    embedder = load_embedder(model_path(model, options), softmax=softmax, vocabulary=vocabulary)
    cut, note = resolve(
        tokenize, read_dictionary(dictionary), embedder.segmentation, lambda: sentence.replace("[", "").replace("]", "")
    )
    if note is not None and (cut.tokenizer is None or cut != embedder.segmentation):
        typer.echo(f"polyseme: {note}", err=True)
    tokens, position = marked(sentence, cut)
    found = embedder.substitutes(tokens, position, k=k)
    if as_json:
        typer.echo(json.dumps([one._asdict() for one in found], ensure_ascii=False))
        return
    typer.echo(f"{'word':24}{'log-prob.':>10}{'forward':>10}{'backward':>10}")
    for one in found:
        typer.echo(f"{padded(one.word, 24)}{one.log_probability:10.3f}{one.forward:10.3f}{one.backward:10.3f}")
