"""``polyseme info``: what is this model?"""

from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.cli.arguments import CsvFlag, JsonFlag, OptionsFile, SoftmaxFile, VectorsFile, VocabularyFile, model_path
from polyseme.cli.tables import Column, Table, form_of, print_json, print_results
from polyseme.errors import InputError

if TYPE_CHECKING:
    from polyseme.files.whole import JSON
    from polyseme.formats.combination import Combination, PartConfig
    from polyseme.formats.layouts import Opened
    from polyseme.models.model import Model
    from polyseme.models.mt_lstm import MtLstmConfig
    from polyseme.models.static import WordVectors

BUNDLED = (
    Column("model", 18),
    Column("language", 10),
    Column("about", 86),
    Column("megabytes", 6, ",.1f", title="MB"),
)
OptionalModel = Annotated[
    str | None,
    typer.Argument(metavar="[MODEL]", help="A bundled model, or one of any known format.", show_default=False),
]


def info(
    model: OptionalModel = None,
    options: OptionsFile = None,
    vectors: VectorsFile = None,
    softmax: SoftmaxFile = None,
    vocabulary: VocabularyFile = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Say what a model is: format, size, layers, characters, vocabulary. Without one, list the bundled models.

    Example: polyseme info model.zip
    """
    from polyseme.formats.bundled import bundled_models
    from polyseme.formats.detect import open_any

    form = form_of(as_json, as_csv)
    if model is None:
        if given := next(filter(None, (options, vectors, softmax, vocabulary)), None):
            raise InputError(f"{given}: belongs to a model, and none is named; give its weights too")
        print_results(form, "info", {}, Table(BUNDLED, [one.to_dict() for one in bundled_models()]))
        return
    opened = open_any(model_path(model, options, vectors), softmax=softmax, vocabulary=vocabulary)
    facts = _describe(opened, model)
    if form == "json":
        print_json("info", {"model": model, **facts})
    elif form == "csv":
        rows = [{"fact": name, "value": value} for name, value in facts.items()]
        print_results(form, "info", {}, Table([Column("fact"), Column("value")], rows))
    else:
        for name, value in facts.items():
            if value not in (0, None):
                shown = "yes" if value is True else f"{value:,}" if isinstance(value, int) else value
                typer.echo(f"{name.replace('_', ' '):20} {shown}")


def _describe(opened: "Opened", path: str) -> "dict[str, JSON]":
    from polyseme.formats.combination import Combination
    from polyseme.models.model import Model

    if isinstance(opened, Combination):
        return _describe_combination(opened, path)
    return _describe_model(opened) if isinstance(opened, Model) else _describe_vectors(opened)


def _describe_model(model: "Model") -> "dict[str, JSON]":
    from polyseme.models.config import CharacterEncoderConfig
    from polyseme.models.mt_lstm import MtLstmConfig

    if isinstance(model.config, MtLstmConfig):
        return _describe_cove(model, model.config)
    config, bilm = model.bilm_config, model.bilm
    tokens = config.token_encoder
    characters = tokens if isinstance(tokens, CharacterEncoderConfig) else None
    softmax_parameters = sum(p.numel() for p in bilm.softmax.parameters()) if bilm.softmax else 0
    return {
        **_format(model),
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


def _describe_cove(model: "Model", config: "MtLstmConfig") -> "dict[str, JSON]":
    return {
        **_format(model),
        "parameters": sum(p.numel() for p in model.network.parameters()),
        "layers": model.network.layers,
        "dim": model.network.dim,
        "encoder": "lstm that reads both directions",
        "hidden_dim": config.hidden_dim,
        "token_encoder": "static vectors",
        "input_dim": config.input_dim,
        "input_words": config.words,
        "case_backoff": config.case_backoff,
        "tokenize": config.tokenize,
        "dictionary": len(config.dictionary or ()),
        "fingerprint": model.fingerprint(),
    }


def _format(model: "Model") -> "dict[str, JSON]":
    """The format of the model's files, and the one that its weights came from if that was another."""
    from polyseme.formats.detect import stored_as

    kind, origin = stored_as(model), model.config.source
    return {"format": kind} if kind == origin else {"format": kind, "origin": origin}


def _describe_combination(described: "Combination", path: str) -> "dict[str, JSON]":
    from polyseme.embed.load import load

    source, config = load(path), described.config
    parts = [f"{_describe_part(part)} x {part.weight:g}" for part in config.parts]
    return {
        "format": config.format,
        "parts": "; ".join(parts),
        "how": config.how,
        "scale": config.scale,
        "centred": config.centre,
        "layers": source.layers,
        "dim": source.dim,
        "tokenize": source.segmentation.tokenizer,
        "fingerprint": source.fingerprint(),
    }


def _describe_part(part: "PartConfig") -> str:
    """Where a part of a combination is, and which of its layers are used."""
    place = part.bundled or (" with ".join(part.path) if isinstance(part.path, tuple) else part.path)
    layers = part.layers
    chosen = " + ".join(f"{weight:g} h{j}" for j, weight in layers.items()) if isinstance(layers, dict) else layers
    return f"{place} ({'layer ' if isinstance(chosen, int) else ''}{'default' if chosen is None else chosen})"


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
