"""What it takes to embed a large text: machines, hours, storage and money, and where the bottleneck is.

``python -m benchmarks.scale_plan`` prints the tables of docs/scale.md, from the measured figures in
``benchmarks/scale_figures.json`` and the prices and machines below, which are assumptions to be replaced by one's own
(``--price-processor-hour`` and so on). Every number of hours is compared with a simulation of slow and failing machines
(`benchmarks.scale_simulation`).
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

from benchmarks.process import say
from benchmarks.scale_simulation import Cluster, simulate

FIGURES = Path(__file__).with_name("scale_figures.json")
HOUR, GB, TB = 3600.0, 1e9, 1e12


@dataclass(frozen=True)
class Figures:
    """What was measured, for one model in one precision, on one processor.

    Attributes:
        tokens_per_second: Of one processor.
        text_bytes: Of text, for each token.
        vector_bytes: Written for each token, keys included.
        index_seconds: Of one processor, to index an occurrence whose vector is stored.
        index_bytes: Of an index, for each occurrence.
    """

    tokens_per_second: float
    text_bytes: float
    vector_bytes: float
    index_seconds: float
    index_bytes: float

    @classmethod
    def read(cls, model: str, precision: str, bytes_per_number: int, path: Path = FIGURES) -> "Figures":
        """The figures of a model, if its vectors are stored with this many bytes per number."""
        found = json.loads(path.read_text())
        dim = found["models"][model]["dim"]
        return cls(
            tokens_per_second=found["models"][model]["tokens_per_second"][precision],
            text_bytes=found["text_bytes_per_token"],
            vector_bytes=dim * bytes_per_number + found["key_bytes_per_token"],
            # Measured with 256 numbers; clustering and writing grow with their number.
            index_seconds=found["index_seconds_per_occurrence"] * dim / 256,
            index_bytes=dim * found["index_bytes_per_number"] + found["index_other_bytes_per_occurrence"],
        )


@dataclass(frozen=True)
class Setting:
    """The machines, the object store and the prices: assumptions.

    Attributes:
        processors: Of a machine.
        network: Bytes per second of a machine, in and out together.
        store: Bytes per second that the object store takes or gives, over all machines.
        requests: Of the object store per second, over all machines.
        processor_hour: Price of a processor for an hour.
        storage: Price of a GB for a month.
        thousand_writes: Price of a thousand written objects.
        part_bytes: Of text in a part.
    """

    processors: int = 16
    network: float = 1.25e9
    store: float = 100e9
    requests: float = 3500
    processor_hour: float = 0.04
    storage: float = 0.023
    thousand_writes: float = 0.005
    part_bytes: float = 4 << 20


@dataclass(frozen=True)
class Plan:
    """What a text needs on a number of machines.

    Attributes:
        machines: How many.
        hours: Of embedding, by the slowest of what works at the same time.
        each: The hours of each if it were alone: processors, network, object store, requests.
        machine_network: Bytes per second in and out of each machine while embedding.
        index_hours: Of building an index of all occurrences from the parts.
        money: For the processors of both, and the requests.
    """

    machines: int
    hours: float
    each: dict[str, float]
    machine_network: float
    index_hours: float
    money: float

    @property
    def bottleneck(self) -> str:
        """What takes longest."""
        return max(self.each, key=lambda name: self.each[name])


def plan(text_bytes: float, machines: int, figures: Figures, setting: Setting) -> Plan:
    """The arithmetic: every resource works at the same time, so the slowest decides."""
    tokens = text_bytes / figures.text_bytes
    moved = text_bytes + tokens * figures.vector_bytes
    parts = text_bytes / setting.part_bytes
    workers = machines * setting.processors
    each = {
        "processors": tokens / (figures.tokens_per_second * workers) / HOUR,
        "network": moved / (setting.network * machines) / HOUR,
        "object store": moved / setting.store / HOUR,
        "requests": 2 * parts / setting.requests / HOUR,
    }
    hours = max(each.values())
    read = tokens * figures.vector_bytes
    index_each = (
        tokens * figures.index_seconds / workers / HOUR,
        (read + tokens * figures.index_bytes) / (setting.network * machines) / HOUR,
        (read + tokens * figures.index_bytes) / setting.store / HOUR,
    )
    money = (hours + max(index_each)) * workers * setting.processor_hour
    return Plan(
        machines=machines,
        hours=hours,
        each=each,
        machine_network=moved / machines / (hours * HOUR),
        index_hours=max(index_each),
        money=money + 2 * parts / 1000 * setting.thousand_writes,
    )


def table(text_bytes: float, figures: Figures, setting: Setting, counts: list[int]) -> list[str]:
    """A table of plans as Markdown, with the hours that a simulation finds."""
    rows = [
        "| machines | hours | simulated | bottleneck | network of a machine | index, hours | money |",
        "| ---: | ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    for machines in counts:
        found = plan(text_bytes, machines, figures, setting)
        # A part takes as long as the bottleneck allows; what the machines themselves do is what can be slow or fail.
        cluster = Cluster(machines=machines, workers=setting.processors)
        parts = round(text_bytes / setting.part_bytes)
        seconds = found.hours * HOUR * machines * setting.processors / parts
        simulated = simulate(parts, seconds, cluster) / HOUR
        rows.append(
            f"| {machines:,} | {found.hours:,.1f} | {simulated:,.1f} | {found.bottleneck} | "
            f"{found.machine_network / 1e6:,.0f} MB/s | {found.index_hours:,.1f} | {found.money:,.0f} |"
        )
    return rows


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--text-bytes", type=float, default=TB)
    parser.add_argument("--machines", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--processors", type=int, default=Setting.processors)
    parser.add_argument("--price-processor-hour", type=float, default=Setting.processor_hour)
    parser.add_argument("--price-gb-month", type=float, default=Setting.storage)
    parser.add_argument("--store-bytes-per-second", type=float, default=Setting.store)
    given = parser.parse_args()
    setting = Setting(
        processors=given.processors,
        processor_hour=given.price_processor_hour,
        storage=given.price_gb_month,
        store=given.store_bytes_per_second,
    )
    for model in json.loads(FIGURES.read_text())["models"]:
        for precision in ("float32", "int8"):
            figures = Figures.read(model, precision, 2)
            tokens = given.text_bytes / figures.text_bytes
            stored, indexed = tokens * figures.vector_bytes, tokens * figures.index_bytes
            say(
                f"**{model}, {precision}**: {tokens / 1e9:,.0f} billion tokens, each "
                f"{1e6 / figures.tokens_per_second:,.0f} microseconds of a processor, {figures.text_bytes:.1f} bytes "
                f"in and {figures.vector_bytes:,.0f} out; "
                f"vectors {stored / TB:,.0f} TB ({stored / GB * setting.storage:,.0f} a month), "
                f"index {indexed / TB:,.0f} TB ({indexed / GB * setting.storage:,.0f} a month).\n"
            )
            say("\n".join(table(given.text_bytes, figures, setting, given.machines)) + "\n")


if __name__ == "__main__":
    main()
