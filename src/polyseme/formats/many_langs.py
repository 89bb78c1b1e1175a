"""Reads ELMoForManyLangs models, one per language: torch pickles with character and word tables."""

from pathlib import PurePosixPath, PureWindowsPath

from pydantic import ValidationError
from torch import Tensor

from polyseme.errors import FormatError
from polyseme.files.json_file import problems
from polyseme.formats.assemble import assemble
from polyseme.formats.files import Files, JsonObject
from polyseme.formats.pickled_weights import PickledWeights
from polyseme.formats.weights import Weights
from polyseme.models.config import BiLMConfig, CharacterEncoderConfig, LstmEncoderConfig
from polyseme.models.model import Model
from polyseme.text.characters import UnicodeCharacters

KIND = "elmo-many-langs"
CONFIG, CHARACTERS, WORDS, TOKENS, ENCODER = "config.json", "char.dic", "word.dic", "token_embedder.pkl", "encoder.pkl"

# The settings file that the public models refer to but do not include (cnn_50_100_512_4096_sample).
_DEFAULT_NAME = "cnn_50_100_512_4096_sample.json"
_DEFAULT: JsonObject = {
    "encoder": {"name": "elmo", "projection_dim": 512, "cell_clip": 3, "proj_clip": 3, "dim": 4096, "n_layers": 2},
    "token_embedder": {
        "name": "cnn",
        "activation": "relu",
        "filters": [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
        "n_highway": 2,
        "word_dim": 100,
        "char_dim": 50,
        "max_characters_per_token": 50,
    },
}


def read(files: Files) -> Model:
    """Read a model folder or zip."""
    characters = _dictionary(files, CHARACTERS)
    words = _dictionary(files, WORDS) if WORDS in files.names else None
    settings, asked_by = _settings(files)
    config = _config(settings, characters, words, where=asked_by)
    encoder = config.token_encoder
    assert isinstance(encoder, CharacterEncoderConfig)
    try:
        indexer = UnicodeCharacters(
            characters,
            max_characters=encoder.max_characters,
            words=words if encoder.words else None,
            # The original code swaps the two markers when it reads them, and the weights were trained that way.
            begin_word="<eow>",
            end_word="<bow>",
        )
    except FormatError as error:
        raise FormatError(f"{files.where}: {error}") from error
    tensors = _read_token_encoder(PickledWeights(files, TOKENS), config, asked_by)
    tensors |= _read_lstms(PickledWeights(files, ENCODER), config, asked_by)
    return Model(config, assemble(config, tensors, where=files.where), indexer)


def _dictionary(files: Files, name: str) -> dict[str, int]:
    """Read ``token TAB id`` lines.

    The original code strips every line, and reads a line of which only an id is left as the id of U+3000, which is
    whitespace itself. So the line of any other whitespace token (a no-break space) also becomes U+3000, and that token
    itself is unknown.
    """
    table: dict[str, int] = {}
    for number, line in enumerate(files.text(name).split("\n"), start=1):
        token, _, index = line.strip().rpartition("\t")
        if index.isdecimal() and len(index) < 10:
            table[token or "\u3000"] = int(index)
        elif index:
            raise FormatError(f"{files.shown(name)}:{number}: got {line[:60]!r}, expected a token, a tab and its id")
    return table


def _settings(files: Files) -> tuple[JsonObject, str]:
    """The network's settings and the name of the file they are in.

    ``config_path`` is a path on its author's machine, so a file of that name is looked for in the model's folder.
    """
    outer = files.json(CONFIG)
    if "encoder" in outer and "token_embedder" in outer:
        return outer, files.shown(CONFIG)
    pointed = str(outer.get("config_path", ""))
    name = PureWindowsPath(PurePosixPath(pointed).name).name
    if name in files.names and name != CONFIG:
        return files.json(name), files.shown(name)
    why = "" if name == _DEFAULT_NAME else f" (config.json asks for {name!r}, which is not in {files.where})"
    return _DEFAULT, f"the public default {_DEFAULT_NAME}{why}"


def _config(
    settings: JsonObject, characters: dict[str, int], words: dict[str, int] | None, *, where: str
) -> BiLMConfig:
    try:
        tokens, encoder = settings["token_embedder"], settings["encoder"]
        if str(tokens.get("name", "cnn")).lower() != "cnn" or str(encoder.get("name", "elmo")).lower() != "elmo":
            raise FormatError(
                f"{where}: token embedder {tokens.get('name')!r} with encoder {encoder.get('name')!r}; only 'cnn' with "
                "'elmo', which all public models are, can be read"
            )
        return BiLMConfig(
            projection_dim=encoder["projection_dim"],
            token_encoder=_token_encoder(tokens, characters, words, where=where),
            encoder=LstmEncoderConfig(
                layers=encoder["n_layers"],
                hidden_dim=encoder["dim"],
                cell_clip=encoder.get("cell_clip") or None,
                projection_clip=encoder.get("proj_clip") or None,
                skip_connections=True,
                forget_bias=0.0,
            ),
            source=KIND,
            source_options=settings,
        )
    except KeyError as error:
        raise FormatError(
            f"{where}: no {error} setting; expected the configuration of an ELMoForManyLangs model"
        ) from error
    except ValidationError as error:
        place, problem = next(problems(error))
        raise FormatError(f"{where}: {place or 'settings'}: {problem}") from error
    except (TypeError, AttributeError, ValueError, OverflowError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(
            f"{where}: settings are not laid out as in an ELMoForManyLangs configuration ({error})"
        ) from error


def _token_encoder(
    tokens: JsonObject, characters: dict[str, int], words: dict[str, int] | None, *, where: str
) -> CharacterEncoderConfig:
    word_dim = int(tokens.get("word_dim") or 0)
    if word_dim and not words:
        raise FormatError(
            f"{where}: word_dim is {word_dim}, but {WORDS} has no words; put the {WORDS} that came with the "
            "model next to its weights"
        )
    return CharacterEncoderConfig(
        alphabet="unicode",
        characters=max(characters.values(), default=-1) + 1,
        character_dim=tokens["char_dim"],
        max_characters=tokens.get("max_characters_per_token", 50),
        filters=tokens["filters"],
        activation=tokens.get("activation", "relu"),
        highway_layers=tokens.get("n_highway", 0),
        padding_id=characters.get(UnicodeCharacters.PADDING, 0),
        words=max(words.values(), default=-1) + 1 if words and word_dim else 0,
        word_dim=word_dim,
    )


def _read_token_encoder(arrays: Weights, config: BiLMConfig, asked_by: str) -> dict[str, Tensor]:
    encoder = config.token_encoder
    assert isinstance(encoder, CharacterEncoderConfig)
    here = "token_encoder."
    dim = encoder.character_dim
    tensors = {
        here + "characters.embedding.weight": arrays.take(
            "char_emb_layer.embedding.weight", encoder.characters, dim, asked_by=f"{CHARACTERS} with {asked_by}"
        )
    }
    if encoder.words:
        tensors[here + "words.weight"] = arrays.take(
            "word_emb_layer.embedding.weight", encoder.words, encoder.word_dim, asked_by=f"{WORDS} with {asked_by}"
        )
    for index, (width, count) in enumerate(encoder.filters):
        name, ours = f"convolutions.{index}.", f"{here}characters.convolutions.{index}."
        tensors[ours + "weight"] = arrays.take(name + "weight", count, dim, width, asked_by=asked_by)
        tensors[ours + "bias"] = arrays.take(name + "bias", count, asked_by=asked_by)
    features = sum(count for _, count in encoder.filters)
    for index in range(encoder.highway_layers):
        name, ours = f"highways._layers.{index}.", f"{here}highways.{index}."
        tensors[ours + "weight"] = arrays.take(name + "weight", 2 * features, features, asked_by=asked_by)
        tensors[ours + "bias"] = arrays.take(name + "bias", 2 * features, asked_by=asked_by)
    width = features + encoder.word_dim
    tensors[here + "projection.weight"] = arrays.take(
        "projection.weight", config.projection_dim, width, asked_by=asked_by
    )
    tensors[here + "projection.bias"] = arrays.take("projection.bias", config.projection_dim, asked_by=asked_by)
    return tensors


def _read_lstms(arrays: Weights, config: BiLMConfig, asked_by: str) -> dict[str, Tensor]:
    """Read the LSTMs; gates are in our order, and the stored bias already includes the forget bias."""
    tensors: dict[str, Tensor] = {}
    hidden, projection = config.encoder.hidden_dim, config.projection_dim
    for direction in ("forward", "backward"):
        for layer in range(config.encoder.layers):
            name, ours = f"{direction}_layer_{layer}.", f"encoder.{direction}_layers.{layer}."
            tensors[ours + "weight_ih"] = arrays.take(
                name + "input_linearity.weight", 4 * hidden, projection, asked_by=asked_by
            )
            tensors[ours + "weight_hh"] = arrays.take(
                name + "state_linearity.weight", 4 * hidden, projection, asked_by=asked_by
            )
            tensors[ours + "bias"] = arrays.take(name + "state_linearity.bias", 4 * hidden, asked_by=asked_by)
            tensors[ours + "weight_hr"] = arrays.take(
                name + "state_projection.weight", projection, hidden, asked_by=asked_by
            )
    return tensors
