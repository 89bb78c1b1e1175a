"""Measures speed side by side, prints tables and keeps the figures in benchmarks/results.json.

`make bench` sets up AllenNLP in an environment of its own and runs this; with BENCH_ARGS=--quick it takes a few
minutes, to see that it runs.
"""

import argparse

from benchmarks import compare, training_step, transformer
from benchmarks.models import SIZES
from benchmarks.process import QUICK_RESULTS, RESULTS, ROOT, Results, say
from benchmarks.report import tables, write_docs

PARTS = ("compare", "transformer", "training")


def main() -> None:
    """Measure what the arguments select and print it."""
    parser = argparse.ArgumentParser(description="Compare the speed of polyseme with that of its peers.")
    parser.add_argument("--peer", default=str(ROOT / ".venv-allennlp/bin/python"), help="AllenNLP's interpreter")
    parser.add_argument("--quick", action="store_true", help="few sentences and one round: to see that it runs")
    parser.add_argument("--rounds", type=int, help="rounds of each comparison")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES), help="which models to compare")
    parser.add_argument("--only", choices=PARTS, help="one part, beside the figures kept of the others")
    parser.add_argument("--write-docs", action="store_true", help="put tables and chart into docs/")
    options = parser.parse_args()
    if options.quick and options.write_docs:
        parser.error("the figures of --quick mean nothing; leave out --write-docs")
    rounds = options.rounds or (1 if options.quick else 3)
    results = Results(QUICK_RESULTS if options.quick else RESULTS)
    if options.only in (None, "compare"):
        compare.measure(results, peer=options.peer, sizes=options.sizes, rounds=rounds, quick=options.quick)
    if options.only in (None, "transformer"):
        transformer.measure(results, peer=options.peer, rounds=rounds, quick=options.quick)
    if options.only in (None, "training"):
        training_step.measure(results, rounds=rounds, quick=options.quick)
    say("\n" + tables(results.read()))
    if options.write_docs:
        write_docs(results.read())


if __name__ == "__main__":
    main()
