"""Neural building blocks: tensors in, tensors out, built from plain parameters.

Shape legend for the whole project: B sentences, T tokens, C characters, D dim (2 x projection), L layers, V vocabulary,
N tokens of a packed batch (the sum of its lengths), P projection, H hidden cells, F filters, U distinct words.
"""
