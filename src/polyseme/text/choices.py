"""The choices for text, each defined once; the command line and the configuration of a model use them."""

from typing import Literal, get_args

Tokenizer = Literal["en", "zh", "char", "unicode", "ja", "th", "km", "lo", "my"]
"""``en``: English words. ``zh``: Chinese words. ``char``: characters of any language. ``unicode``: words of any
language that puts spaces between them. ``ja``, ``th``, ``km``, ``lo``, ``my``: Japanese, Thai, Khmer, Lao and Burmese
words."""
TOKENIZERS: tuple[Tokenizer, ...] = get_args(Tokenizer)

TokenizerChoice = Literal["auto", "none", Tokenizer]
"""``auto``: as the model's text. ``none``: already tokenised, one sentence per line, tokens between spaces."""
TOKENIZER_CHOICES: tuple[TokenizerChoice, ...] = get_args(TokenizerChoice)

BY_DICTIONARY: tuple[Tokenizer, ...] = ("zh", "ja", "th", "km", "lo", "my")
"""Tokenisers of languages that put no spaces between words; a user's own dictionary adds words to them."""

Layout = Literal["lines", "conllu", "jsonl", "fasta", "tei", "vrt"]
"""The format of a text file."""

TOKENS_ALREADY: frozenset[Layout] = frozenset(("conllu", "fasta", "vrt"))
"""Layouts that contain tokens and are never tokenised again."""

Reader = Literal["auto", Layout]
"""A layout, or ``auto``: decided by the file's suffix."""
READERS: tuple[Reader, ...] = get_args(Reader)

Alphabet = Literal["bytes", "unicode"]
"""What a character of a word is: a UTF-8 byte or a code point."""
