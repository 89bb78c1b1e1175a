"""Studies of words in context: senses, change over time, and what each layer knows."""
