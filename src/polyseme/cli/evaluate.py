"""``polyseme evaluate``: how well a model predicts a text."""

import json
from collections.abc import Iterator

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
from polyseme.cli.progress import counting_tokens


def evaluate(
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
    """Measure the perplexity of a text: forward, backward and average, always of the full softmax.

    Perplexity is exp of the mean negative log-probability of the predictions: every token and, forward, the end
    marker, backward, the begin marker. The average is the mean of the two perplexities, as the ELMo paper reports it.

    Example: polyseme evaluate novel-model test.txt
    """
    from polyseme.formats.detect import open_model
    from polyseme.train.lm.evaluate import evaluate as measure

    corpus = open_corpus(text, reader, tokenize, dictionary)
    opened = open_model(model_path(model, options), softmax=softmax, vocabulary=vocabulary)
    follow_model(opened.segmentation, corpus)
    with counting_tokens(progress, f"evaluating {corpus}") as advance:

        def sentences() -> Iterator[list[str]]:
            for sentence in corpus.nonempty():
                yield sentence.tokens
                advance(len(sentence.tokens), corpus.share_read())

        result = measure(opened, sentences(), device=device)
    tell_repairs(corpus)
    if as_json:
        typer.echo(json.dumps({**result.to_dict(), "softmax_words": opened.bilm_config.vocabulary_size}))
        return
    typer.echo(f"{'perplexity (full softmax)':28}{'forward':>12}{'backward':>12}{'average':>12}")
    rows = (
        ("all predictions", result.forward, result.backward, result.average),
        ("without <UNK>", result.forward_known, result.backward_known, result.average_known),
    )
    for name, *numbers in rows:
        typer.echo(f"{name:28}" + "".join(f"{number:12.2f}" for number in numbers))
    typer.echo(f"{result.tokens:,} tokens, {result.unknown_share:.2%} unknown to the vocabulary")
