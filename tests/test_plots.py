"""Pictures: files that can be opened, that say what they should, and that are whole or absent."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from polyseme import plots
from polyseme.errors import InputError, MissingPart, OutputError
from polyseme.plots import fonts

pytest.importorskip("matplotlib")

Draw = Callable[[Path], str | None]
POINTS = np.random.default_rng(1).standard_normal((30, 6)) + np.repeat(np.eye(3, 6) * 8, 10, axis=0)


def occurrences(path: Path) -> str | None:
    texts = [f"sentence {number} on $5 _and_ $6" for number in range(30)]
    names = ["act, sing", "_game", "the $role of $x"]
    return plots.occurrence_map(path, POINTS, [0] * 10 + [1] * 10 + [2] * 10, names=names, texts=texts, title="play")


def mix(path: Path) -> str | None:
    return plots.mix_chart(path, {"entities": [0.5, 0.3, 0.2], "sentiment": [0.02, 0.38, 0.6]}, title="mixes")


def probe(path: Path) -> str | None:
    accuracies = {"0": 0.7, "1": 0.95, "mean": 1.0}
    return plots.probe_chart(path, accuracies, 0.8125, baseline_name="each word's own", title="upos")


def change(path: Path) -> str | None:
    return plots.change_chart(path, [("mouse", 0.25), ("cell", 0.5), ("$", 0.0)], measure="APD", title="old, new")


def similarities(path: Path) -> str | None:
    tables = {"0": np.ones((2, 2)), "mean": np.array([[1, -0.25], [-0.25, 1]])}
    return plots.similarity_map(path, tables, ["the $5 [play]", "a [play] " * 20], title="play in 2 sentences")


CHARTS: dict[Draw, list[str]] = {
    occurrences: ["play", "act, sing (10)", "_game (10)", "the $role of $x (10)", "first main direction"],
    mix: ["mixes", "entities", "sentiment", "50%", "38%", "60%", "layer 0", "layer 2"],
    probe: ["upos", "70.0%", "95.0%", "100.0%", "mean", "each word's own (81.2%)"],
    similarities: ["play in 2 sentences", "1  the $5 [play]", "mean of layers", "1.00", "-0.25"],
    change: ["old, new", "cell", "mouse", "$", "0.500", "0.250", "APD"],
}
EVERY = pytest.mark.parametrize("draw", CHARTS, ids=lambda draw: draw.__name__)


def texts_of(path: Path) -> list[str]:
    return ["".join(node.itertext()) for node in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]


@EVERY
def test_png(draw: Draw, tmp_path: Path) -> None:
    from matplotlib.image import imread

    assert draw(tmp_path / "a.PNG") is None
    image = imread(tmp_path / "a.PNG")
    assert image.shape[1] == 1200
    assert 0.02 < (image[..., :3].min(axis=2) < 0.9).mean() < 0.9  # neither empty nor black
    assert [path.name for path in tmp_path.iterdir()] == ["a.PNG"]


@EVERY
def test_svg_has_its_words_as_words_and_is_the_same_each_time(draw: Draw, tmp_path: Path) -> None:
    assert draw(tmp_path / "a.svg") is None
    draw(tmp_path / "b.svg")
    found = texts_of(tmp_path / "a.svg")
    assert [text for text in CHARTS[draw] if text not in found] == []
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_characters_that_no_svg_may_hold(tmp_path: Path) -> None:
    plots.change_chart(tmp_path / "a.svg", [("a\x1b[0mb", 0.5), ("\uffffc", 0.2)], title="\x07bell")
    assert {"a\ufffd[0mb", "\ufffdc", "\ufffdbell"} <= set(texts_of(tmp_path / "a.svg"))


def test_nothing_read_right(tmp_path: Path) -> None:
    plots.probe_chart(tmp_path / "a.svg", {"0": 0.0}, 0.0)
    assert "0.0%" in texts_of(tmp_path / "a.svg")


def test_words_by_change_most_changed_first_and_no_more_than_fit(tmp_path: Path) -> None:
    changes = [(f"w{number:02}", number / 100) for number in range(50)]
    plots.change_chart(tmp_path / "a.svg", changes, most=20)
    words = [text for text in texts_of(tmp_path / "a.svg") if text.startswith("w")]
    assert words == [f"w{number:02}" for number in range(49, 29, -1)]
    assert "APD, 20 of 50 words" in texts_of(tmp_path / "a.svg")


def test_words_within_their_noise_are_pale(tmp_path: Path) -> None:
    changes = [("yet", 0.4), ("cell", 0.5)]
    noise = {"yet": 0.45, "cell": 0.3}
    plots.change_chart(tmp_path / "a.svg", changes, noise=noise, ranked=True)
    found = texts_of(tmp_path / "a.svg")
    legend = {"above its noise", "not above it, may be chance", "noise (95% of shuffles are below)"}
    assert legend <= set(found)
    assert [text for text in found if text in noise] == ["yet", "cell"]  # as given
    drawn = (tmp_path / "a.svg").read_text()
    assert drawn.count("fill: #a6cbe3") == 2  # the bar and the legend
    plots.change_chart(tmp_path / "b.svg", changes, noise={"cell": 0.3})
    assert "fill: #a6cbe3" not in (tmp_path / "b.svg").read_text()


def test_labels_of_similarities_begin_below_each_other(tmp_path: Path) -> None:
    labels = ["a [bank]", "the [bank] of a long river", *["[bank]"] * 9]
    plots.similarity_map(tmp_path / "a.svg", {"0": np.ones((11, 11))}, labels)
    tree = ElementTree.parse(tmp_path / "a.svg").iter("{http://www.w3.org/2000/svg}text")
    shown = {text: node for node in tree if "[bank]" in (text := "".join(node.itertext()))}
    assert (
        len({re.findall(r"-?[0-9.]+", node.get("transform") or node.get("x") or "")[0] for node in shown.values()}) == 1
    )
    assert all("text-anchor: end" not in (node.get("style") or "") for node in shown.values())
    assert {"\u20071  a [bank]", "11  [bank]"} <= set(shown)


class TestOccurrences:
    def test_texts_of_each_sense_are_written_and_long_ones_cut(self, tmp_path: Path) -> None:
        texts = [f"{'abc'[number // 10]} {'x' * 100}" for number in range(30)]
        plots.occurrence_map(tmp_path / "a.svg", POINTS, [n // 10 for n in range(30)], texts=texts, most_texts=1)
        written = [text for text in texts_of(tmp_path / "a.svg") if text.endswith("…")]
        assert sorted(text[0] for text in written) == ["a", "b", "c"]
        assert {len(text) for text in written} == {44}

    def test_the_two_main_directions(self) -> None:
        draw = np.random.default_rng(1)
        plane, _ = np.linalg.qr(draw.standard_normal((5, 2)))
        known = draw.standard_normal((40, 2)) * [9, 3]
        flat = plots._two_dimensions(known @ plane.T + 7)
        distances = [np.linalg.norm(rows[:, None] - rows[None], axis=2) for rows in (known, flat)]
        np.testing.assert_allclose(distances[0], distances[1], atol=1e-9)
        assert flat[:, 0].var() > flat[:, 1].var()

    @pytest.mark.parametrize("points", [np.ones((1, 5)), np.zeros((4, 3)), np.ones((3, 1)), np.ones((2, 2))])
    def test_few_points_and_points_that_are_one(self, points: np.ndarray, tmp_path: Path) -> None:
        plots.occurrence_map(tmp_path / "a.png", points, [0] * len(points), texts=["here"] * len(points))
        assert (tmp_path / "a.png").stat().st_size > 1000

    def test_more_senses_than_colours(self, tmp_path: Path) -> None:
        plots.occurrence_map(tmp_path / "a.svg", POINTS, list(range(30)))
        assert "sense 30 (1)" in texts_of(tmp_path / "a.svg")

    def test_what_does_not_fit_together(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="30 points, 2 clusters and 30 texts; give one of each for every point"):
            plots.occurrence_map(tmp_path / "a.png", POINTS, [0, 1])
        with pytest.raises(InputError, match=r"points of shape \(0, 3\) where \(N, D\) is expected"):
            plots.occurrence_map(tmp_path / "a.png", np.zeros((0, 3)), [])


class TestFonts:
    def test_where_no_font_has_a_character_one_line_says_so(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        latin = frozenset(range(256))
        monkeypatch.setattr(fonts, "_covered", lambda path: latin)
        note = plots.change_chart(tmp_path / "a.png", [("曹操", 0.5), ("play", 0.4)])
        assert note == (
            f"{tmp_path / 'a.png'}: no installed font has 2 of the characters (操曹), drawn as boxes; install one "
            "for their script, such as one of the Noto fonts, or write an SVG"
        )
        assert plots.change_chart(tmp_path / "a.svg", [("曹操", 0.5)]) is None
        assert "曹操" in texts_of(tmp_path / "a.svg")
        assert capfd.readouterr() == ("", "")

    def test_chinese_needs_no_installed_font(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from matplotlib import font_manager

        manager = font_manager.fontManager
        monkeypatch.setattr(manager, "ttflist", [font for font in manager.ttflist if font.name.startswith("DejaVu")])
        monkeypatch.setattr(font_manager, "findSystemFonts", list)
        text = "银行：“曹操与劉備”在河邊。「ひらがなカタカナ」１２"
        assert fonts.families(set(text)) == (["DejaVu Sans", "Polyseme Chinese"], set())
        square = np.eye(2)
        for note in (
            plots.change_chart(tmp_path / "change.png", [(text, 0.5)]),
            plots.occurrence_map(tmp_path / "senses.png", POINTS, [0] * 30, names=[text], texts=[text] * 30),
            plots.similarity_map(tmp_path / "compare.png", {"0": square}, [text, text], title=text),
            plots.confusion_chart(tmp_path / "confusion.png", {text: {text: 1}}),
            plots.mix_chart(tmp_path / "mix.png", {text: [0.5, 0.5]}),
            plots.probe_chart(tmp_path / "probe.png", {text: 0.5}, 0.4, title=text),
            plots.sample_chart(tmp_path / "samples.png", {text: [(10, 0.5, 0.1)]}),
        ):
            assert note is None
        # Without it there would be boxes: the picture differs.
        monkeypatch.setattr(fonts, "_CHINESE", tmp_path / "none.ttf")
        monkeypatch.setattr(manager, "ttflist", [font for font in manager.ttflist if font.name.startswith("DejaVu")])
        assert "no installed font has" in str(plots.change_chart(tmp_path / "boxes.png", [(text, 0.5)]))
        assert (tmp_path / "boxes.png").read_bytes() != (tmp_path / "change.png").read_bytes()

    def test_a_font_that_has_the_characters_is_chosen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from matplotlib.font_manager import FontProperties, findfont

        serif = findfont(FontProperties(family=["DejaVu Serif"]))
        monkeypatch.setattr(fonts, "_covered", lambda path: frozenset(map(ord, "曹操" if path == serif else "play")))
        assert fonts.families(set("play 曹")) == (["DejaVu Sans", "DejaVu Serif"], set())
        assert fonts.families(set("play 曹國")) == (["DejaVu Sans", "DejaVu Serif"], {"國"})

    def test_a_font_that_was_installed_since_is_found(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """Matplotlib keeps the list of fonts of its first run."""
        from matplotlib import font_manager

        manager, serif = font_manager.fontManager, tmp_path / "new.ttf"
        serif.write_bytes(Path(font_manager.findfont("DejaVu Serif")).read_bytes())
        (tmp_path / "broken.ttf").write_bytes(b"no font")
        monkeypatch.setattr(manager, "ttflist", [font for font in manager.ttflist if font.name != "DejaVu Serif"])
        monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [str(tmp_path / "broken.ttf"), str(serif)])
        monkeypatch.setattr(fonts, "_covered", lambda path: frozenset(map(ord, "曹" if path == str(serif) else "play")))
        fonts._add_new_fonts.cache_clear()
        assert fonts.families({"曹"}) == (["DejaVu Sans", "DejaVu Serif"], set())
        fonts._add_new_fonts.cache_clear()

    def test_the_font_of_boxes_counts_for_nothing(self) -> None:
        import matplotlib

        boxes = Path(matplotlib.get_data_path(), "fonts", "ttf", "LastResortHE-Regular.ttf")
        if not boxes.exists():
            pytest.skip("this matplotlib has no such font")
        assert fonts._covered(str(boxes)) == frozenset()


class TestWriting:
    def test_what_is_no_picture(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"a.pdf: a picture is written as .png or .svg; give a name that ends in"):
            change(tmp_path / "a.pdf")
        with pytest.raises(InputError, match=r"none: no such folder to write a.png into; create it first"):
            change(tmp_path / "none" / "a.png")

    def test_an_old_picture_stays_where_a_new_one_cannot_be_drawn(self, tmp_path: Path) -> None:
        path = tmp_path / "a.png"
        path.write_bytes(b"old")
        with pytest.raises(
            InputError, match=r"mixes of \[2, 3\] layers; give at least one, and all of the same number"
        ):
            plots.mix_chart(path, {"a": [0.5, 0.5], "b": [0.2, 0.4, 0.4]})
        with pytest.raises(InputError, match=r"a.png: no word to draw; give at least one with its change"):
            plots.change_chart(path, [])
        assert path.read_bytes() == b"old"

    def test_a_folder_in_its_place(self, tmp_path: Path) -> None:
        (tmp_path / "a.png").mkdir()
        with pytest.raises(OutputError, match=r"a.png: could not be written \(Is a directory\)"):
            change(tmp_path / "a.png")
        assert [path.name for path in tmp_path.iterdir()] == ["a.png"]

    def test_without_matplotlib(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(MissingPart, match=r"pictures need matplotlib; run: pip install 'polyseme\[plots\]'"):
            plots.check_path(tmp_path / "a.png")


def test_letters_of_arabic_are_joined() -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure()
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]

    def width(text: str) -> float:
        return float(figure.text(0.1, 0.5, text).get_window_extent(renderer).width)

    assert width("سلام") < 0.8 * width("\u200c".join("سلام"))  # a mark between letters keeps them apart
