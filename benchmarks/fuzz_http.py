"""Sends hostile requests to the application: made from its own description, then damaged.

Run: python -m benchmarks.fuzz_http [--cases 10000] [--seed 0]

Every answer must be one of the known statuses, in JSON of the known shape, within the time limit. Runs against a tiny
model with an index, in this process. Prints how often each status came.
"""

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.http_cases import Case, cases, complaint, paths_of
from benchmarks.process import say
from polyseme import load
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.serve.application import application
from polyseme.serve.limits import Limits
from polyseme.serve.parts import open_parts
from polyseme.serve.service import Service
from polyseme.serve.settings import Settings

SENTENCES = [["the", "bank", "of", "river", str(number)] for number in range(20)]


async def call(app: object, case: Case) -> tuple[int, bytes]:
    """The status and the body that a request gets."""
    status, body = 0, b""
    parts = [*case.body] or [b""]

    async def receive() -> dict[str, object]:
        await asyncio.sleep(0)
        chunk = parts.pop(0) if parts else None
        if chunk is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": chunk, "more_body": bool(parts) or case.leaves}

    async def send(message: dict[str, object]) -> None:
        nonlocal status, body
        if message["type"] == "http.response.start":
            status = int(str(message["status"]))
        else:
            body += message.get("body", b"")  # type: ignore[operator]

    scope = {
        "type": "http",
        "method": case.method,
        "path": case.path,
        "raw_path": case.path.encode("utf-8", "surrogatepass"),
        "root_path": "",
        "query_string": b"",
        "headers": case.headers,
        "state": {},
    }
    await app(scope, receive, send)  # type: ignore[operator]
    return status, body


async def fuzz(count: int, seed: int, folder: Path) -> Counter[int]:
    """Try that many requests, some at a time."""
    OccurrenceIndex.build(load("english-small"), SENTENCES, folder / "index")
    limits = Limits(body_mib=0.05, tokens=500, timeout=60)
    service = Service(limits)
    app = application(service)
    service.begin(open_parts(Settings(model="english-small", index=folder / "index", limits=limits)))
    found: Counter[int] = Counter()
    _, described = await call(app, Case("GET", "/openapi.json", [], [], leaves=False))
    source = cases(random.Random(seed), json.loads(described), limits.body_bytes)
    known = paths_of(json.loads(described))
    for begin in range(0, count, 16):
        some = [next(source) for _ in range(min(16, count - begin))]
        async with asyncio.timeout(300):
            answers = await asyncio.gather(*(call(app, case) for case in some))
        for case, (status, body) in zip(some, answers, strict=True):
            found[status] += 1
            if wrong := complaint(case, status, body, known):
                raise SystemExit(f"{wrong}: {case!r:.500} got {status} {body[:300]!r}")
    service.end()
    return found


def main() -> None:
    """Fuzz and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(fuzz(chosen.cases, chosen.seed, Path(folder)))
    say(f"{chosen.cases:,} requests in {time.perf_counter() - begun:.0f} s, none with a 500, a hang or another shape")
    for status, count in sorted(found.items()):
        say(f"{status or 'client left'}: {count:,}")


if __name__ == "__main__":
    main()
