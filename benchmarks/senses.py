"""Measures how well each layer of a model distinguishes the senses of a word.

Run: python -m benchmarks.senses MODEL [--language en|zh] [--json]

Two sets of sentences were written for this purpose. benchmarks/sense_sentences holds sentences of words in two senses,
five each; every two sentences of a word are a pair. benchmarks/sense_pairs holds hard pairs: many pairs of different
senses share other words, and pairs of the same sense hardly any, so that shared words mislead (the share of common
words scores 0.31 in English and 0.34 in Chinese), and random weights score below 0.5 as well.

The AUC is the probability that a pair of the same sense is more similar than a pair of different senses; 0.5 is chance,
which layer 0 gives by construction, since it sees only the word.
"""

import argparse
import io
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.process import say
from polyseme.embed.load import load_embedder
from polyseme.embed.source import VectorSource
from polyseme.errors import FormatError, InputError, PolysemeError
from polyseme.study.pair_auc import auc, wins
from polyseme.text.choices import Tokenizer
from polyseme.text.tokenizers import tokenized

FOLDER = Path(__file__).parent
LANGUAGES: dict[Tokenizer, str] = {"en": "english", "zh": "chinese"}
PAIR = ["word", "sentence 1", "sentence 2", "label"]
SENTENCE = ["word", "sense", "sentence"]
DRAWS, SEED = 10_000, 0

Numbers = NDArray[np.float64]
Labels = NDArray[np.bool_]


@dataclass(frozen=True)
class Occurrence:
    """A token in its sentence."""

    tokens: tuple[str, ...]
    position: int


@dataclass(frozen=True)
class Pair:
    """A word twice, and whether its sense is the same."""

    word: str
    occurrences: tuple[Occurrence, Occurrence]
    same: bool


@dataclass(frozen=True)
class Figures:
    """The figures of one layer.

    Attributes:
        layer: Its number, or "mean" of all.
        auc: Probability that a same-sense pair is more similar than a different-sense pair.
        low: Lower end of the 95% interval of the AUC.
        high: Upper end.
        same: Mean cosine of same-sense pairs.
        different: Mean cosine of different-sense pairs.
    """

    layer: str
    auc: float
    low: float
    high: float
    same: float
    different: float


def language_of(model: str) -> Tokenizer:
    """The language in a model's name."""
    found = [language for language, name in LANGUAGES.items() if name in model.lower()]
    if len(found) != 1:
        names = " or ".join(map(repr, LANGUAGES.values()))
        raise InputError(f"{model}: expected a name with {names} in it, to know the language; give --language en or zh")
    return found[0]


def read_sets(language: Tokenizer) -> dict[str, list[Pair]]:
    """The pairs of both sets, by a description of the set."""
    name = f"{LANGUAGES[language]}.tsv"
    return {
        "every two sentences of a word": read_sentences(FOLDER / "sense_sentences" / name, language),
        "hard pairs": read_pairs(FOLDER / "sense_pairs" / name, language),
    }


def read_sentences(path: Path, language: Tokenizer) -> list[Pair]:
    """Read and tokenise sentences, tab-separated `SENTENCE` under a header, and pair every two of a word."""
    by_word: dict[str, list[tuple[str, Occurrence]]] = {}
    for where, (word, sense, text) in _rows(path, SENTENCE):
        by_word.setdefault(word, []).append((sense, _occurrence(word, text, language, where)))
    return _of_both_kinds(
        path,
        [
            Pair(word, (one, two), sense == other)
            for word, some in by_word.items()
            for (sense, one), (other, two) in combinations(some, 2)
        ],
    )


def read_pairs(path: Path, language: Tokenizer) -> list[Pair]:
    """Read and tokenise pairs: tab-separated `PAIR` under a header of these names."""
    pairs = []
    for where, (word, one, two, label) in _rows(path, PAIR):
        if label not in ("same", "different"):
            raise FormatError(f"{where}: the label is {label!r}, expected 'same' or 'different'")
        occurrences = _occurrence(word, one, language, where), _occurrence(word, two, language, where)
        pairs.append(Pair(word, occurrences, label == "same"))
    return _of_both_kinds(path, pairs)


def similarities(embedder: VectorSource, pairs: list[Pair]) -> dict[str, Numbers]:
    """The cosines of the pairs by layer: its number, or "mean" of all."""
    occurrences = dict.fromkeys(occurrence for pair in pairs for occurrence in pair.occurrences)
    rows = {occurrence: row for row, occurrence in enumerate(occurrences)}
    arrays = embedder.embed([occurrence.tokens for occurrence in occurrences], layers="all")
    chosen = [array[:, occurrence.position] for array, occurrence in zip(arrays, occurrences, strict=True)]
    vectors = np.stack(chosen).astype(np.float64)  # (occurrences, L, D)
    vectors = np.concatenate([vectors, vectors.mean(axis=1, keepdims=True)], axis=1)  # (occurrences, L + 1, D)
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    first, second = ([rows[pair.occurrences[side]] for pair in pairs] for side in (0, 1))
    # Beyond the sixth decimal is rounding of float32, which must not break the ties of layer 0.
    cosines = (vectors[first] * vectors[second]).sum(axis=2).round(6)  # (pairs, L + 1)
    return dict(zip([*map(str, range(embedder.layers)), "mean"], cosines.T, strict=True))


