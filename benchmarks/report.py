"""Tables in Markdown from the figures of a run, and the docs that show them.

`python -m benchmarks.report` puts the tables and the chart of the last run into docs/.
"""

import re
from statistics import median
from typing import Any

from benchmarks.models import SIZES
from benchmarks.process import PRECISIONS, RESULTS, ROOT, Results

PAGE = ROOT / "docs/benchmarks.md"
BEGIN, END = "<!-- figures of a run: begin -->", "<!-- figures of a run: end -->"

TARGETS: dict[str, dict[str, tuple[float, ...]]] = {
    "original": {"input": (4.5, 11, 18), "sorted": (2.7, 6.5, 10)},
    "small": {"input": (8, 16, 20), "sorted": (3, 6, 8)},
}
TRAINING_TARGETS = {"float32": 5, "bfloat16": 10}


def tables(results: dict[str, Any]) -> str:
    """Everything that was measured."""
    sizes = [name for name in SIZES if name in results]
    parts = [_machine(results)] if "machine" in results else []
    for name in sizes:
        parts += [_speed(name, results[name]), _closeness(results[name])]
    if sizes:
        chosen = {name: results[name] for name in sizes}
        parts += [_profile(chosen), _growth({name: size["growth"] for name, size in chosen.items()})]
    if "transformer" in results:
        parts.append(_transformer(results["transformer"]["runs"]))
    if "training" in results:
        parts.append(_training(results["training"]))
    if "perplexity" in results:
        parts.append(_perplexity(results["perplexity"]))
    return "\n\n".join(parts)


def write_docs(results: dict[str, Any]) -> None:
    """Put the tables into docs/benchmarks.md and draw docs/throughput.png."""
    from benchmarks.chart import draw

    page = PAGE.read_text(encoding="utf-8")
    between = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
    PAGE.write_text(between.sub(lambda _: f"{BEGIN}\n{tables(results)}\n{END}", page), encoding="utf-8")
    draw(results)


def ratio(size: dict[str, Any], precision: str, order: str) -> float:
    """How many times as fast as AllenNLP: the median over rounds of the ratio within a round."""
    pairs = zip(size[precision]["speed"][order], size["allennlp"]["speed"][order], strict=True)
    return float(median(ours / theirs for ours, theirs in pairs))


def speed(size: dict[str, Any], precision: str) -> float:
    """Tokens per second: the median over all runs."""
    return float(median(value for values in size[precision]["speed"].values() for value in values))


def _machine(results: dict[str, Any]) -> str:
    machine, first = results["machine"], next((results[name] for name in SIZES if name in results), None)
    threads = f"{first['allennlp']['threads']} threads a peer; torch {first['allennlp']['torch']}; " if first else ""
    kernels = "" if machine["kernels"] else " No compiler was found: polyseme ran without its kernels."
    others = max(
        (part["others"] for part in results.values() if isinstance(part, dict) and "others" in part), default=0.0
    )
    return (
        f"{machine['processor']}, {machine['cores']} cores ({', '.join(machine['instructions'])}), "
        f"{machine['memory_gib']} GiB; {threads}Python {machine['python']}. Text: {results['text']}. "
        f"Other work took at most {others:.0%} of the processor's time in a part.{kernels}"
    )


def _speed(name: str, size: dict[str, Any]) -> str:
    rows = []
    for order in ("input", "sorted"):
        label = "AllenNLP, input order" if order == "input" else "AllenNLP, sorted by length"
        values, memory = median(size["allennlp"]["speed"][order]), _mib(size["allennlp"]["peak_mib"])
        first, second = (_ms(value) for value in size["allennlp"]["latency"])
        rows.append([label, f"{values:,.0f}", "", "", memory, first, second])
    for number, precision in enumerate(PRECISIONS):
        ratios = [
            f"{ratio(size, precision, order):.1f}x ({TARGETS[name][order][number]}x)" for order in ("input", "sorted")
        ]
        first, second = (_ms(value) for value in size[precision]["latency"])
        memory = _mib(size[precision]["peak_mib"])
        rows.append([f"polyseme {precision}", f"{speed(size, precision):,.0f}", *ratios, memory, first, second])
    heads = ["", "tokens/s", "vs input order (target)", "vs sorted (target)", "peak MiB", "first call", "second call"]
    facts = f"{size['parameters']:,} parameters, {size['sentences']} sentences of {size['tokens']:,} tokens"
    return f"**{name.capitalize()} size** ({facts})\n\n{_table(heads, rows)}"


