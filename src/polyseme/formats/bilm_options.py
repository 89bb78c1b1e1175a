"""Translates bilm-tf's ``options.json`` to our configuration and back."""

from pydantic import ValidationError

from polyseme.errors import FormatError
from polyseme.files.json_file import problems
from polyseme.formats.files import JsonObject
from polyseme.formats.weights import Weights
from polyseme.models.config import BiLMConfig, CharacterEncoderConfig, LstmEncoderConfig, WordEncoderConfig
from polyseme.text.characters import BYTE_CHARACTERS, BYTE_PADDING_ID

STORED_BYTE_CHARACTERS = BYTE_CHARACTERS - 1
"""Files do not have the row of the mask."""


def to_config(options: JsonObject, arrays: Weights, softmax: Weights, *, kind: str, where: str) -> BiLMConfig:
    """The configuration that an options file describes, for arrays with bilm-tf's names.

    Args:
        options: The options file.
        arrays: The weights, which show whether the input is characters or words.
        softmax: The arrays that contain the softmax, if there is one.
        kind: The format to record.
        where: The options file's name.
    """
    try:
        lstm = options["lstm"]
        return BiLMConfig(
            projection_dim=lstm["projection_dim"],
            token_encoder=_token_encoder(options, arrays, where),
            encoder=LstmEncoderConfig(
                layers=lstm["n_layers"],
                hidden_dim=lstm["dim"],
                cell_clip=lstm.get("cell_clip") or None,
                projection_clip=lstm.get("proj_clip") or None,
                skip_connections=bool(lstm.get("use_skip_connections", False)),
            ),
            vocabulary_size=_rows(softmax, "softmax/b") if "softmax/b" in softmax else 0,
            source=kind,
            source_options=dict(options),
        )
    except KeyError as error:
        raise FormatError(f"{where}: no {error} setting; expected the options.json of a biLM") from error
    except ValidationError as error:
        place, problem = next(problems(error))
        raise FormatError(f"{where}: {place or 'options'}: {problem}") from error
    except (TypeError, AttributeError) as error:
        raise FormatError(f"{where}: settings are not laid out as in a biLM's options.json ({error})") from error


def _token_encoder(options: JsonObject, arrays: Weights, where: str) -> CharacterEncoderConfig | WordEncoderConfig:
    """The settings for characters or for words, whichever the weights contain."""
    if "char_cnn" in options and "char_embed" in arrays:
        cnn = options["char_cnn"]
        characters = cnn.get("n_characters", BYTE_CHARACTERS)
        if characters not in (BYTE_CHARACTERS, STORED_BYTE_CHARACTERS):
            raise FormatError(
                f"{where}: n_characters is {characters!r}, expected {BYTE_CHARACTERS}, or {STORED_BYTE_CHARACTERS} "
                "as written while training"
            )
        return CharacterEncoderConfig(
            alphabet="bytes",
            characters=BYTE_CHARACTERS,
            character_dim=cnn["embedding"]["dim"],
            max_characters=cnn.get("max_characters_per_token", 50),
            filters=cnn["filters"],
            activation=cnn.get("activation", "relu"),
            highway_layers=cnn.get("n_highway", 0) or 0,
            padding_id=BYTE_PADDING_ID,
        )
    if "embedding" in arrays:
        return WordEncoderConfig(words=_rows(arrays, "embedding"))
    raise FormatError(
        f"{arrays.path}: neither char_embed nor embedding in it; expected the weights of a biLM "
        f"(it holds {', '.join(list(arrays)[:4]) or 'nothing'})"
    )


def _rows(arrays: Weights, name: str) -> int:
    shape = arrays.shape(name)
    if not shape:
        raise FormatError(f"{arrays.path}: {name} is a single number, expected one row per word")
    return shape[0]


def to_options(config: BiLMConfig, encoder: CharacterEncoderConfig, lstm: LstmEncoderConfig) -> JsonObject:
    """Make an options file for a configuration that was not read from one."""
    return {
        "lstm": {
            "dim": lstm.hidden_dim,
            "projection_dim": config.projection_dim,
            "n_layers": lstm.layers,
            "cell_clip": lstm.cell_clip,
            "proj_clip": lstm.projection_clip,
            "use_skip_connections": lstm.skip_connections,
        },
        "char_cnn": {
            "embedding": {"dim": encoder.character_dim},
            "filters": encoder.filters,
            "n_highway": encoder.highway_layers,
            "n_characters": BYTE_CHARACTERS,
            "max_characters_per_token": encoder.max_characters,
            "activation": encoder.activation,
        },
    }
