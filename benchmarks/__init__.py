"""Side-by-side speed: polyseme and its peers on the same weights, sentences and machine.

`make bench` runs `benchmarks.compare` and then `benchmarks.training_step`; docs/benchmarks.md says what is measured.
"""