def _closeness(size: dict[str, Any]) -> str:
    rows = [
        [precision, *(f"{layer['min']:.5f} / {layer['mean']:.5f}" for layer in size[precision]["cosine"])]
        for precision in PRECISIONS
        if precision != "float32"
    ]
    heads = ["cosine to float32, lowest / mean", *(f"layer {number}" for number in range(len(rows[0]) - 1))]
    alive = ", ".join(f"{name} {value:g}" for name, value in size["activity"].items())
    note = f"float32 differs from AllenNLP by at most {size['difference']:.1e}. These weights: {alive}."
    return f"{_table(heads, rows)}\n\n{note}"


def _profile(sizes: dict[str, Any]) -> str:
    rows = []
    for name, size in sizes.items():
        for precision in PRECISIONS:
            seconds = dict(size[precision]["profile"])
            speed_of_products, total = seconds.pop("gflops"), sum(seconds.values())
            shares = [f"{value / total:.0%}" for value in seconds.values()]
            rows.append([f"{name}, {precision}", *shares, f"{speed_of_products:,.0f}"])
    heads = ["", "token encoder", "LSTMs", "the rest", "GFLOP/s in the LSTMs"]
    return f"**Where the time goes** (polyseme)\n\n{_table(heads, rows)}"


def _growth(growths: dict[str, Any]) -> str:
    rows = []
    lengths = sorted({length for size in growths.values() for runs in size.values() for length in runs}, key=int)
    for name, size in growths.items():
        for precision, runs in size.items():
            cells = [
                f"{runs[length]['speed']:,.0f} / {runs[length]['peak_mib']:,.0f}" if length in runs else "-"
                for length in lengths
            ]
            rows.append([f"{name}, {precision}", *cells])
    heads = ["tokens/s / peak MiB at", *(f"{int(length):,} tokens" for length in lengths)]
    return f"**From a thousand to a million tokens** (polyseme, a new process each)\n\n{_table(heads, rows)}"


def _transformer(runs: dict[str, Any]) -> str:
    rows = [[name, f"{median(run['speed']):,.0f}", _mib(run["peak_mib"])] for name, run in runs.items()]
    table = _table(["", "words/s", "peak MiB"], rows)
    return f"**Beside a small transformer** (its batches of 64 sorted by length)\n\n{table}"


def _training(training: dict[str, Any]) -> str:
    runs = training["runs"]
    plain = next(run["speed"] for run in runs.values() if not run["beside"])  # float32

    def times(run: dict[str, Any], other: list[float]) -> float:
        return float(median(ours / theirs for ours, theirs in zip(run["speed"], other, strict=True)))

    rows = []
    for name, run in runs.items():
        ratios = [f"{times(run, plain):.1f}x", ""]
        if run["beside"]:
            ratios[0] += f" ({TRAINING_TARGETS[run['precision']]}x)"
            ratios[1] = f"{times(run, runs[run['beside']]['speed']):.1f}x"
        rows.append([name, f"{median(run['speed']):,.0f}", *ratios, _mib(run["peak_mib"])])
    heads = ["", "tokens/s", "vs straightforward float32 (target)", "vs straightforward, same precision", "peak MiB"]
    return f"**One training step** ({training['what']})\n\n{_table(heads, rows)}"


def _perplexity(runs: dict[str, Any]) -> str:
    heads = ["", "forward", "backward", "average", "tokens/s", "tokens seen", "peak MiB"]
    rows = []
    for name, run in runs.items():
        forward, backward, speed = run["forward"], run["backward"], run["tokens"] / run["seconds"]
        figures = [f"{number:,.1f}" for number in (forward, backward, (forward + backward) / 2)]
        rows.append([name, *figures, f"{speed:,.0f}", f"{run['tokens']:,.0f}", _mib(run["peak_mib"])])
    first = next(iter(runs.values()))
    what = f"{first['minutes']:.0f} minutes of training, {first['vocabulary']:,} words to predict"
    return f"**Held-out perplexity on WikiText-2** ({what})\n\n{_table(heads, rows)}"


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _mib(value: float) -> str:
    return f"{value:,.0f}"


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:,.0f} ms"


if __name__ == "__main__":
    write_docs(Results(RESULTS).read())
