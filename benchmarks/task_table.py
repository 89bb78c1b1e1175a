"""The table of `benchmarks.tasks`, from the figures of its runs."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.task_specs import SPECS
from polyseme.files.whole import JSON, whole_file
from polyseme.tasks.choices import TaskName
from polyseme.tasks.metrics.accuracy import accuracy_of_sums
from polyseme.tasks.metrics.answers import mean_of_sums
from polyseme.tasks.metrics.bootstrap import Difference, bootstrap_sums
from polyseme.tasks.metrics.coreference import mean_f1_of_sums
from polyseme.tasks.metrics.labelled_spans import f1_of_sums
from polyseme.tasks.metrics.score import Sums
from polyseme.tasks.training import mean_and_spread

MODELS = ("baseline", "elmo")
BEGIN, END = "<!-- tasks: made by benchmarks.tasks -->", "<!-- end of tasks -->"
_FORMULAS: dict[TaskName, Callable[[Sums], Sums]] = {
    "tag": accuracy_of_sums,
    "ner": f1_of_sums,
    "classify": accuracy_of_sums,
    "entail": accuracy_of_sums,
    "answer": mean_of_sums,
    "roles": f1_of_sums,
    "coref": mean_f1_of_sums,
}
_HEADS = (
    *("task", "data", "measure", "GloVe 50-d", "+ ELMo", "difference"),
    *("error less by", "in the paper", "minutes of a model"),
)


@dataclass(frozen=True)
class Run:
    """The figures of one model.

    Attributes:
        task: Which row of the table.
        model: One of `MODELS`.
        seed: Its seed.
        metric: What the score is.
        score: On the test part.
        seconds: How long it trained.
        items: The file with what each test item adds to the score.
    """

    task: str
    model: str
    seed: int
    metric: str
    score: float
    seconds: float
    items: str

    @classmethod
    def read(cls, path: Path) -> "Run":
        """From the file that `to_dict` went into."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def to_dict(self) -> dict[str, JSON]:
        """As plain values."""
        return asdict(self)


def table(runs: Mapping[str, Sequence[Run]], sanity: Mapping[str, float]) -> str:
    """The table in Markdown, with a line for each simple baseline."""
    lines = [list(_HEADS), ["---", "---", "---", *["---:"] * (len(_HEADS) - 3)]]
    lines += [_row(key, some) for key, some in runs.items()]
    text = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    for key, score in sanity.items():
        text += f"\n\n{SPECS[key].name}: TF-IDF with logistic regression has {score:.1f} on the same test part."
    return text


def _row(key: str, runs: Sequence[Run]) -> list[str]:
    spec = SPECS[key]
    scores = {model: [run.score for run in runs if run.model == model] for model in MODELS}
    means = {model: mean_and_spread(some) for model, some in scores.items()}
    if len(scores["elmo"]) > 1:
        shown = [f"{mean:.1f} ± {spread:.1f}" for mean, spread in means.values()]
        difference = f"{means['elmo'][0] - means['baseline'][0]:+.1f}"
    else:
        shown = [f"{mean:.1f}" for mean, _ in means.values()]
        found = _bootstrap(runs)
        difference = f"{found.difference:+.1f} ({found.low:+.1f} to {found.high:+.1f})"
    published = "-" if spec.published is None else f"{_less(*spec.published):.0f}%"
    return [
        f"`{spec.task}`",
        spec.name,
        runs[0].metric,
        *shown,
        difference,
        f"{_less(means['baseline'][0], means['elmo'][0]):.0f}%",
        published,
        f"{max(run.seconds for run in runs) / 60:.0f}",
    ]


def _less(baseline: float, better: float) -> float:
    """The share of the baseline's error that is gone, in percent."""
    return 100 * (better - baseline) / (100 - baseline)


def _bootstrap(runs: Sequence[Run]) -> Difference:
    """The difference between the two models of one seed, over the items of the test part."""
    by_model = {run.model: run for run in runs}
    ours, theirs = (np.load(by_model[model].items, allow_pickle=False) for model in ("elmo", "baseline"))
    return bootstrap_sums(ours, theirs, _FORMULAS[SPECS[runs[0].task].task])


def replace_section(path: Path, made: str) -> None:
    """Put the table between its two marks in a page."""
    text = path.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    _, found, tail = rest.partition(END)
    if not found:
        raise SystemExit(f"{path}: the marks {BEGIN} and {END} are not there; add them where the table goes")
    with whole_file(path) as target:
        target.write_text(f"{head}{BEGIN}\n{made}\n{END}{tail}", encoding="utf-8")
