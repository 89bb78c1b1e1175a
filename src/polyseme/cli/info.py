"""``polyseme info``: what is this model?"""

from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.cli.arguments import CsvFlag, JsonFlag, OptionsFile, SoftmaxFile, VocabularyFile, model_path
from polyseme.cli.tables import Column, Table, form_of, print_json, print_results
from polyseme.errors import InputError

if TYPE_CHECKING:
    from polyseme.files.whole import JSON
    from polyseme.models.model import Model
    from polyseme.models.static import WordVectors

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
    as_csv: CsvFlag = False,
) -> None:
    """Say what a model is: format, size, layers, characters, vocabulary. Without one, name the bundled models.

    Example: polyseme info model.zip
    """
    from polyseme.formats.detect import bundled_names, open_any
    from polyseme.models.model import Model

    form = form_of(as_json, as_csv)
    if model is None:
        if given := next(filter(None, (options, softmax, vocabulary)), None):
            raise InputError(f"{given}: belongs to a model, and none is named; give its weights too")
        names = bundled_names()
        if form == "text":
            typer.echo("\n".join(names))
        else:
            print_results(form, "info", {}, Table([Column("model")], [{"model": name} for name in names]))
        return
    opened = open_any(model_path(model, options), softmax=softmax, vocabulary=vocabulary)
    facts = _describe_model(opened) if isinstance(opened, Model) else _describe_vectors(opened)
    if form == "json":
        print_json("info", {"model": model, **facts})
    elif form == "csv":
        rows = [{"fact": name, "value": value} for name, value in facts.items()]
        print_results(form, "info", {}, Table([Column("fact"), Column("value")], rows))
    else:
        for name, value in facts.items():
            if value not in (0, None):
                shown = f"{value:,}" if isinstance(value, int) else value
                typer.echo(f"{name.replace('_', ' '):20} {shown}")


def _describe_model(model: "Model") -> "dict[str, JSON]":
    from polyseme.models.config import CharacterEncoderConfig

    config, bilm = model.bilm_config, model.bilm
    tokens = config.token_encoder
    characters = tokens if isinstance(tokens, CharacterEncoderConfig) else None
    softmax_parameters = sum(p.numel() for p in bilm.softmax.parameters()) if bilm.softmax else 0
    return {
        "format": config.source,
        "parameters": sum(p.numel() for p in bilm.parameters()) - softmax_parameters,
        "softmax_parameters": softmax_parameters,
        "layers": bilm.layers,
        "dim": bilm.dim,
        "encoder": config.encoder.kind,
        "hidden_dim": config.encoder.hidden_dim,
        "projection_dim": config.projection_dim,
        "token_encoder": f"{characters.alphabet} characters" if characters else "words",
        "characters": characters.characters if characters else 0,
        "max_characters": characters.max_characters if characters else 0,
        "input_words": tokens.words,
        "softmax_words": config.vocabulary_size,
        "vocabulary": len(model.vocabulary) if model.vocabulary else 0,
        "tokenize": config.tokenize,
        "dictionary": len(config.dictionary or ()),
        "mixes": len(model.mixes),
        "fingerprint": model.fingerprint(),
    }


def _describe_vectors(table: "WordVectors") -> "dict[str, JSON]":
    from polyseme.embed.static_vectors import StaticVectors

    return {
        "format": table.source,
        "words": len(table.words),
        "layers": 1,
        "dim": table.dim,
        "duplicates": table.duplicates,
        "repaired": table.repaired,
        "fingerprint": StaticVectors(table).fingerprint(),
    }
