"""Search by meaning in context: occurrences of words as vectors on disk."""

from collections.abc import Callable

Advance = Callable[[int, float | None], None]
"""Told of so many more tokens, and of the share of the whole job done so far where it is known."""
