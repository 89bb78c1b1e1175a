"""The tasks that word vectors serve: their examples, the readers of their data and the metrics of their results."""
