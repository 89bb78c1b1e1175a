"""Runs AllenNLP and polyseme in turn on the same weights and sentences.

docs/benchmarks.md says what is timed.
"""

import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.models import SIZES, activity, random_model
from benchmarks.process import PRECISIONS, Results, Worker, say, share_of_others
from benchmarks.text import first_sentences, first_tokens, sentences
from polyseme.nn.kernels.build import library

Figures = dict[str, Any]

SHORT = ["The", "old", "bank", "by", "the", "river", "closed", "."]
ORDERS = ("input", "sorted")
COSINE_SENTENCES = 64
INSTRUCTIONS = ("avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_int8")
ALLENNLP, POLYSEME = "benchmarks.allennlp_worker", "benchmarks.polyseme_worker"


def measure(results: Results, *, peer: str, sizes: Sequence[str], rounds: int, quick: bool) -> None:
    """Measure every size and keep the figures."""
    kernels = library() is not None  # built before any clock starts
    longest = 20_000 if quick else 1_000_000
    _, source = sentences(longest)
    results.keep("machine", {**machine(), "kernels": kernels})
    results.keep("text", source)
    for name in sizes:
        model = random_model(name)
        count = {"small": 1024, "original": 512}[name] // (8 if quick else 1)
        some = first_sentences(count)
        say(f"\n{name}: {SIZES[name].parameters:,} parameters, {count} sentences, {rounds} round(s)")
        figures: Figures = {"parameters": SIZES[name].parameters, "sentences": count}
        figures["activity"] = activity(model, _read(some)[:COSINE_SENTENCES])
        figures |= compare(model, some, rounds, peer)
        figures["growth"] = growth(name, model, longest)
        results.keep(name, figures)


def compare(model: Path, text: Path, rounds: int, peer: str) -> Figures:
    """AllenNLP and each precision in turn, every AllenNLP run followed by one of each precision."""
    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        theirs = stack.enter_context(Worker(peer, ALLENNLP))
        figures: Figures = {"allennlp": theirs("load", model=str(model))}
        ours = {}
        for precision in PRECISIONS:
            ours[precision] = stack.enter_context(Worker(sys.executable, POLYSEME))
            figures[precision] = ours[precision]("load", model=str(model), precision=precision)
        workers = {"allennlp": theirs, **ours}
        for name, worker in workers.items():
            figures[name]["latency"] = worker("latency", sentence=SHORT)
            figures[name]["speed"] = {order: [] for order in ORDERS}
        for number in range(rounds):
            for order in ORDERS:
                for name, worker in workers.items():
                    given = {"order": order} if worker is theirs else {}
                    done = worker("run", path=str(text), **given)
                    figures["tokens"] = done["tokens"]
                    # Ours are run in input order both times, and are compared with the AllenNLP run before them.
                    figures[name]["speed"][order].append(done["tokens"] / done["seconds"])
                shown = ", ".join(f"{name} {figures[name]['speed'][order][-1]:,.0f}" for name in workers)
                say(f"  round {number + 1}, AllenNLP {order}: {shown} tokens/s")
        figures["others"] = share_of_others(workers.values())
        arrays = {}
        for name, worker in workers.items():
            figures[name]["peak_mib"] = worker("peak_mib")
            worker("vectors", path=str(text), count=COSINE_SENTENCES, output=f"{folder}/{name}.npy")
            arrays[name] = np.load(f"{folder}/{name}.npy")
        for precision in PRECISIONS:
            figures[precision]["profile"] = ours[precision]("profile", path=str(text))
            figures[precision]["cosine"] = cosines(arrays[precision], arrays["float32"])
        figures["difference"] = float(np.abs(arrays["float32"] - arrays["allennlp"]).max())
    return figures


def growth(name: str, model: Path, longest: int) -> Figures:
    """Speed and peak memory of each precision for texts of increasing length, each in its own process."""
    result: Figures = {}
    lengths = [length for length in (1_000, 10_000, 100_000, 1_000_000) if length <= longest]
    for precision in PRECISIONS:
        result[precision] = {}
        for length in lengths:
            if length == 1_000_000 and (name != "small" or precision == "float32"):
                continue  # a quarter of an hour and more, for a figure that the other rows already show
            with Worker(sys.executable, POLYSEME) as worker:
                worker("load", model=str(model), precision=precision)
                done = worker("run", path=str(first_tokens(length)))
                speed, peak = done["tokens"] / done["seconds"], worker("peak_mib")
            result[precision][str(length)] = {"speed": speed, "peak_mib": peak}
            say(f"  {precision}, {length:,} tokens: {speed:,.0f} tokens/s, {peak:,.0f} MiB")
    return result


def cosines(arrays: np.ndarray, reference: np.ndarray) -> list[dict[str, float]]:
    """The lowest and the mean cosine between vectors (L, N, D) and reference vectors, per layer."""
    arrays, reference = arrays.astype(np.float64), reference.astype(np.float64)
    norms = np.linalg.norm(arrays, axis=2) * np.linalg.norm(reference, axis=2)
    cosine = (arrays * reference).sum(axis=2) / norms  # (L, N)
    return [{"min": float(layer.min()), "mean": float(layer.mean())} for layer in cosine]


def machine() -> Figures:
    """The machine of the measurement."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    facts = {line.split(":")[0].strip(): line.split(":", 1)[1].strip() for line in lines if ":" in line}
    flags = facts.get("flags", "").split()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": facts.get("model name", platform.processor()),
        "cores": len(os.sched_getaffinity(0)),
        "instructions": [flag for flag in INSTRUCTIONS if flag in flags],
        "memory_gib": round(memory),
        "python": platform.python_version(),
    }


def _read(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