def interval(scores: Numbers, same: Labels, words: list[str]) -> tuple[float, float]:
    """The 95% bootstrap interval of the AUC: words are drawn with replacement, each with all its pairs."""
    won = wins(scores, same)
    names, member = np.unique(words, return_inverse=True)
    drawn = np.random.default_rng(SEED).multinomial(len(names), np.full(len(names), 1 / len(names)), DRAWS)
    # How often each pair is drawn: (draws, same) and (draws, different).
    rows, columns = drawn[:, member[same]], drawn[:, member[~same]]
    found = ((rows @ won) * columns).sum(axis=1) / (rows.sum(axis=1) * columns.sum(axis=1))
    low, high = np.quantile(found, (0.025, 0.975))
    return float(low), float(high)


def measure(embedder: VectorSource, pairs: list[Pair]) -> list[Figures]:
    """The figures of every layer and of their mean."""
    same, words = np.array([pair.same for pair in pairs]), [pair.word for pair in pairs]
    return [
        Figures(layer, auc(scores, same), *interval(scores, same, words), scores[same].mean(), scores[~same].mean())
        for layer, scores in similarities(embedder, pairs).items()
    ]


def report(embedder: VectorSource, language: Tokenizer) -> str:
    """The figures of both sets in Markdown."""
    parts = []
    for what, pairs in read_sets(language).items():
        words = {pair.word for pair in pairs}
        parts.append(f"{len(pairs)} pairs of {len(words)} words, {what}:\n\n{table(measure(embedder, pairs))}")
    return "\n\n".join(parts)


def table(figures: list[Figures]) -> str:
    """The figures in Markdown."""
    lines = ["| layer | AUC | 95% interval | same sense | different sense |", "|---|---|---|---|---|"]
    for row in figures:
        between = f"{row.low:.3f} to {row.high:.3f}"
        lines.append(f"| {row.layer} | {row.auc:.3f} | {between} | {row.same:.3f} | {row.different:.3f} |")
    return "\n".join(lines)


def main() -> None:
    """Measure a model and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.senses", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model", help="a model of any known format")
    parser.add_argument("--language", choices=LANGUAGES, help="of the pairs; by default as the model's name tells")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    try:
        language = given.language or language_of(given.model)
        embedder = load_embedder(given.model)
        if given.json:
            sets = {
                what: [asdict(row) for row in measure(embedder, pairs)] for what, pairs in read_sets(language).items()
            }
            say(json.dumps({"model": given.model, "language": language, "sets": sets}, ensure_ascii=False))
        else:
            say(f"{given.model} ({language})\n\n{report(embedder, language)}")
    except PolysemeError as error:
        parser.exit(2, f"{error}\n")


def _rows(path: Path, columns: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The lines of a tab-separated file, each with its position."""
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    if lines[:1] != [columns]:
        raise FormatError(f"{path}, line 1: got {lines[:1]}, expected the header {columns}, separated by tabs")
    for number, line in enumerate(lines[1:], start=2):
        if len(line) != len(columns):
            raise FormatError(
                f"{path}, line {number}: got {len(line)} columns, expected {len(columns)}, separated by tabs"
            )
        yield f"{path}, line {number}", line


def _of_both_kinds(path: Path, pairs: list[Pair]) -> list[Pair]:
    """Pairs of which each word has some of the same sense and some of different senses."""
    for word in {pair.word: None for pair in pairs} or ("",):
        if len({pair.same for pair in pairs if pair.word == word}) != 2:
            raise FormatError(f"{path}: expected pairs of {word!r} of the same sense and of different senses")
    return pairs


def _occurrence(word: str, text: str, language: Tokenizer, where: str) -> Occurrence:
    sentences = list(tokenized(io.StringIO(text).readline, language))
    if len(sentences) != 1:
        raise FormatError(f"{where}: {text!r} is {len(sentences)} sentences, expected one")
    tokens = sentences[0]
    if (count := tokens.count(word)) != 1:
        raise FormatError(f"{where}: {word!r} is {count} tokens of {' '.join(tokens)!r}, expected one; reword it")
    return Occurrence(tuple(tokens), tokens.index(word))


if __name__ == "__main__":
    main()
