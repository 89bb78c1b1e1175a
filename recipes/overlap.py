"""Sentences that must not be trained on: those of the sets that models are measured on, compared by what they say.

Two sentences are the same if they agree in letters and digits, whatever their case, spaces and punctuation.

    python -m recipes.overlap english-small --measured evaluation-sets

reports how many sentences of ``work/train.txt`` stand in each set (none, after `recipes.prepare` has used the sets).
"""

import argparse
import gzip
import hashlib
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from polyseme.text.choices import Tokenizer
from polyseme.text.tokenizers import tokenized
from recipes.english_readers import wikitext
from recipes.sources import ROOT, load_recipe

SHORTEST = 6
"""Shorter sentences, in tokens, are common property: ``How are you ?``"""

_SIGN = re.compile(r"[\W_]+")
_BRACKET = re.compile(r"-[LR][RSC]B-")


def key(sentence: str) -> int:
    """Eight bytes of a hash of a sentence's letters and digits.

    Example:
        >>> key("It 's a Dog .") == key("it's a dog")
        True
    """
    bare = _SIGN.sub("", _BRACKET.sub("", sentence).casefold())
    return int.from_bytes(hashlib.blake2b(bare.encode("utf-8"), digest_size=8).digest(), "little")


_NOTHING = key("")  # of signs alone: a row of dashes says nothing


class Measured:
    """The sentences of measured sets, by their keys."""

    def __init__(self) -> None:
        self._sets: dict[int, tuple[str, ...]] = {}
        self.sizes: dict[str, int] = {}

    def add(self, name: str, sentences: Iterable[str], tokenizer: Tokenizer) -> None:
        """Add a set; texts of several sentences are cut into them as the training text is."""
        keys = {
            key(" ".join(tokens)) for text in sentences for tokens in tokenized(io.StringIO(text).readline, tokenizer)
        }
        keys.discard(_NOTHING)
        new = [one for one in keys if name not in self._sets.get(one, ())]
        for one in new:
            self._sets[one] = (*self._sets.get(one, ()), name)
        self.sizes[name] = self.sizes.get(name, 0) + len(new)

    def find(self, line: str) -> tuple[str, ...]:
        """Name the sets that hold a tokenised sentence; sentences of fewer than `SHORTEST` tokens are never found."""
        return self._sets.get(key(line), ()) if line.count(" ") + 1 >= SHORTEST else ()


def _text(path: Path) -> str:
    return (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode("utf-8")


def _wikitext(path: Path) -> Iterator[str]:
    return wikitext(iter([(path.name, _text(path).encode("utf-8"))]))


def _conllu(path: Path) -> Iterator[str]:
    return (line[len("# text = ") :] for line in _text(path).splitlines() if line.startswith("# text = "))


def _columns(column: int) -> Callable[[Path], Iterator[str]]:
    """A reader of one token per line, a blank line after each sentence."""

    def read(path: Path) -> Iterator[str]:
        for block in re.split(r"\n\s*\n", _text(path)):
            rows = [line.split() for line in block.splitlines() if line.strip() and not line.startswith("#")]
            yield " ".join(row[column].removeprefix("en:") for row in rows if len(row) > column)

    return read


def _trees(path: Path) -> Iterator[str]:
    return (" ".join(re.findall(r"\(\d ([^()]+)\)", line)) for line in _text(path).splitlines())


def _sentence_columns(path: Path) -> Iterator[str]:
    """The columns whose heading begins with ``sentence``."""
    head, *rows = (line.split("\t") for line in _text(path).splitlines() if line)
    wanted = [number for number, name in enumerate(head) if name.startswith("sentence")]
    return (row[number] for row in rows for number in wanted)


def _squad(path: Path) -> Iterator[str]:
    for article in json.loads(_text(path))["data"]:
        for paragraph in article["paragraphs"]:
            yield paragraph["context"]
            yield from (question["question"] for question in paragraph["qas"])


def _tokens(path: Path) -> Iterator[str]:
    return (" ".join(json.loads(line)["tokens"]) for line in _text(path).splitlines())


# Which files of the folder of measured sets hold what; every set named here that is there is compared with.
_ENGLISH_SETS: dict[str, tuple[str, Callable[[Path], Iterator[str]]]] = {
    "wikitext-2-valid": ("wikitext-2-raw/valid.raw.gz", _wikitext),
    "ud-ewt": ("ud-ewt/*.conllu.gz", _conllu),
    "ner-wikiann": ("ner-wikiann-en/*.conll.gz", _columns(0)),
    "sst": ("sst/*.txt", _trees),
    "nli-sick": ("nli-sick/*.txt", _sentence_columns),
    "squad": ("squad/*.json.gz", _squad),
    "srl-up-ewt": ("srl-up-ewt/*.conllu.gz", _conllu),
    "coref-ontogum": ("coref-ontogum/*.conll.gz", _columns(1)),
    "wsd semcor": ("wsd/semcor.jsonl.gz", _tokens),
    "wsd senseval-2": ("wsd/senseval2.jsonl.gz", _tokens),
}


def load_measured(tokenizer: Tokenizer, folder: Path | None = None) -> tuple[Measured, list[str]]:
    """Read the sets that models of a language are measured on.

    Args:
        tokenizer: The tokeniser of the language, which says which sets are of that language.
        folder: Where the sets are that do not belong to the project; without it they are missing.

    Returns:
        The sentences, and the names of the sets that were not there to compare with.
    """
    measured, missing = Measured(), []
    language = {"en": "english", "zh": "chinese"}[tokenizer]
    for name in ("sense_pairs", "sense_sentences"):
        path = ROOT.parent / "benchmarks" / name / f"{language}.tsv"
        if path.exists():
            measured.add(name, _sentence_columns(path), tokenizer)
        else:
            missing.append(name)
    for name, (pattern, read) in _ENGLISH_SETS.items() if language == "english" else ():
        paths = sorted(folder.glob(pattern)) if folder is not None else []
        for path in paths:
            measured.add(name, read(path), tokenizer)
        if not paths:
            missing.append(name)
    return measured, missing


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m recipes.overlap", description=__doc__.splitlines()[0])
    parser.add_argument("recipe", help="the folder's name, such as english-small")
    parser.add_argument("--measured", type=Path, help="the folder of the measured sets")
    given = parser.parse_args()
    recipe = load_recipe(given.recipe)
    measured, missing = load_measured(recipe.tokenizer, given.measured)
    found: Counter[str] = Counter()
    with (recipe.work / "train.txt").open(encoding="utf-8") as file:
        for line in file:
            found.update(measured.find(line.rstrip("\n")))
    for name, size in measured.sizes.items():
        sys.stdout.write(f"{name}: {found[name]} of {size:,} sentences stand in the training text\n")
    for name in missing:
        sys.stdout.write(f"{name}: not there, not compared\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
