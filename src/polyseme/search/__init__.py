"""Search by meaning in context: occurrences of words as vectors on disk."""
