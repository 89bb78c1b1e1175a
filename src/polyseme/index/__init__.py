"""The occurrences of a text as vectors on disk, and the search among them."""
