"""Static vectors, CoVe and ELMo on the same ambiguous words: the tables and pictures of docs/static-cove-elmo.md.

Run: python -m benchmarks.story --static GLOVE --cove COVE [--elmo english-small] [--pictures FOLDER]
"""

import argparse
import csv
from itertools import combinations
from pathlib import Path

import numpy as np

import polyseme
from benchmarks.process import say
from benchmarks.senses import measure, read_sets
from polyseme import plots
from polyseme.cli import demo
from polyseme.embed.source import VectorSource
from polyseme.errors import PolysemeError
from polyseme.index.vectors import unit
from polyseme.text.corpus import Corpus
from polyseme.text.marked import mark, marked
from polyseme.text.segmentation import Segmentation

WORDS = Path(demo.__file__).parent / "english.tsv"
_ENGLISH = Segmentation("en")


def sources_of(static: str, cove: str, elmo: str) -> dict[str, VectorSource]:
    """The three kinds of vectors and their combinations, centred and of unit length, by name."""
    parts = {"GloVe": polyseme.load(static), "CoVe": polyseme.load(cove), "ELMo": polyseme.load(elmo)}
    text = [tokens for tokens, _, _ in _occurrences()]
    sources: dict[str, VectorSource] = dict(parts)
    for names in (("GloVe", "CoVe"), ("GloVe", "ELMo"), ("GloVe", "CoVe", "ELMo")):
        sources[f"[{'; '.join(names)}]"] = polyseme.combine(
            *(parts[name] for name in names), scale="unit", fit=text, segmentation=_ENGLISH
        )
    return sources


def _occurrences(word: str | None = None) -> list[tuple[list[str], int, str]]:
    """The sentences of the demo: tokens, the position of the word, and its sense."""
    with WORDS.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if word in (None, row["word"])]
    return [(*marked(row["sentence"], _ENGLISH), row["sense"]) for row in rows]


def senses_table(sources: dict[str, VectorSource]) -> str:
    """How well pairs of one sense are told from pairs of two, by source and layer, in Markdown."""
    sets = read_sets("en")
    lines = [
        "| vectors | layer | " + " | ".join(f"AUC, {name}" for name in sets) + " |",
        "|---|---|" + "---:|" * len(sets),
    ]
    for name, source in sources.items():
        found = [measure(source, pairs) for pairs in sets.values()]
        for rows in zip(*found, strict=True):
            if source.layers == 1 and rows[0].layer == "mean":
                continue
            cells = " | ".join(f"{row.auc:.3f} ({row.low:.2f} to {row.high:.2f})" for row in rows)
            lines.append(f"| {name} | {'' if source.layers == 1 else rows[0].layer} | {cells} |")
    return "\n".join(lines)


def word_table(sources: dict[str, VectorSource], word: str, pictures: Path | None) -> str:
    """Mean similarity of a word in sentences of one sense and of two, by source, in Markdown; and a picture of each."""
    occurrences = _occurrences(word)
    senses = [sense for _, _, sense in occurrences]
    lines = [f"| {word} in {len(senses)} sentences | same sense | different senses |", "|---|---:|---:|"]
    for name, source in sources.items():
        arrays = source.embed([tokens for tokens, _, _ in occurrences], layers="top")
        vectors = unit(np.stack([array[place] for array, (_, place, _) in zip(arrays, occurrences, strict=True)]))
        pairs = list(combinations(range(len(senses)), 2))
        cosines = {
            same: [float(vectors[a] @ vectors[b]) for a, b in pairs if (senses[a] == senses[b]) == same]
            for same in (True, False)
        }
        lines.append(f"| {name} | {np.mean(cosines[True]):.2f} | {np.mean(cosines[False]):.2f} |")
        if pictures is not None and name in ("CoVe", "ELMo"):
            kinds = list(dict.fromkeys(senses))
            plots.occurrence_map(
                pictures / f"{word}-{name.lower()}.png",
                vectors,
                [kinds.index(sense) for sense in senses],
                names=kinds,
                texts=[mark(tokens, place, around=4) for tokens, place, _ in occurrences],
                most_texts=5,
                title=f"{word}: {name}, top layer",
            )
    return "\n".join(lines)


def neighbours(sources: dict[str, VectorSource], text: Path, word: str) -> str:
    """Which sentences of a text are nearest to a word in two sentences of different senses, by source."""
    held = [
        tuple(one.tokens) for one in Corpus([text], tokenize="none") if 4 < len(one.tokens) < 40 and word in one.tokens
    ]
    first = {sense: (tokens, place) for tokens, place, sense in reversed(_occurrences(word))}
    lines = []
    for name, source in sources.items():
        arrays = source.embed(held, layers="top")
        places = [tokens.index(word) for tokens in held]
        vectors = unit(np.stack([array[place] for array, place in zip(arrays, places, strict=True)]))
        for sense, (tokens, place) in first.items():
            query = unit(source.embed([tokens], layers="top")[0][place][None])[0]
            best = np.argsort(-(vectors @ query), kind="stable")[:3]
            lines.append(f"{name}, {word} ({sense}):")
            lines += [f"  {vectors[row] @ query:.2f}  {mark(held[row], places[row], around=6)}" for row in best]
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.story", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--static", required=True, help="GloVe or other static vectors")
    parser.add_argument("--cove", required=True, help="a CoVe folder")
    parser.add_argument("--elmo", default="english-small", help="a biLM")
    parser.add_argument("--text", type=Path, help="tokenised text, to show the nearest sentences in")
    parser.add_argument("--pictures", type=Path, help="a folder for the pictures")
    given = parser.parse_args()
    try:
        sources = sources_of(given.static, given.cove, given.elmo)
        say(senses_table(sources))
        for word in dict.fromkeys(row for row in ("bank", "light", "match", "play")):
            say("\n" + word_table(sources, word, given.pictures))
        if given.text:
            say("\n" + neighbours({name: sources[name] for name in ("GloVe", "CoVe", "ELMo")}, given.text, "bank"))
    except PolysemeError as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()
