"""TEI and VRT: what is a token, what is a sentence, and what is refused."""

import io
import tracemalloc
from pathlib import Path

import pytest

from polyseme.errors import InputError
from polyseme.text.choices import Tokenizer
from polyseme.text.corpus import Corpus, Sentence
from polyseme.text.lines import Lines
from polyseme.text.repairs import Repairs
from polyseme.text.tei import read_tei
from polyseme.text.vrt import read_vrt

TOKENISED = """\
<?xml version="1.0" encoding="UTF-8"?>
<TEI xmlns="http://www.tei-c.org/ns/1.0" xml:id="A01">
 <teiHeader><fileDesc><titleStmt><title>Not this</title></titleStmt></fileDesc></teiHeader>
 <text><body><p>
  <s xml:id="A01.1"><w lemma="the">The</w> <w>bank</w><pc>.</pc></s>
  <s><w>Don<w>'t</w></w> <name type="x"><w>New  York</w></name>
     <note><s><w>Sic</w></s></note> <w>&amp;</w><c>!</c></s>
 </p><p><w>No</w> <w>sentence</w></p></body></text>
</TEI>
"""
RAW = """\
<TEI><teiHeader><titleStmt><title>A  <hi>novel</hi></title><title>II</title></titleStmt></teiHeader>
<text><front><head>I. <lb/>The end</head></front>
<body><p>It was <hi>late</hi>. We
<choice><sic>lefft</sic><corr>left</corr></choice>
 the house<note>In 1900.</note> at once, un<lb break="no"/>seen<del>!!</del>.</p>
<lg><l>Roses are red</l><l>violets blue</l></lg>
<p>Before <list><item>one</item><item>two</item></list> after</p></body></text></TEI>
"""


def lines(text: str) -> Lines:
    return Lines(io.BytesIO(text.encode()), name="a", repairs=Repairs())


def tei(text: str, tokenize: Tokenizer | None = None) -> list[Sentence]:
    return list(read_tei(lines(text), tokenize))


def test_words_that_are_marked() -> None:
    found = tei(TOKENISED, "en")
    assert [one.tokens for one in found] == [
        ["The", "bank", "."],
        ["Sic"],
        ["Don't", "New York", "&", "!"],
        ["No", "sentence"],
    ]
    assert [one.name for one in found] == ["A01.1", None, None, None]
    assert [(one.file, one.line, one.document) for one in found] == [("a", line, "A01") for line in (5, 7, 6, 8)]
    assert tei(TOKENISED) == found


def test_running_text() -> None:
    found = tei(RAW, "en")
    assert [" ".join(one.tokens) for one in found] == [
        "I . The end",
        "In 1900 .",
        "It was late .",
        "We left the house at once , unseen .",
        "Roses are red",
        "violets blue",
        "Before",
        "one",
        "two",
        "after",
    ]
    assert {one.document for one in found} == {"A novel"}
    assert [one.line for one in found[:3]] == [2, 5, 3]
    assert [" ".join(one.tokens) for one in tei(RAW)][2] == "It was late. We left the house at once, unseen."


def test_several_texts() -> None:
    found = tei(
        '<teiCorpus><TEI xml:id="x"><text><body><p>a</p></body></text></TEI>'
        '<TEI><text xml:id="y"><body><p>b</p></body></text></TEI><TEI><text><p>c</p></text></TEI></teiCorpus>'
    )
    assert [(one.tokens, one.document) for one in found] == [(["a"], "x"), (["b"], "y"), (["c"], None)]


