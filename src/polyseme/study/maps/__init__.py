"""Maps of occurrences: where each word of a text stands in a plane, layer by layer."""
