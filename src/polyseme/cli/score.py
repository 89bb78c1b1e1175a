"""``polyseme score``: how likely each token of a text is."""

import json
import math
import sys

import typer

from polyseme.cli.arguments import (
    DeviceOption,
    DictionaryOption,
    FormatOption,
    JsonFlag,
    ModelArgument,
    OptionsFile,
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
from polyseme.cli.columns import padded
from polyseme.cli.progress import counting_tokens

SENTENCES_AT_ONCE = 1024


def score(
    model: ModelArgument,
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
) -> None:
    """Print each token's log-probability and surprisal, given the words before it and given the words after it.

    Log-probabilities are natural, surprisal is in bits; a word outside the vocabulary is scored as `<UNK>` and marked
    with a star. Text: a line a token, a blank line after each sentence. --json: a line a sentence, blank ones too.

    Example: polyseme score novel-model lines.txt
    """
    from itertools import islice

    from polyseme.embed.load import load_embedder

    corpus = open_corpus(text, reader, tokenize, dictionary)
    embedder = load_embedder(model_path(model, options), device=device, softmax=softmax, vocabulary=vocabulary)
    follow_model(embedder.segmentation, corpus)
    words = embedder.model.vocabulary
    head = "" if as_json else f"{'token':24}{'forward':>10}{'bits':>8}{'backward':>10}{'bits':>8}\n"
    sentences = (sentence.tokens for sentence in corpus.nonempty() if sentence.tokens or as_json)
    # On a terminal the results themselves show how far it is.
    kind = "none" if progress == "auto" and sys.stdout.isatty() else progress
    with counting_tokens(kind, f"scoring {corpus}") as advance:
        while some := list(islice(sentences, SENTENCES_AT_ONCE)):
            typer.echo(head, nl=False)  # once there is something to stand under it
            head = ""
            for tokens, scores in zip(some, embedder.score(some), strict=True):
                forward, backward = ([float(number) for number in column] for column in scores.T)
                known = [words is not None and token in words for token in tokens]
                if as_json:
                    record = {
                        "tokens": tokens,
                        "known": known,
                        "forward": forward,
                        "backward": backward,
                        "forward_surprisal": [_bits(number) for number in forward],
                        "backward_surprisal": [_bits(number) for number in backward],
                    }
                    typer.echo(json.dumps(record, ensure_ascii=False))
                    continue
                for token, is_known, ahead, back in zip(tokens, known, forward, backward, strict=True):
                    name = token if is_known else f"{token} *"
                    typer.echo(f"{padded(name, 24)}{ahead:10.3f}{_bits(ahead):8.2f}{back:10.3f}{_bits(back):8.2f}")
                typer.echo("")
            advance(sum(map(len, some)), corpus.share_read())
    tell_repairs(corpus)


def _bits(log_probability: float) -> float:
    return -log_probability / math.log(2)
