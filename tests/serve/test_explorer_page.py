"""The explorer in a real browser, with a map of 50,000 points: every interaction, no error, nothing from outside."""

import base64
import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Page, browsing
from generated_map import explorer_parts, shown

from polyseme.serve.html_export import write_html
from polyseme.serve.parts import Parts

POINTS = int(os.environ.get("POLYSEME_POINTS", "50000"))
pytestmark = [pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    return explorer_parts(tmp_path_factory.mktemp("explorer"), POINTS)


@pytest.fixture(scope="module")
def opened(parts: Parts) -> Iterator[Page]:
    with shown(parts) as address, browsing(address) as page:
        yield page


@pytest.fixture
def page(opened: Page) -> Iterator[Page]:
    opened.size(1440, 900)
    yield opened
    opened.check()


def test_the_map_is_drawn_and_named(page: Page) -> None:
    page.open()
    assert f"{POINTS:,} points" in page.texts(".brand span")[0]
    assert {"bank", "river", "money"} <= set(page.texts(".names span"))
    assert coloured_pixels(page) > 2000
    policy = page.js("return fetch('/explore').then((got) => got.headers.get('content-security-policy'))")
    assert policy.startswith("default-src 'self'; script-src 'self'")
    page.shot("generated")


def coloured_pixels(page: Page) -> int:
    """How many pixels of the left map are not transparent."""
    found: int = page.js(
        "const map = document.querySelector('#left canvas');"
        "const seen = map.getContext('2d').getImageData(0, 0, map.width, map.height).data;"
        "let count = 0; for (let i = 3; i < seen.length; i += 4) count += seen[i] > 20; return count"
    )
    return found


def test_a_word_that_is_typed_lights_up(page: Page) -> None:
    page.open()
    before = coloured_pixels(page)
    page.key("/")
    page.type("BAN")
    page.wait("document.querySelector('#suggestions li')")
    assert page.texts("#suggestions li") == ["bank"]
    page.type("K")
    page.key("Enter")
    page.wait("document.querySelector('#chips .chip')")
    page.settle()
    assert page.texts("#legend div") == ["BANK"]
    assert page.texts("#panel h2") == ["BANK"]
    assert "words=BANK" in page.address_state()
    assert all(word == "bank" for word in page.texts(".kwic b"))
    assert len(page.texts(".kwic li")) > 20
    assert coloured_pixels(page) != before
    page.key("Escape")  # leaves the field
    page.key("Escape")
    page.wait("!document.querySelector('#chips .chip')")
    page.settle()
    assert "words" not in page.address_state()


def test_a_word_that_is_not_there_is_named_as_such(page: Page) -> None:
    page.open("words=nowhere")
    assert "no occurrence of 'nowhere'; it is not in the text, or was not chosen" in page.texts(".hint")[0]
    page.driver.get_log("browser")  # the browser notes the refusal itself


@pytest.mark.parametrize(("colour", "legend"), [("document", "document 0"), ("label", "noun"), ("corpus", "text 1")])
def test_colours(page: Page, colour: str, legend: str) -> None:
    page.open()
    page.click(f"#colour-{colour}")
    assert legend in page.texts("#legend div")
    assert f"colour={colour}" in page.address_state()


def middle_of(page: Page, word: str) -> tuple[float, float]:
    """Where the name of a word stands."""
    x, y = page.js(
        "const names = [...document.querySelectorAll('#left .names span')];"
        "const name = names.find((one) => one.textContent === arguments[0]);"
        "const box = name.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]",
        word,
    )
    return x, y


def test_hover_and_click_show_sentences(page: Page) -> None:
    page.open("layer=0")
    x, y = middle_of(page, "bank")
    page.mouse("mouseMoved", x - 3, y)
    page.mouse("mouseMoved", x, y)
    page.wait("!document.querySelector('#tip').hidden")
    assert page.texts("#tip b") == ["bank"]
    assert "document" in page.texts("#tip .source")[0]
    page.drag([(x, y)])
    page.wait("document.querySelector('#panel .kwic li')")
    page.settle()
    assert page.texts(".kwic b") == ["bank"]
    assert "point=" in page.address_state()
    page.click(".kwic .line")
    assert page.texts(".whole mark") == ["bank"]
    assert "document" in page.texts(".whole .source")[0]


def test_lasso_lists_words_and_what_would_fit(page: Page) -> None:
    page.open("layer=0")
    page.key("l")
    x, y = middle_of(page, "money")
    page.drag([(x - 40, y - 40), (x + 40, y - 40), (x + 40, y + 40), (x - 40, y + 40), (x - 40, y - 38)])
    page.wait("document.querySelector('#panel .counted')")
    page.settle()
    assert page.texts(".counted button")[0].startswith("money")
    assert page.texts(".typical button")
    assert set(page.texts(".kwic b")) == {"money"}
    selected, state = page.texts("#panel h2")[0], page.address_state()
    assert "lasso=" in state
    page.open(state[1:])  # a link brings somebody else to the same selection
    assert page.texts("#panel h2")[0] == selected
    page.click("#clear-selection")
    assert "lasso" not in page.address_state()


def test_a_sentence_finds_its_nearest_contexts(page: Page) -> None:
    page.open("tab=sentence")
    page.js("document.querySelector('#sentence').focus()")
    page.type("the bank of money")
    page.key("Enter")
    page.wait("document.querySelectorAll('.tokens button').length === 4")
    page.click(".tokens button:nth-child(2)")
    page.wait("document.querySelector('.kwic .similarity')")
    similar = [float(text) for text in page.texts(".kwic .similarity")]
    assert similar == sorted(similar, reverse=True)
    assert len(page.texts(".chips.typical button")) > 3
    assert "at=1" in page.address_state()


def test_senses_of_a_word(page: Page) -> None:
    page.open("words=bank")
    page.click("#find-senses")
    page.wait("document.documentElement.dataset.senses === 'bank'")
    page.settle()
    count = len(page.texts(".senses article"))
    assert count >= 1
    assert len(page.texts("#legend div")) == count
    assert set(page.texts(".senses .kwic b")) == {"bank"}
    assert sum(float(share.rstrip("%")) for share in page.texts(".senses .share")) == pytest.approx(100, abs=count)
    assert "colour=sense" in page.address_state()


def test_two_words_side_by_side(page: Page) -> None:
    page.open("words=bank|river&split=words&tab=compare")
    captions = page.texts(".caption")
    # Both maps are seen whole, and names stand where their points are.
    for side in ("left", "right"):
        width = page.js("return document.getElementById(arguments[0]).getBoundingClientRect().width", side)
        assert width == pytest.approx(505, abs=5)
        names = f"[...document.querySelectorAll('#{side} .names span')].map((one) => one.style)"
        heights = page.js(f"return {names}.map((style) => parseFloat(style.top))")
        assert max(heights) - min(heights) < width  # the map is square: higher than wide, the names would not fit it
    assert captions[0].startswith("bank")
    assert captions[1].startswith("river")
    apd, prt = (float(text) for text in page.texts(".figure b"))
    assert 0 <= prt <= 2
    assert 0 <= apd <= 2
    assert set(page.texts(".kwic b")) == {"bank", "river"}


def test_two_texts_side_by_side(page: Page) -> None:
    page.open("words=bank&tab=compare")
    page.click("#split-corpora")
    assert [text.split(" · ")[0] for text in page.texts(".caption")] == ["text 0", "text 1"]
    assert page.js("return document.querySelector('#right').hidden") is False
    assert len(page.texts(".figure b")) == 2
    page.click("#split-off")
    assert page.js("return document.querySelector('#right').hidden") is True


def test_layers_move_the_same_points(page: Page) -> None:
    page.open("layer=0&words=bank")
    before = coloured_pixels(page)
    assert page.texts(".caption")[0] == "Layer 0: the word alone, without its context"
    page.key("2")
    page.wait("document.querySelector('#layer-2').getAttribute('aria-checked') === 'true'")
    page.settle()
    assert coloured_pixels(page) != before
    page.key("g")
    page.settle()
    assert "layer=static" in page.address_state()
    page.key("m")
    page.settle()
    assert page.texts(".caption")[0] == "The mean of all layers"
    page.open("split=layer&layer=2&right=static&tab=compare")
    assert [text.split(":")[0] for text in page.texts(".caption")] == ["Layer 2", "Static vectors"]


DOWNLOADS = """
const done = arguments[arguments.length - 1];
const wait = new Promise((resolve) => {
  const original = URL.createObjectURL;
  URL.createObjectURL = (blob) => { URL.createObjectURL = original; resolve(blob); return original(blob); };
});
document.querySelector('#save').click();
document.querySelector(arguments[0]).click();
wait.then((blob) => blob.arrayBuffer()).then((bytes) => {
  let text = ''; for (const byte of new Uint8Array(bytes)) text += String.fromCharCode(byte); done(btoa(text));
});
"""


def test_export(page: Page, tmp_path: Path) -> None:
    page.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    page.open("words=money&colour=sense")
    page.wait("document.documentElement.dataset.senses === 'money'")
    page.settle()
    picture = base64.b64decode(page.driver.execute_async_script(DOWNLOADS, "#save-png"))
    assert picture.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", picture[16:24])
    assert (width, height) == tuple(
        page.js("const m = document.querySelector('#left canvas'); return [m.width, m.height]")
    )
    table = base64.b64decode(page.driver.execute_async_script(DOWNLOADS, "#save-csv")).decode("utf-8").splitlines()
    assert table[0] == "point,word,layer,x,y,text,document,label,sense,sentence,position,file,line"
    assert {row.split(",")[1] for row in table[1:]} == {"money"}
    data = json.loads(base64.b64decode(page.driver.execute_async_script(DOWNLOADS, "#save-json")))
    assert len(data["points"]) == len(table) - 1
    if len(data["points"]) <= 20_000:  # as many as are exported with their sentences
        assert data["points"][0]["sentence"].startswith("money of the bank")
    assert {row["sense"] for row in data["points"]} >= {1}


def test_links_are_permanent(page: Page) -> None:
    page.open("words=bank|money&colour=document&layer=1")
    page.key("+")
    page.wait("location.hash.includes('view=')")
    state, names = page.address_state(), page.texts(".names span")
    page.open(state[1:])
    assert page.address_state() == state
    assert page.texts("#chips .chip button:first-child") == ["bank", "money"]
    assert page.texts(".names span") == names


def test_an_odd_address_does_no_harm(page: Page) -> None:
    page.open("layer=99&colour=none&lasso=a_b&point=-3&view=1_2&tab=x&words=|||&at=1e9&split=zz")
    assert page.texts(".caption")[0] == "Layer 2: in context"


def test_keyboard(page: Page) -> None:
    page.open()
    page.js("document.querySelector('#left canvas').focus()")
    view = page.address_state()
    page.key("ArrowLeft")
    page.wait("location.hash.includes('view=')")
    assert page.address_state() != view
    page.key("h")
    page.key("s")
    page.wait("document.querySelector('#clear-selection')")
    page.settle()
    assert f"{POINTS:,}"[:3] in page.texts("#panel h2")[0]
    page.key("Escape")
    page.key("?")
    page.wait("!document.querySelector('#menu').hidden")
    assert "lasso" in page.texts("#menu dd")
    page.key("Escape")
    page.key("c")
    page.settle()
    assert "colour=sense" in page.address_state()
    page.key("b")
    page.settle()
    assert "split=corpora" in page.address_state()


def test_light_dark_and_chinese(page: Page) -> None:
    page.open()
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = page.js(ground)
    page.key("t")
    page.settle()
    assert page.js(ground) != light
    page.click("#language")
    assert page.texts("#panel nav button") == ["词", "选区", "句子", "对比"]
    assert page.js("return document.documentElement.lang") == "zh-CN"
    assert "lang=zh" in page.address_state()
    assert "theme=dark" in page.address_state()
    page.shot("generated-zh-dark")


def test_a_phone(page: Page) -> None:
    page.size(390, 844, touch=True)
    page.open("words=bank")
    wide = page.js("return document.documentElement.scrollWidth")
    assert wide <= 390
    map_box = page.js("const b = document.querySelector('#left').getBoundingClientRect(); return [b.width, b.height]")
    assert map_box[0] == 390
    assert map_box[1] > 200
    view = page.address_state()
    one = {"x": 200, "y": 400}
    page.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[one])
    page.call("Input.dispatchTouchEvent", type="touchMove", touchPoints=[{"x": 240, "y": 430}])
    page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    page.wait("location.hash.includes('view=')")
    assert page.address_state() != view
    page.click(".grip")
    assert "low" in page.js("return document.querySelector('#panel').className")
    page.shot("generated-phone")


def test_one_file(page: Page, parts: Parts, tmp_path: Path) -> None:
    target = tmp_path / "map.html"
    assert write_html(target, parts, points=2000, words=["bank"]) == 2000
    address, page.address = page.address, target.as_uri()
    try:
        page.open("words=bank&colour=sense", path="")
        page.wait("document.documentElement.dataset.senses === 'bank'")
        page.settle()
        assert len(page.texts(".senses article")) >= 1
        assert set(page.texts(".kwic b")) == {"bank"}
        page.key("0")
        page.settle()
        assert page.texts(".caption")[0].startswith("Layer 0")
        page.key("s")
        page.wait("document.querySelector('#clear-selection')")
        page.settle()
        assert page.texts(".counted button")
        page.open("tab=sentence", path="")
        assert "Run polyseme explore to search" in page.texts(".hint")[0]
    finally:
        page.address = address
