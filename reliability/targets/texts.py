"""Text: every layout, every tokeniser, parallel text and dictionaries."""

import gzip
import os
import random
from functools import partial
from itertools import islice
from pathlib import Path

from polyseme.text.choices import BY_DICTIONARY, TOKENIZERS, Layout, Reader, Tokenizer
from polyseme.text.corpus import Corpus
from polyseme.text.detokenize import detokenize
from polyseme.text.dictionary import Dictionary
from polyseme.text.marked import mark, marked
from polyseme.text.parallel import ParallelText
from polyseme.text.segmentation import Segmentation
from reliability.damage.folder import damage_folder
from reliability.good_texts import write_jsonl
from reliability.target import Target, every

_RAW = """He sat on the bank of the river, didn't he? "No," said Mr. Smith (aged 5.5). It cost $3.50!

却说曹操大败。操大怒：“来人！” 今日は良い天気ですね。 ผมรักคุณ ຂ້ອຍຮັກເຈົ້າ ខ្ញុំស្រលាញ់អ្នក ချစ်တယ် Der Fluß war naß. 👩‍👩‍👧
"""
_CONLLU = (
    "# sent_id = 1\n1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "2\tca\tcan\tAUX\t_\t_\t0\troot\t_\t_\n\n"
)
_TEI = """<?xml version="1.0"?><TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader/><text><body><p>The bank. It was
steep.</p><s n="1"><w lemma="a">The</w> <w>river</w><pc>.</pc></s></body></text></TEI>"""
_VRT = '<text id="a">\n<s n="1">\nThe\tDET\nbank\tNOUN\n</s>\n<s>\n&lt;\tX\n</s>\n</text>\n'
_FASTA = ">sp|P1|NAME a protein\nMKVLAAGI\nVGL*\n>b\nMK\n"
_FILES: dict[Layout, tuple[str, str]] = {
    "lines": ("text.txt", _RAW),
    "conllu": ("text.conllu", _CONLLU * 2),
    "fasta": ("text.fasta", _FASTA),
    "tei": ("text.xml", _TEI),
    "vrt": ("text.vrt", _VRT),
}
_LONGEST = 50_000


def _make(folder: Path, layout: Layout, packed: bool = False) -> None:
    if layout == "jsonl":
        write_jsonl(folder / "text.jsonl", [{"text": _RAW}, ["the", "bank"], {"tokens": ["a"], "id": 3}, "the bank"])
        return
    name, text = _FILES[layout]
    if packed:
        (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    else:
        (folder / name).write_text(text, encoding="utf-8")


def _read(folder: Path, layout: Reader) -> None:
    corpus = Corpus([folder], reader=layout)
    for sentence in corpus:
        if sentence.tokens:
            mark(sentence.tokens, len(sentence.tokens) - 1)
    str(corpus.repairs)
    list(islice(Corpus([folder], reader=layout, tokenize="none").nonempty(), 100))


def _tokenize(folder: Path) -> None:
    every(*(partial(_tokenize_by, folder, tokenizer) for tokenizer in TOKENIZERS))


def _tokenize_by(folder: Path, tokenizer: Tokenizer) -> None:
    for sentence in Corpus([folder], reader="lines", tokenize=tokenizer):
        detokenize(sentence.tokens, tokenizer)


def _make_parallel(folder: Path) -> None:
    (folder / "a.en").write_text("the bank\nmoney\n\na play\n")
    (folder / "a.es").write_text("el banco\ndinero\n\nuna obra\n")
    (folder / "b.tsv").write_text("the bank\tel banco\nmoney\tdinero\n")
    write_jsonl(folder / "c.jsonl", [{"source": "the bank", "target": "el banco"}] * 3)


def _use_parallel(folder: Path) -> None:
    given = (["b.tsv"], ["c.jsonl"], ["a.en", "a.es"])
    every(*(partial(list, ParallelText([str(folder / name) for name in files])) for files in given))


def _make_dictionary(folder: Path) -> None:
    (folder / "words.txt").write_text("曹操\n操 5 nr\n大败\n\nสวัสดี\n", encoding="utf-8")
    (folder / "query.txt").write_text("却说曹操[大败]。操大怒", encoding="utf-8")


def _use_dictionary(folder: Path) -> None:
    dictionary = Dictionary.read(folder / "words.txt")
    try:
        with (folder / "query.txt").open("rb") as file:
            text = file.read(_LONGEST).decode("utf-8", "replace")  # a user types it
    except OSError:
        return
    cuts = [Segmentation(tokenizer, dictionary) for tokenizer in BY_DICTIONARY]
    every(*(partial(cut.sentences, text) for cut in cuts), *(partial(marked, text, cut) for cut in cuts))


def _damage_short(folder: Path, draw: random.Random) -> None:
    """Damage without the longest lines, for which nine tokenisers take seconds; other targets read those."""
    damage_folder(folder, draw)
    for path in folder.iterdir():
        if path.is_file() and path.stat().st_size > _LONGEST:
            os.truncate(path, _LONGEST)


_small = partial(Target, server="small")

TARGETS = (
    *(_small(f"text, {layout}", partial(_make, layout=layout), partial(_read, layout=layout)) for layout in _FILES),
    _small("text, jsonl", partial(_make, layout="jsonl"), partial(_read, layout="jsonl")),
    _small("text, gzip", partial(_make, layout="lines", packed=True), partial(_read, layout="auto")),
    _small("tokenisers", partial(_make, layout="lines"), _tokenize, _damage_short),
    _small("parallel text", _make_parallel, _use_parallel),
    _small("dictionary and query", _make_dictionary, _use_dictionary),
)
