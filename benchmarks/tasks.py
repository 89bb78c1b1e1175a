"""The tasks of the ELMo paper with and without ELMo: trains every model of the table, one after the other.

Run: python -m benchmarks.tasks --data FOLDER --glove GLOVE [--only ner ...] [--quick] [--write-docs]

FOLDER holds the data sets, as in docs/benchmarks.md; GLOVE is what polyseme.load opens as GloVe of 50 numbers. Each
model is trained and measured once and its figures are kept in the work folder, so that the same command continues where
an earlier one was stopped. A task whose models take under ten minutes is trained with three seeds; for a longer one the
difference between its two models is tested by a paired bootstrap over the test items. Everything runs in one thread.
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from benchmarks.process import ROOT, say
from benchmarks.task_specs import SPECS, Spec
from benchmarks.task_table import MODELS, Run, replace_section, table
from polyseme.errors import InputError, PolysemeError
from polyseme.files.whole import whole_file, write_json
from polyseme.files.work_folder import RUN, work_path
from polyseme.nn.kernels.threads import set_threads
from polyseme.progress import Figure, Watcher
from polyseme.tasks.data_files import DataFiles, read_all
from polyseme.tasks.examples import Text
from polyseme.tasks.metrics.score import Score
from polyseme.tasks.task import Task
from polyseme.tasks.training import Asked, train_models
from polyseme.train.engine.records import METRICS
from polyseme.train.engine.run import SUFFIX

SHORT = 600.0
"""Seconds; a model that takes less is trained with all seeds."""
LONGEST = "38m"
"""The time that a model has at most."""
SEEDS = (1, 2, 3)
DOCS = ROOT / "docs/benchmarks.md"


class Lines(Watcher):
    """Prints what happens, a line for each evaluation."""

    def result(self, what: str, figures: Mapping[str, Figure]) -> None:
        """Print the figures of an evaluation."""
        say(f"  {what}: " + ", ".join(f"{name} {value}" for name, value in figures.items()))


def runs_of(key: str, spec: Spec, given: argparse.Namespace) -> Iterator[Run]:
    """All models of a task, trained unless they were before."""
    for seed in SEEDS:
        pair = [run(key, spec, model, seed, given) for model in MODELS]
        yield from pair
        if given.quick or max(one.seconds for one in pair) >= SHORT:
            return


def run(key: str, spec: Spec, model: str, seed: int, given: argparse.Namespace) -> Run:
    """One model of one seed: trained, measured, and kept."""
    name = f"{key}-{model}-{seed}"
    record = given.work / f"{name}.json"
    if record.exists():
        return Run.read(record)
    say(f"{name}: {spec.name}")
    files = spec.files(given.data, given.work)
    output = given.work / name
    resume = (work_path(output, SUFFIX) / RUN).exists()
    vectors = [given.glove] if model == "baseline" else [given.glove, given.elmo]
    settings = {**spec.settings, "seed": seed, "threads": 1, "time_budget": LONGEST}
    if given.quick:
        settings |= {"updates": 2}
    asked = Asked(
        spec.task, DataFiles(train=str(files.train), dev=str(files.dev), reading=spec.reading), vectors, settings
    )
    if not output.exists() or resume:
        (trained,) = train_models(asked, output, seeds=1, resume=resume, test=None, watcher=Lines())
        if not trained.finished:
            raise InputError(f"{output}: interrupted; the same command continues")
    seconds = _seconds(output)
    test = read_all(spec.reading.whole().open(files.test, spec.task), Watcher())
    score = Task.load(output).evaluate(test)
    _keep_items(given.work / f"{name}.npy", score)
    found = Run(key, model, seed, score.metric, score.score, seconds, str(given.work / f"{name}.npy"))
    write_json(record, found.to_dict())
    say(f"  test {score.metric} {score.score:.2f}, {seconds / 60:.1f} minutes")
    return found


def _seconds(output: Path) -> float:
    """How long a model trained, with the time before an interruption."""
    last = (output / METRICS).read_text(encoding="utf-8").splitlines()[-1]
    return float(json.loads(last)["elapsed"])


def _keep_items(path: Path, score: Score) -> None:
    with whole_file(path) as target, target.open("wb") as file:
        np.save(file, score.items)


def tf_idf(spec: Spec, given: argparse.Namespace) -> float:
    """Accuracy of TF-IDF over words and pairs of words with logistic regression, its strength chosen on the dev part.

    It learns from whole texts: phrases did not help it.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    record = given.work / "classify-tf-idf.json"
    if record.exists():
        return float(json.loads(record.read_text(encoding="utf-8"))["score"])
    texts, labels = [], []
    for path in spec.files(given.data, given.work):
        examples = [one for one in spec.reading.whole().open(path, spec.task) if isinstance(one, Text)]
        texts.append([" ".join(one.tokens) for one in examples])
        labels.append([str(one.label) for one in examples])
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\S+")
    train, dev, test = vectorizer.fit_transform(texts[0]), *(vectorizer.transform(some) for some in texts[1:])
    models = [LogisticRegression(C=strength, max_iter=500).fit(train, labels[0]) for strength in (1.0, 4.0, 16.0)]
    best = max(models, key=lambda model: model.score(dev, labels[1]))
    score = 100 * float(best.score(test, labels[2]))
    write_json(record, {"score": score})
    return score


def main() -> None:
    """Train what is missing and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tasks", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder with the data sets")
    parser.add_argument("--glove", required=True, help="GloVe of 50 numbers, in any known format")
    parser.add_argument("--elmo", default="english-small", help="the contextual model")
    parser.add_argument("--work", type=Path, default=ROOT / "benchmarks/cache/tasks", help="where models are kept")
    parser.add_argument("--only", nargs="+", choices=SPECS, default=list(SPECS), help="some of the tasks")
    parser.add_argument("--quick", action="store_true", help="two updates for each model: to see that it runs")
    parser.add_argument("--write-docs", action="store_true", help=f"put the table into {DOCS.name}")
    given = parser.parse_args()
    if given.quick and given.write_docs:
        parser.error("the figures of --quick mean nothing; leave out --write-docs")
    if given.quick:
        given.work /= "quick"
    set_threads(1)
    given.work.mkdir(parents=True, exist_ok=True)
    try:
        runs = {key: list(runs_of(key, SPECS[key], given)) for key in given.only}
        sanity = {key: tf_idf(SPECS[key], given) for key in given.only if SPECS[key].sanity}
    except PolysemeError as error:
        parser.exit(2, f"{error}\n")
    made = table(runs, sanity)
    say(f"\n{made}")
    if given.write_docs:
        replace_section(DOCS, made)


if __name__ == "__main__":
    main()
