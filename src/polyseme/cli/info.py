"""``polyseme info``: what is this model?"""

import json
from typing import Annotated, Any

import typer

from polyseme.cli.arguments import JsonFlag, OptionsFile, SoftmaxFile, VocabularyFile, model_path
from polyseme.errors import InputError

OptionalModel = Annotated[
    str | None,
    typer.Argument(metavar="[MODEL]", help="A bundled model, or one of any known format.", show_default=False),
]


def info(
    model: OptionalModel = None,
    options: OptionsFile = None,
    softmax: SoftmaxFile = None,
    vocabulary: VocabularyFile = None,
    as_json: JsonFlag = False,
) -> None:
    """Say what a model is: format, size, layers, characters, vocabulary. Without one, name the bundled models.

    Example: polyseme info model.zip
    """
    from polyseme.formats.detect import bundled_names, open_model
    from polyseme.models.config import CharacterEncoderConfig

    if model is None:
        if given := next(filter(None, (options, softmax, vocabulary)), None):
            raise InputError(f"{given}: belongs to a model, and none is named; give its weights too")
        names = bundled_names()
        typer.echo(json.dumps(names) if as_json else "\n".join(names))
        return
    opened = open_model(model_path(model, options), softmax=softmax, vocabulary=vocabulary)
    config, bilm = opened.config, opened.bilm
    tokens = config.token_encoder
    softmax_parameters = sum(p.numel() for p in bilm.softmax.parameters()) if bilm.softmax else 0
    facts: dict[str, Any] = {
        "format": config.source,
        "parameters": sum(p.numel() for p in bilm.parameters()) - softmax_parameters,
        "softmax_parameters": softmax_parameters,
        "layers": bilm.layers,
        "dim": bilm.dim,
        "encoder": config.encoder.kind,
        "hidden_dim": config.encoder.hidden_dim,
        "projection_dim": config.projection_dim,
        "token_encoder": f"{tokens.alphabet} characters" if isinstance(tokens, CharacterEncoderConfig) else "words",
        "characters": tokens.characters if isinstance(tokens, CharacterEncoderConfig) else 0,
        "max_characters": tokens.max_characters if isinstance(tokens, CharacterEncoderConfig) else 0,
        "input_words": tokens.words,
        "softmax_words": config.vocabulary_size,
        "vocabulary": len(opened.vocabulary) if opened.vocabulary else 0,
        "tokenize": config.tokenize,
        "dictionary": len(config.dictionary or ()),
        "fingerprint": opened.fingerprint(),
    }
    if as_json:
        typer.echo(json.dumps(facts))
        return
    for name, value in facts.items():
        if value not in (0, None):
            typer.echo(
                f"{name.replace('_', ' '):20} {value:,}"
                if isinstance(value, int)
                else f"{name.replace('_', ' '):20} {value}"
            )
