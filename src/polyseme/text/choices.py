"""The choices for text, each defined once; the command line and the configuration of a model use them."""

from typing import Literal, get_args

Tokenizer = Literal["en", "zh", "char"]
"""``en``: English words. ``zh``: Chinese words. ``char``: characters of any language, Chinese above all."""
TOKENIZERS: tuple[Tokenizer, ...] = get_args(Tokenizer)

TokenizerChoice = Literal["auto", "none", Tokenizer]
"""``auto``: as the model's text. ``none``: already tokenised, one sentence per line, tokens between spaces."""
TOKENIZER_CHOICES: tuple[TokenizerChoice, ...] = get_args(TokenizerChoice)

Layout = Literal["lines", "conllu", "jsonl", "fasta"]
"""The format of a text file."""

TOKENS_ALREADY: frozenset[Layout] = frozenset(("conllu", "fasta"))
"""Layouts that contain tokens and are never tokenised again."""

Reader = Literal["auto", Layout]
"""A layout, or ``auto``: decided by the file's suffix."""
READERS: tuple[Reader, ...] = get_args(Reader)

Alphabet = Literal["bytes", "unicode"]
"""What a character of a word is: a UTF-8 byte or a code point."""