LAUGHS = (
    '<?xml version="1.0"?>\n<!DOCTYPE TEI [\n<!ENTITY lol "lol">\n'
    + "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "&lol;" * 10}">\n' for n in range(10))
    + "]>\n<TEI><text><p>&l9;</p></text></TEI>"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LAUGHS, "a:3: declares the entity 'lol', and no entity is expanded; write the text itself"),
        (
            '<!DOCTYPE TEI [<!ENTITY x SYSTEM "file:///etc/passwd">]><TEI><text><p>&x;</p></text></TEI>',
            "a:1: declares the entity 'x', and no entity is expanded; write the text itself",
        ),
        (
            '<!DOCTYPE TEI [<!ENTITY % x SYSTEM "http://127.0.0.1/x.dtd"> %x;]><TEI/>',
            "a:1: declares the entity 'x', and no entity is expanded; write the text itself",
        ),
        (
            '<!DOCTYPE TEI SYSTEM "tei.dtd"><TEI><text><p>a&nbsp;b</p></text></TEI>',
            "a:1: has &nbsp;, which is not known without its DTD; write the character itself",
        ),
        (
            '<?xml version="1.0" encoding="iso-8859-1"?><TEI/>',
            "a:1: says that it is encoded in iso-8859-1; convert it to UTF-8, and say so in its first line",
        ),
        (
            "<TEI>\n<p>a</TEI>",
            "a:2: not well-formed XML: mismatched tag; correct it, or name the layout of the file with --format",
        ),
        (
            "<book><p>a</p></book>",
            "a:1: the XML begins with <book>, and TEI is expected (<TEI>, <teiCorpus> or <text>); convert it to TEI or "
            "to plain text",
        ),
        (
            f"<TEI>{'<hi>' * 2000}",
            "a:1: has elements within each other 1,000 deep; give another file",
        ),
        (
            "",
            "a:1: not well-formed XML: no element found; correct it, or name the layout of the file with --format",
        ),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        tei(text)
    assert str(error.value) == message


def test_memory_does_not_grow_with_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    paragraph = f"<p>{'<w>word</w> ' * 50}</p>\n"

    def peak(count: int) -> int:
        source = lines("<TEI><text>" + paragraph * count + "</text></TEI>")
        tracemalloc.start()
        assert sum(1 for _ in read_tei(source, None)) == count
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    assert peak(2000) < 2 * peak(100)
    monkeypatch.setattr("polyseme.text.tei.LONGEST_LINE", 100)
    with pytest.raises(InputError, match=r"^a:1: a paragraph of more than 100 characters; split it$"):
        tei(f"<TEI><text><p>{'word ' * 30}</p></text></TEI>")


VRT = """\
<?xml version="1.0"?>
<!-- a comment -->
<corpus>
<text id="A&amp;B" year='1900'>
<p>
<s id="1">
The\tDT\tthe
<np type="x">
bank\tNN\tbank
</np>
<g/>
.\t.\t.
</s>
<s>
&lt;b&gt;\tX
<3\tEMO
</s>
</p>
</text>
<text title="C">
<p>
no
sentence

</p>
two
</text>
</corpus>
last
"""


def test_vrt() -> None:
    found = list(read_vrt(lines(VRT)))
    assert [(one.tokens, one.name, one.document, one.line) for one in found] == [
        (["The", "bank", "."], "1", "A&B", 7),
        (["<b>", "<3"], None, "A&B", 15),
        (["no", "sentence"], None, "C", 22),
        (["two"], None, "C", 26),
        (["last"], None, None, 29),
    ]


def test_suffixes(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<TEI><text><p>It's late.</p></text></TEI>")
    (tmp_path / "b.vrt").write_text("<s>\nIt's\nlate.\n</s>\n")
    assert [one.tokens for one in Corpus([tmp_path], tokenize="en")] == [["It", "'s", "late", "."], ["It's", "late."]]
    raw = "The bank was closed, and they went to the river. It was late, and the water was cold. " * 3
    (tmp_path / "c.tei").write_text(f"<TEI><text><p>{raw}</p></text></TEI>")
    corpus = Corpus([tmp_path / "c.tei"])
    assert corpus.follow(None) == "the text looks like raw English and is tokenised by --tokenize en"
    (tmp_path / "d.tei").write_text(TOKENISED)
    assert Corpus([tmp_path / "d.tei"]).follow(None) is None
