import gzip
import io
import re
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyseme.errors import InputError
from polyseme.text import lines as module
from polyseme.text.lines import Lines
from polyseme.text.repairs import Repairs


class Dribble(io.BufferedIOBase):
    """A stream that gives a few bytes a time, as a pipe may."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self.data = io.BytesIO(data)
        self.sizes = sizes
        self.reads = 0

    def read1(self, size: int = -1) -> bytes:
        self.reads += 1
        return self.data.read(min(size, self.sizes[self.reads % len(self.sizes)]))


def read(data: bytes) -> tuple[list[str], Repairs]:
    repairs = Repairs()
    return list(Lines(io.BytesIO(data), name="a.txt", repairs=repairs)), repairs


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"one\ntwo", ["one", "two"]),
        (b"one\r\n\r\ntwo\rthree\n", ["one", "", "two", "three"]),
        (b"\xef\xbb\xbfone\n\xef\xbb\xbftwo", ["one", "\ufefftwo"]),
        ("a\u2028b\x0bc\x85d".encode(), ["a\u2028b\x0bc\x85d"]),  # no line ends
    ],
)
def test_lines(data: bytes, expected: list[str]) -> None:
    assert read(data)[0] == expected
    assert read(gzip.compress(data))[0] == expected


def test_gzip_members_are_read_as_one() -> None:
    assert read(gzip.compress(b"one\ntw") + gzip.compress(b"o\nthree"))[0] == ["one", "two", "three"]


def test_repairs_are_counted_and_placed() -> None:
    found, repairs = read("fine �\n".encode() + b"caf\xe9 \xe2\x82\nno\0pe and so on\n")
    assert found == ["fine �", "caf\ufffd \ufffd", "no\ufffdpe and so on"]
    assert repairs == Repairs(invalid=2, nulls=1, first="a.txt:2")
    assert str(repairs) == "2 invalid UTF-8 sequences and 1 NUL replaced by U+FFFD, the first at a.txt:2"
    assert str(Repairs(nulls=1200, first="b:1")) == "1,200 NULs replaced by U+FFFD, the first at b:1"
    assert repairs
    assert not Repairs()
    assert str(Repairs()) == "nothing replaced"


FRAGMENTS = [
    b"abc ",
    "é天😀�".encode(),
    b"\xff",
    b"\xe2\x82",
    b"\xf0\x9f\x98",
    b"\0",
    b"\r",
    b"\n",
    b"\r\n",
    b"\xef\xbb\xbf",
]


@given(
    parts=st.lists(st.sampled_from(FRAGMENTS), max_size=60),
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=5),
    bom=st.booleans(),
    compressed=st.booleans(),
)
@settings(deadline=None)
def test_any_chunks_give_what_the_whole_gives(
    parts: list[bytes], sizes: list[int], bom: bool, compressed: bool
) -> None:
    data = b"a beginning that is surely text, so that the rest may be broken\n" * 5 + b"".join(parts)
    whole = data.decode("utf-8", "replace").replace("\0", "\ufffd")
    expected = re.split("\r\n|\r|\n", whole)
    stored = b"\xef\xbb\xbf" * bom + data
    repairs = Repairs()
    stream = Dribble(gzip.compress(stored) if compressed else stored, sizes)
    assert list(Lines(stream, name="a", repairs=repairs)) == expected[: len(expected) - (expected[-1] == "")]
    assert repairs.nulls == data.count(b"\0")
    assert repairs.invalid == whole.count("\ufffd") - data.count(b"\0") - data.count("�".encode())


def test_readline_gives_pieces_and_counts_lines() -> None:
    source = Lines(io.BytesIO(b"abcdef\nxy\n"), name="a.txt", repairs=Repairs())
    assert [(source.readline(4), source.place) for _ in range(4)] == [
        ("abcd", "a.txt:1"),
        ("ef\n", "a.txt:1"),
        ("xy\n", "a.txt:2"),
        ("", "a.txt:2"),
    ]


def test_a_mended_line_is_as_long_as_asked_for() -> None:
    """Several broken bytes make one character, and less than was asked for would be taken for the end of a line."""
    source = Lines(io.BytesIO(b"x\xe4\xb8 one two\nthree"), name="a.txt", repairs=Repairs())
    assert [source.readline(6) for _ in range(4)] == ["x\ufffd one", " two\n", "three", ""]


def test_a_line_without_an_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_LINE", 100)
    assert read(b"x" * 99)[0] == ["x" * 99]
    with pytest.raises(
        InputError, match=r"^a\.txt:2: a line of 100 or more characters, but one sentence is expected; bre"
    ):
        read(b"one\n" + b"x" * 1000)
    with pytest.raises(InputError, match=r"^a\.txt:1: a line of 100 or more"):
        read(b"x\xe4\xb8 " + b"x" * 98)


@pytest.mark.parametrize(
    ("encoding", "name"), [("utf-16", "UTF-16"), ("utf-16-be", "UTF-16"), ("utf-32", "UTF-32"), ("utf-32-be", "UTF-32")]
)
def test_utf_16_is_named(encoding: str, name: str) -> None:
    data = ("\ufeff" * encoding.endswith("be") + "hello").encode(encoding)
    with pytest.raises(InputError, match=f"^a.txt: is {name}; convert it first: iconv -f {name} -t UTF-8$"):
        read(data)


@pytest.mark.parametrize(
    "data", [zlib.compress(b"0123456789" * 10) + bytes(range(128, 256)), "привет".encode("cp1251")]
)
def test_what_is_no_text_is_named(data: bytes) -> None:
    with pytest.raises(
        InputError, match=r"^a\.txt: does not look like text: \d+ of its first \d+ characters are not UTF-8; "
    ):
        read(data)


def test_only_the_beginning_decides_what_is_text() -> None:
    found, repairs = read(b"x" * 4095 + "é".encode() + b"\n" + b"\xff" * 5000)
    assert found[0] == "x" * 4095 + "é"
    assert repairs == Repairs(invalid=5000, first="a.txt:2")


@pytest.mark.parametrize("lines", [50, 20_000])
@pytest.mark.parametrize("damage", ["cut", "flipped", "followed"])
def test_a_damaged_gzip_gives_what_came_before(lines: int, damage: str) -> None:
    written = [f"line number {number}" for number in range(lines)]
    data = gzip.compress("\n".join([*written, ""]).encode())
    match damage:
        case "cut":
            data = data[: len(data) * 2 // 3]
        case "flipped":
            data = data[:-8] + bytes([data[-8] ^ 1]) + data[-7:]  # the checksum
        case "followed":
            data += b"no gzip"
    source = Lines(io.BytesIO(data), name="a.gz", repairs=Repairs())
    found: list[str] = []
    with pytest.raises(InputError) as caught:
        found.extend(source)
    assert found == written[: len(found)]
    assert len(found) > lines // 4
    assert re.fullmatch(
        rf"a\.gz:{len(found) + 1}: cannot be read further: .+; the file is damaged or truncated, fetch it again",
        str(caught.value),
    )
