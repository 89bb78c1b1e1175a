"""The pictures of docs/explore.md, made from an index of real text; `make screenshots INDEX=...` runs this."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Page, browsing
from generated_map import shown

from polyseme.progress import Watcher
from polyseme.serve.exploring import Wanted, open_explorer

INDEX = os.environ.get("POLYSEME_INDEX")
pytestmark = pytest.mark.skipif(not INDEX, reason="POLYSEME_INDEX names no index; see make screenshots")


@pytest.fixture(scope="module")
def opened() -> Iterator[Page]:
    parts = open_explorer(Wanted([Path(INDEX or "")]), Watcher())
    with shown(parts) as address, browsing(address) as page:
        yield page


@pytest.mark.parametrize(
    ("name", "state", "phone"),
    [
        ("map", "", False),
        ("words", "words=play|season|river&theme=dark", False),
        ("senses", "words=play&colour=sense", False),
        ("layers", "words=play|record|right&split=layer&layer=0&right=2&tab=compare", False),
        ("chinese", "words=play&colour=sense&lang=zh&theme=dark", False),
        ("phone", "words=play&colour=sense", True),
        ("sentence", "tab=sentence&text=She+signed+to+do+a+Broadway+play+.&at=6", False),
        ("two-words", "words=song|episode&split=words&tab=compare&theme=dark", False),
    ],
)
def test_picture(opened: Page, name: str, state: str, phone: bool) -> None:
    opened.size(*((390, 844) if phone else (1440, 900)), touch=phone)
    opened.open(state)
    if "colour=sense" in state:
        opened.wait("document.documentElement.dataset.senses === 'play'")
        opened.settle()
    assert opened.texts(".names span")
    opened.shot(name)
    opened.check()


def test_picture_of_a_lasso(opened: Page) -> None:
    opened.size(1440, 900)
    opened.open("layer=2")
    opened.key("l")
    opened.drag([(330, 540), (420, 560), (440, 640), (380, 680), (310, 640), (322, 548)])
    opened.wait("document.querySelector('#clear-selection')")
    opened.settle()
    opened.shot("lasso")
    opened.check()
