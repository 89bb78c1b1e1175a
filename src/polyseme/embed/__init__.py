"""Embedding: strings in, arrays out, and the writers of those arrays."""
