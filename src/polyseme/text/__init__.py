"""Text: sentences, tokens, characters, vocabularies and batches."""
