"""How jobs become batches: by tokens and time, without losing one."""

import asyncio
import threading
from collections.abc import Sequence

import numpy as np
import pytest
from serving import run

from polyseme.arrays import Vectors
from polyseme.embed.layers import LayerChoice
from polyseme.serve.batcher import Batcher, Job
from polyseme.serve.lane import Lane
from polyseme.serve.limits import Limits
from polyseme.serve.metrics import Metrics
from polyseme.serve.refusal import Refusal


class Computer:
    """Notes its batches, and waits to be let go."""

    def __init__(self) -> None:
        self.batches: list[tuple[list[str], LayerChoice]] = []
        self.go = threading.Event()
        self.go.set()

    def __call__(self, sentences: list[Sequence[str]], layers: LayerChoice) -> list[Vectors]:
        self.go.wait(10)
        self.batches.append((["".join(sentence) for sentence in sentences], layers))
        if ["bad"] in sentences:
            raise MemoryError
        return [np.full((len(sentence), 1), len(sentence), dtype=np.float32) for sentence in sentences]


def job(*sentences: str, layers: LayerChoice = "mean") -> Job:
    lists = [[*sentence] if sentence != "bad" else [sentence] for sentence in sentences]
    return Job(lists, layers, lambda rows: b",".join(b"%d" % len(row) for row in rows), sum(map(len, lists)))


def test_jobs_that_wait_are_computed_together() -> None:
    computer = Computer()

    async def work() -> list[bytes]:
        batcher = Batcher(computer, Limits(wait_ms=0, batch_tokens=10), Metrics())
        computer.go.clear()
        first = asyncio.create_task(batcher.submit(job("a")))
        await asyncio.sleep(0.1)  # its batch is being computed
        rest = [job("bb", "c"), job("ddd"), job("e", layers="top"), job("ffff"), job("gg")]
        tasks = [first, *(asyncio.create_task(batcher.submit(one)) for one in rest)]
        await asyncio.sleep(0.1)
        assert batcher.waiting == (5, 13)
        computer.go.set()
        answers = await asyncio.gather(*tasks)
        assert batcher.waiting == (0, 0)
        batcher.stop()
        return answers

    assert run(work()) == [b"1", b"2,1", b"3", b"1", b"4", b"2"]
    assert computer.batches == [
        (["a"], "mean"),
        (["bb", "c", "ddd", "ffff"], "mean"),  # ten tokens; the other layers wait for a batch of their own
        (["e"], "top"),
        (["gg"], "mean"),
    ]


def test_a_job_waits_for_others_until_there_are_enough_tokens() -> None:
    computer = Computer()

    async def work() -> None:
        batcher = Batcher(computer, Limits(wait_ms=9_000, batch_tokens=4), Metrics())
        await asyncio.gather(*(batcher.submit(job("aa")) for _ in range(2)))
        batcher.stop()

    run(work())
    assert computer.batches == [(["aa", "aa"], "mean")]


def test_a_full_queue_and_time() -> None:
    computer = Computer()

    async def work() -> tuple[list[object], int]:
        metrics = Metrics()
        batcher = Batcher(computer, Limits(wait_ms=0, queue=2, timeout=0.5), metrics)
        computer.go.clear()
        tasks = [asyncio.create_task(batcher.submit(job("a")))]
        await asyncio.sleep(0.1)
        tasks += [asyncio.create_task(batcher.submit(job("b"))) for _ in range(3)]
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        computer.go.set()
        assert await batcher.submit(job("again")) == b"5"  # what ran out of time does not stand in the way
        batcher.stop()
        return list(answers), metrics.tokens

    answers, tokens = run(work())
    assert [answer.status for answer in answers if isinstance(answer, Refusal)] == [504, 504, 504, 429]
    full = answers[-1]
    assert isinstance(full, Refusal)
    assert full.headers == {"retry-after": "1"}
    assert full.message == "2 requests wait already; try again later"
    assert computer.batches == [(["a"], "mean"), (["again"], "mean")]
    assert tokens == 6


def test_waiting_tokens_are_bounded() -> None:
    computer = Computer()

    async def work() -> list[object]:
        batcher = Batcher(computer, Limits(wait_ms=0, tokens=2), Metrics())
        computer.go.clear()
        tasks = [asyncio.create_task(batcher.submit(job("aa"))) for _ in range(30)]
        await asyncio.sleep(0.1)
        computer.go.set()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        batcher.stop()
        return list(answers)

    answers = run(work())
    assert answers.count(b"2") in (16, 17)  # one may be taken before the others come
    assert all(isinstance(answer, Refusal) and answer.status == 429 for answer in answers if answer != b"2")


def test_one_that_fails_does_not_take_others_with_it() -> None:
    computer = Computer()

    async def work() -> list[object]:
        batcher = Batcher(computer, Limits(wait_ms=50), Metrics())
        jobs = [job("a"), job("bad"), job("c")]
        answers = await asyncio.gather(*map(batcher.submit, jobs), return_exceptions=True)
        batcher.stop()
        return list(answers)

    answers = run(work())
    assert answers[0] == answers[2] == b"1"
    assert isinstance(answers[1], MemoryError)


def test_stop_computes_what_waits() -> None:
    computer = Computer()

    async def work() -> list[bytes]:
        batcher = Batcher(computer, Limits(wait_ms=60_000), Metrics())
        tasks = [asyncio.create_task(batcher.submit(job("a"))) for _ in range(5)]
        await asyncio.sleep(0.05)
        await asyncio.to_thread(batcher.stop)
        return await asyncio.gather(*tasks)

    assert run(work()) == [b"1"] * 5


def test_lane() -> None:
    async def work() -> None:
        lane = Lane(Limits(queue=2, timeout=0.3))
        go = threading.Event()
        tasks = [asyncio.create_task(lane.run(lambda: go.wait(10))) for _ in range(3)]
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert [answer.status for answer in answers if isinstance(answer, Refusal)] == [504, 504, 429]
        go.set()
        assert await lane.run(lambda: 7) == 7
        assert lane.waiting == 0
        with pytest.raises(ZeroDivisionError):
            await lane.run(lambda: 1 // 0)
        lane.stop()

    run(work())
