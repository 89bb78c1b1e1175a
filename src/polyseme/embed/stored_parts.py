"""Vectors that were stored before, read again in the order of their text: a folder of parts, or one Parquet file."""

import json

from polyseme.embed.vectors_record import MANIFEST, VectorsManifest
from polyseme.errors import FormatError, InputError
from polyseme.files.json_file import check_record
from polyseme.files.location import Location
from polyseme.files.whole import reason


def read_manifest(folder: Location) -> VectorsManifest:
    """The manifest of a folder of vectors.

    Raises:
        InputError: The folder has none.
        FormatError: It is damaged.
    """
    location, advice = folder.child(MANIFEST), "embed the text again"
    if location.size() is None:
        raise InputError(
            f"{folder.shown}: no complete folder of vectors ({MANIFEST} is missing); write one with "
            "polyseme embed --engine ray"
        )
    try:
        value = json.loads(location.read())
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{location.shown}: damaged ({reason(error)}); {advice}") from error
    return check_record(value, VectorsManifest, where=location.shown, advice=advice)
