"""The whitening of an index in a database: fitted on its occurrences and kept in a table."""

import contextlib
from typing import cast

import numpy as np

from polyseme.errors import FormatError, StoreError
from polyseme.index.postgres.connection import Connection
from polyseme.index.store import Store
from polyseme.index.stored_whitening import fit
from polyseme.index.whitening import Whitening


def open_whitening(connection: Connection, store: Store) -> Whitening:
    """The whitening as it is stored, or fitted now and stored, if the user may write.

    Raises:
        InputError: No word occurs twice in the index.
        FormatError: What is stored is damaged.
    """
    if found := connection.rows("SELECT centre, matrix FROM whitening"):
        centre, matrix = (np.frombuffer(cast("bytes", one), dtype="<f4").astype(np.float32) for one in found[0])
        dim = store.about.dim
        if len(centre) != dim or len(matrix) != dim * dim or not np.isfinite(matrix).all():
            raise FormatError(f"{store.name}: its whitening is not {dim} numbers and their matrix; build it again")
        return Whitening(centre, matrix.reshape(dim, dim))
    before = len(store)
    fitted = fit(store)
    with contextlib.suppress(StoreError):  # a user who may only read fits it again next time
        # Nothing is stored if text was added meanwhile, or another process was quicker.
        connection.rows(
            "INSERT INTO whitening SELECT %s, %s FROM polyseme_index "
            "WHERE occurrences = %s AND NOT EXISTS (SELECT FROM whitening)",
            fitted.centre.astype("<f4").tobytes(),
            fitted.matrix.astype("<f4").tobytes(),
            before,
        )
    return fitted
