"""The choices about text, each written down once: the command line and a model's config take them from here."""

from typing import Literal, get_args

Tokenizer = Literal["en", "zh", "char"]
"""``en``: English words. ``zh``: Chinese words. ``char``: characters of any language, Chinese above all."""
TOKENIZERS: tuple[Tokenizer, ...] = get_args(Tokenizer)

TokenizerChoice = Literal["auto", "none", Tokenizer]
"""``auto``: as the model's text was cut. ``none``: cut already, one sentence per line, tokens between spaces."""
TOKENIZER_CHOICES: tuple[TokenizerChoice, ...] = get_args(TokenizerChoice)

Layout = Literal["lines", "conllu", "jsonl", "fasta"]
"""What a file of text looks like inside."""

TOKENS_ALREADY: frozenset[Layout] = frozenset(("conllu", "fasta"))
"""Layouts that hold tokens and are never cut again."""

Reader = Literal["auto", Layout]
"""A layout, or ``auto``: by the file's suffix."""
READERS: tuple[Reader, ...] = get_args(Reader)

Alphabet = Literal["bytes", "unicode"]
"""What a character of a word is: a UTF-8 byte or a code point."""
