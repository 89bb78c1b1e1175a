"""A signal asks a job to stop; what it is storing is not broken off."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from polyseme.errors import Interrupted
from polyseme.files.interrupt import interruptible

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture(autouse=True)
def before() -> Iterator[list[object]]:
    """The usual handlers, whatever this process was started with."""
    kept = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield [signal.getsignal(number) for number in SIGNALS]
    for number, handler in kept.items():
        signal.signal(number, handler)


def handlers() -> list[object]:
    return [signal.getsignal(number) for number in SIGNALS]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_loop_that_looks_sees_the_signal_and_the_old_handlers_come_back(
    before: list[object], number: signal.Signals
) -> None:
    with interruptible() as interrupted:
        assert handlers() != before
        assert not interrupted()
        os.kill(os.getpid(), number)
        assert interrupted()
        assert interrupted.signal == number
        assert handlers() == before, "a second signal has its usual effect"
        with pytest.raises(Interrupted) as caught:
            interrupted.check()
    assert caught.value.number == number
    assert handlers() == before


def test_a_second_ctrl_c_interrupts_at_once() -> None:
    with interruptible() as interrupted:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt) as caught:
            signal.raise_signal(signal.SIGINT)
    assert interrupted()
    assert not isinstance(caught.value, Interrupted)


def test_without_a_signal_the_handlers_come_back(before: list[object]) -> None:
    with interruptible() as interrupted:
        assert list(interrupted.each(range(3))) == [0, 1, 2]
    assert handlers() == before
    with pytest.raises(ZeroDivisionError), interruptible():
        _ = 1 / 0
    assert handlers() == before


def test_computing_is_broken_off_and_storing_is_not() -> None:
    computed: list[int] = []
    stored: list[int] = []

    def compute() -> Iterator[int]:
        for number in range(5):
            if number == 3:
                signal.raise_signal(signal.SIGTERM)
                computed.append(-1)  # not reached
            computed.append(number)
            yield number

    with interruptible() as interrupted, pytest.raises(Interrupted):
        stored.extend(interrupted.each(compute()))
    assert computed == stored == [0, 1, 2]

    stored.clear()

    def store(number: int) -> None:
        if number == 1:
            signal.raise_signal(signal.SIGINT)
        stored.append(number)

    def run() -> None:
        with interruptible() as interrupted:
            for number in interrupted.each(range(5)):
                store(number)

    with pytest.raises(Interrupted):
        run()
    assert stored == [0, 1], "what was being stored was stored, and nothing after it"


def test_the_first_signal_is_told_once() -> None:
    told: list[str] = []
    with interruptible(lambda: told.append("stopping")):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert told == ["stopping"]


def test_an_ignored_signal_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in the background of a shell script
    with interruptible() as interrupted:
        signal.raise_signal(signal.SIGINT)
        assert not interrupted()
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def test_another_thread_sets_no_handlers(before: list[object]) -> None:
    seen: list[object] = []

    def work() -> None:
        with interruptible() as interrupted:
            seen.append(handlers())
            seen.append(list(interrupted.each("ab")))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before, ["a", "b"]]
