"""A model over HTTP: vectors, scores, searches and the pages that show them."""
