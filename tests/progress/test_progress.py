"""Every kind of progress tells the same story."""

import io
import json

import pytest

from polyseme.progress import TokenCounter, Watcher, default_watcher, figures, lines, notebook, open_watcher
from polyseme.progress.bar import TerminalBar
from polyseme.progress.figures import Clock, shown_figures


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of all clocks of the room."""
    moment = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: moment[0])
    return moment


def test_the_first_estimate_is_not_absurd(now: list[float]) -> None:
    clock = Clock()
    now[0] += 0.5
    assert clock.left(0.0) is None
    assert clock.left(0.0001) is None  # it would be 5,000 seconds
    now[0] += 10
    assert clock.left(0.0001) is None
    assert clock.left(0.5) == pytest.approx(10.0)
    assert clock.left(None) is None


def test_what_came_before_the_first_share_does_not_count(now: list[float]) -> None:
    clock = Clock()
    now[0] += 18.0  # no share was known
    assert clock.left(0.4) is None
    now[0] += 5.0
    assert clock.left(0.45) == pytest.approx(55.0)


def test_a_resumed_stage_is_estimated_by_what_it_did_itself(now: list[float]) -> None:
    clock = Clock()
    assert clock.left(0.9) is None
    now[0] += 20
    assert clock.left(0.95) == pytest.approx(20)


def test_plain_lines_come_every_ten_seconds_results_at_once(now: list[float]) -> None:
    stream = io.StringIO()
    watcher = open_watcher("auto", stream)
    counter = TokenCounter(watcher, "embedding a.txt")
    counter.add(10, 0.1)
    assert stream.getvalue() == ""
    now[0] += 10
    counter.add(90, 0.5)
    now[0] += 1
    counter.add(1, 0.6)
    watcher.result("held-out perplexity", {"forward": 85.123, "backward": 86})
    watcher.note("done")
    assert stream.getvalue().splitlines() == [
        "embedding a.txt: 100 tokens, 10 tokens/s, 50%, 12s left",
        "held-out perplexity: forward 85.12, 86 backward",
        "done",
    ]


def test_a_stage_of_unknown_length_has_no_share(now: list[float]) -> None:
    stream = io.StringIO()
    counter = TokenCounter(lines.PlainLines(stream), "embedding <stdin>")
    now[0] += 11
    counter.add(22, None)
    assert stream.getvalue() == "embedding <stdin>: 22 tokens, 2 tokens/s\n"


def test_json_lines_are_objects_for_programs(now: list[float]) -> None:
    stream = io.StringIO()
    with open_watcher("json", stream) as watcher:
        watcher.begin("training")
        now[0] += 4
        watcher.step(0.0, {"update": 1, "loss": 9.5})
        watcher.step(0.1, {"update": 2, "loss": 9.4})  # within a second of the last
        now[0] += 4
        watcher.step(0.5, {"update": 3, "loss": 9.3})
        watcher.step(1.0, {"update": 4, "loss": 9.2})
        watcher.result("held-out", {"perplexity": 80.5})
        watcher.note("银行")
    records = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [record["event"] for record in records] == ["begin", "step", "step", "step", "result", "note", "end"]
    assert records[2] == {
        "event": "step",
        "stage": "training",
        "share": 0.5,
        "seconds": 8.0,
        "seconds_left": 4.0,
        "figures": {"update": 3, "loss": 9.3},
    }
    assert records[4]["figures"] == {"perplexity": 80.5}


def test_a_terminal_gets_a_bar_and_keeps_notes(now: list[float]) -> None:
    stream = Terminal()
    with open_watcher("auto", stream) as watcher:
        assert isinstance(watcher, TerminalBar)
        watcher.begin("counting")
        watcher.step(None, {"tokens": 3})
        watcher.begin("embedding [a].txt")
        watcher.note("half of [it] was empty")
        watcher.step(0.25, {"tokens": 12345})
    drawn = stream.getvalue()
    assert "half of [it] was empty" in drawn
    assert "embedding [a].txt" in drawn
    assert "25%" in drawn
    assert "12,345 tokens" in drawn


def test_only_the_first_of_several_processes_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    assert type(open_watcher("auto", io.StringIO())) is Watcher
    assert type(open_watcher("json", io.StringIO())) is Watcher


def test_a_script_gets_no_bar() -> None:
    assert not notebook.in_notebook()
    assert type(default_watcher()) is Watcher
    assert type(open_watcher("none", Terminal())) is Watcher


def test_a_notebook_draws_a_bar_after_a_second(now: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    bar = notebook.NotebookBar()
    monkeypatch.setattr(bar, "_draw", lambda: drawn.append(bar._html()))
    bar.begin("embedding <a>.txt")
    bar.step(0.1, {"tokens": 5})
    assert drawn == []
    now[0] += 3
    bar.step(0.5, {"tokens": 10})
    bar.note("a <note>")
    assert "embedding &lt;a&gt;.txt" in drawn[0]
    assert 'value="0.5000"' in drawn[0]
    assert "10 tokens" in drawn[0]
    assert "a &lt;note&gt;" in drawn[1]


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        ({"update": 16}, "update 16"),
        ({"sentences": 1, "labels": 1, "tokens": 0}, "1 sentence, 1 label, 0 tokens"),
        ({"training examples": 1, "files": 2}, "1 training example, 2 files"),
        ({"seconds": 51.82}, "51.8 seconds"),
    ],
)
def test_counts_agree_with_their_nouns(shown: dict[str, int | float], text: str) -> None:
    assert shown_figures(shown) == text


def test_figures_read_well() -> None:
    assert figures.shown_figures({"task": "ner", "F1": 0.91234}) == "task ner, F1 0.9123"
    assert figures.shown_time(float("inf")) == "?"


def test_the_last_step_of_a_stage_is_always_written(now: list[float]) -> None:
    stream = io.StringIO()
    with open_watcher("json", stream) as watcher:
        counter = TokenCounter(watcher, "reading")
        for _ in range(50):
            counter.add(1, 1.0)  # a short text is read at once
        watcher.begin("writing")
    records = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [record["event"] for record in records] == ["begin", "step", "step", "begin", "end"]
    assert [record["figures"]["tokens"] for record in records[1:3]] == [1, 50]
    assert records[2]["stage"] == "reading"


def test_results_printed_while_a_bar_is_drawn_stay_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    stream = Terminal()
    with open_watcher("bar", stream) as watcher:
        watcher.begin("scoring")
        print("a result")  # noqa: T201
    assert capsys.readouterr().out == "a result\n"
    assert "a result" not in stream.getvalue()
