"""``polyseme substitutes``: words that the model would put in a place."""

import json
from typing import Annotated

import typer

from polyseme.cli.arguments import (
    JsonFlag,
    ModelArgument,
    OptionsFile,
    SoftmaxFile,
    TokenizerChoice,
    VocabularyFile,
    model_path,
)
from polyseme.errors import InputError


def substitutes(
    model: ModelArgument,
    sentence: Annotated[
        str,
        typer.Argument(help='A sentence with the word in brackets: "The river [bank] was steep".', show_default=False),
    ],
    k: Annotated[int, typer.Option("-k", min=1, help="How many words.")] = 10,
    tokenize: Annotated[
        TokenizerChoice | None, typer.Option(help="Cut the sentence into tokens; else they stand between spaces.")
    ] = None,
    options: OptionsFile = None,
    softmax: SoftmaxFile = None,
    vocabulary: VocabularyFile = None,
    as_json: JsonFlag = False,
) -> None:
    """Print the words that fit a place best, given what stands before and after it.

    Example: polyseme substitutes novel-model "The river [bank] was steep" -k 10
    """
    from polyseme.embed.load import load

    tokens, position = _marked(sentence, tokenize)
    embedder = load(model_path(model, options), softmax=softmax, vocabulary=vocabulary)
    found = embedder.substitutes(tokens, position, k=k)
    if as_json:
        typer.echo(json.dumps([one._asdict() for one in found], ensure_ascii=False))
        return
    typer.echo(f"{'word':24}{'log-prob.':>10}{'forward':>10}{'backward':>10}")
    for one in found:
        typer.echo(f"{one.word:24}{one.log_probability:10.3f}{one.forward:10.3f}{one.backward:10.3f}")


def _marked(sentence: str, tokenize: TokenizerChoice | None) -> tuple[list[str], int]:
    """The tokens, and which of them is in brackets."""
    before, opened, rest = sentence.partition("[")
    word, closed, after = rest.partition("]")
    if not opened or not closed or not word.strip() or "[" in after:
        raise InputError(f"{sentence!r} has no one word in brackets; write it as: The river [bank] was steep")
    parts = [_tokens(part, tokenize) for part in (before, after)]
    return [*parts[0], word.strip(), *parts[1]], len(parts[0])


def _tokens(text: str, tokenize: TokenizerChoice | None) -> list[str]:
    if tokenize is None:
        return text.split()
    import io

    from polyseme.text.tokenizers import tokenized

    return [token for tokens in tokenized(io.StringIO(text).readline, tokenize.value) for token in tokens]
