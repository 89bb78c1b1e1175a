"""The one function that opens anything that gives vectors."""

from dataclasses import dataclass
from pathlib import Path

import torch

from polyseme.embed.combined_part import CombinedPart, check_parts, common_segmentation, reduced
from polyseme.embed.combined_vectors import CombinedVectors
from polyseme.embed.embedder import Embedder
from polyseme.embed.part_record import check_unchanged
from polyseme.embed.source import VectorSource
from polyseme.embed.static_vectors import StaticVectors
from polyseme.errors import FormatError, InputError
from polyseme.formats.combination import Combination, StaticSettings
from polyseme.formats.detect import open_any, open_model, stored_path
from polyseme.formats.layouts import Opened
from polyseme.models.model import Model, ModelPath
from polyseme.nn.choices import Precision


def load(
    model: ModelPath,
    *,
    precision: Precision = "float32",
    stateful: bool = False,
    device: str | torch.device = "cpu",
    softmax: str | Path | None = None,
    vocabulary: str | Path | None = None,
    batch_size: int = 64,
    batch_tokens: int = 8192,
    cache_mib: int = 256,
) -> VectorSource:
    """Load a model, static word vectors or a combination of any known format, ready to embed.

    Args:
        model: The name of a bundled model, a model folder, a zip, a weights file, a TensorFlow checkpoint's prefix,
            ``(options, weights)``, CoVe's ``(weights, vectors)``; static vectors: a GloVe, word2vec or fastText file,
            or a folder of word vectors; or a folder of combined vectors.
        precision: The number type of the LSTMs: bfloat16 and int8 are close to float32, and faster if the processor
            has instructions for them (AVX512-BF16, AVX512-VNNI).
        stateful: Carry state from batch to batch, as the original software does.
        device: Where to compute.
        softmax: An HDF5 file with the softmax, if it is a separate file; scores and substitutes need one.
        vocabulary: The words of the softmax, one per line, if they are a separate file.
        batch_size: Sentences per batch when stateful.
        batch_tokens: Tokens per batch otherwise.
        cache_mib: Memory for the token vectors of words seen before.

    Returns:
        An `Embedder`; `StaticVectors` for a file or folder of word vectors; `CombinedVectors` for a combination.

    Example:
        >>> embedder = load("english-small")
        >>> embedder.embed([["The", "river", "bank"]])[0].shape
        (3, 3, 256)
    """
    opened = open_any(model, softmax=softmax, vocabulary=vocabulary)
    options = LoadOptions(precision, stateful, device, batch_size, batch_tokens, cache_mib)
    return _source(opened, model, options, inside=())


@dataclass(frozen=True)
class LoadOptions:
    """How networks compute; see `load`."""

    precision: Precision
    stateful: bool
    device: str | torch.device
    batch_size: int
    batch_tokens: int
    cache_mib: int


def _source(opened: Opened, path: ModelPath, options: LoadOptions, *, inside: tuple[Path, ...]) -> VectorSource:
    """What was opened as a source; ``inside`` are the combinations that it is a part of."""
    if isinstance(opened, Combination):
        return _combined(opened, path, options, inside=inside)
    if not isinstance(opened, Model):
        _refuse_for_static(path, options)
        return StaticVectors(opened, path=stored_path(path))
    return Embedder(
        opened.to(options.device),
        precision=options.precision,
        stateful=options.stateful,
        batch_size=options.batch_size,
        batch_tokens=options.batch_tokens,
        cache_mib=options.cache_mib,
    )


def _combined(
    described: Combination, path: ModelPath, options: LoadOptions, *, inside: tuple[Path, ...]
) -> CombinedVectors:
    """Open the parts of a combination; options are for those that are computed."""
    if described.folder in inside:
        raise FormatError(f"{described.folder}: the combination is a part of itself; combine and save it again")
    config = described.config
    parts: list[CombinedPart] = []
    for number, part in enumerate(config.parts):
        place, within = described.part_path(number), (*inside, described.folder)
        source = _static(place, part.static) if part.static else _source(open_any(place), place, options, inside=within)
        check_unchanged(source, described, number)
        means, matrix = described.means.get(number), described.maps.get(number)
        layers = reduced(source, part.layers)
        parts.append(CombinedPart(source=source, layers=layers, weight=part.weight, mean=means, matrix=matrix))
    check_parts(parts, config.how)
    stored = stored_path(path)
    return CombinedVectors(
        parts,
        how=config.how,
        scale=config.scale,
        centre=config.centre,
        segmentation=described.segmentation or common_segmentation([part.source for part in parts]),
        path=stored if isinstance(stored, str) else None,
    )


def _static(path: ModelPath, settings: StaticSettings) -> StaticVectors:
    """Static vectors as they were opened when they were combined."""
    if isinstance(path, tuple):
        raise FormatError(f"{path[0]}: static vectors are one file or folder, got two paths; combine and save again")
    return StaticVectors.load(path, unknown=settings.unknown, case_backoff=settings.case_backoff, limit=settings.words)


def load_embedder(
    model: ModelPath,
    *,
    stateful: bool = False,
    device: str | torch.device = "cpu",
    softmax: str | Path | None = None,
    vocabulary: str | Path | None = None,
) -> Embedder:
    """Load a contextual model; as `load`, but static word vectors are refused."""
    return Embedder(open_model(model, softmax=softmax, vocabulary=vocabulary).to(device), stateful=stateful)


def _refuse_for_static(model: ModelPath, options: LoadOptions) -> None:
    """Refuse options that have no meaning for vectors that are looked up in a table."""
    chosen = {
        f"precision {options.precision!r}": options.precision != "float32",
        "stateful": options.stateful,
        f"device {str(options.device)!r}": torch.device(options.device).type != "cpu",
    }
    for option, given in chosen.items():
        if given:
            raise InputError(
                f"{model}: static word vectors are looked up in a table and not computed, so {option} has no meaning; "
                "leave it out"
            )
