"""Hostile requests: whatever is sent, the answer is one of the known ones, in one shape."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serving import tiny_parts

from benchmarks.fuzz_http import call
from benchmarks.http_cases import Case, cases, complaint, paths_of
from polyseme.serve.application import application
from polyseme.serve.limits import Limits
from polyseme.serve.service import Service

LIMITS = Limits(body_mib=0.05, tokens=300, wait_ms=0, timeout=60)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda some: st.lists(some, max_size=4) | st.dictionaries(st.text(max_size=8), some, max_size=4),
    max_leaves=12,
)


class Target:
    """An application, in a loop that stays."""

    def __init__(self, folder: Path) -> None:
        self.loop = asyncio.new_event_loop()
        self.service = Service(LIMITS)
        self.app = application(self.service)
        self.loop.run_until_complete(self._begin(folder))
        self.described = json.loads(self.ask(Case("GET", "/openapi.json", [], [], leaves=False))[1])
        self.known = paths_of(self.described)

    async def _begin(self, folder: Path) -> None:
        self.service.begin(tiny_parts(folder=folder))

    def ask(self, case: Case) -> tuple[int, bytes]:
        return self.loop.run_until_complete(asyncio.wait_for(call(self.app, case), 100))

    def check(self, case: Case) -> int:
        status, body = self.ask(case)
        assert complaint(case, status, body, self.known) is None, (case, status, body)
        return status


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    made = Target(tmp_path_factory.mktemp("fuzz"))
    yield made
    made.service.end()
    made.loop.close()


def test_cases_from_the_description(target: Target) -> None:
    source = cases(Random(7), target.described, LIMITS.body_bytes)
    statuses = {target.check(next(source)) for _ in range(400)}
    assert {200, 404, 409, 413, 422} <= statuses  # they reach everything: otherwise they would prove little


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_json(target: Target, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(target.known)))
    body: Any = data.draw(JSON | st.fixed_dictionaries({"input": JSON, "sentence": JSON, "word": JSON}))
    raw = json.dumps(body).encode()
    target.check(Case("POST", path, [(b"host", b"localhost")], [raw], leaves=False))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary(max_size=200), path=st.text(max_size=30))
def test_any_bytes(target: Target, body: bytes, path: str) -> None:
    assert target.check(Case("POST", "/v1/embeddings", [], [body], leaves=False)) == 422
    target.check(Case("POST", f"/{path}", [(b"host", body)], [body], leaves=False))
