"""Damages files: bytes at random, and values within the structure of a known format."""
