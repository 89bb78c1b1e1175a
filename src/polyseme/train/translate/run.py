"""One call from parallel text to a translator and its CoVe encoder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.progress import Watcher, default_watcher
from polyseme.text.choices import TokenizerChoice
from polyseme.text.segmentation import check_choice
from polyseme.train.engine.run import Outcome, check_output, run, spelled, stored_plan
from polyseme.train.engine.settings import check_settings
from polyseme.train.translate.evaluate import FinalFigures, check_installed
from polyseme.train.translate.plan import PairSource, TranslatePlan
from polyseme.train.translate.settings import TranslateSettings

Paths = str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class TranslateOutcome:
    """How a run ended, and what was measured at its end; nothing if it was interrupted."""

    run: Outcome
    final: FinalFigures | None

    def to_dict(self) -> dict[str, JSON]:
        """As plain values."""
        final = self.final
        figures: dict[str, JSON] = {}
        if final is not None:
            figures = {
                "heldout_pairs": final.pairs,
                "bleu_greedy": final.greedy.score,
                "bleu_beam": final.beam.score,
                "beam": final.width,
                "bleu_signature": final.greedy.signature,
                "samples": [
                    {"source": one.source, "reference": one.reference, "translation": one.translation}
                    for one in final.samples
                ],
            }
        return {**self.run.to_dict(), **figures}


def train_translator(
    parallel: Paths,
    output: str | Path,
    *,
    vectors: str | Path | None = None,
    heldout: Paths = (),
    fields: Sequence[str] = (),
    source_tokenize: TokenizerChoice = "auto",
    target_tokenize: TokenizerChoice = "auto",
    resume: bool = False,
    watcher: Watcher | None = None,
    **settings: object,
) -> TranslateOutcome:
    """Train a translator on parallel text; its encoder is a CoVe model.

    Args:
        parallel: Two files, or one table; see `polyseme.text.parallel.ParallelText`. May be left empty with ``resume``.
        output: The folder to write: the translator, and in ``cove`` its encoder, which `polyseme.load` opens.
        vectors: Static vectors of the source language: a file or a folder. Not needed with ``resume``.
        heldout: Held-out pairs in the same layout; without them a part of the pairs is held out, such that no sentence
            of either side is in both parts.
        fields: The names of two JSON fields, or the numbers of two columns.
        source_tokenize: How the source side is tokenised; ``"auto"`` goes by what the text looks like.
        target_tokenize: The same for the target side.
        resume: Continue where an interrupted run of the same configuration stopped.
        watcher: Is told how it goes; by default a bar in a notebook, elsewhere nothing.
        settings: Those of `polyseme.train.translate.settings.TranslateSettings`.
    """
    text = PairSource(
        parallel=spelled(parallel),
        vectors="" if vectors is None else str(vectors),
        heldout=spelled(heldout),
        fields=list(fields),
        source_tokenize=check_choice(source_tokenize),
        target_tokenize=check_choice(target_tokenize),
    )
    plan = _planned(Path(output), text, {k: v for k, v in settings.items() if v is not None}, resume=resume)
    with watcher or default_watcher() as told:
        outcome = run(plan, plan.output, resume=resume, watcher=told)
    return TranslateOutcome(outcome, plan.job.final if plan.job else None)


def _planned(output: Path, text: PairSource, given: Mapping[str, object], *, resume: bool) -> TranslatePlan:
    """The plan of a run; whatever forbids it is found before anything is read."""
    check_installed()
    check_output(output, TranslatePlan.kind, resume=resume)
    if resume:
        return _resumed(output, text, given)
    if not text.vectors:
        raise InputError("no static vectors given; the encoder reads those of the source language, such as GloVe's")
    return TranslatePlan(text, check_settings(TranslateSettings, given), output)


def _resumed(output: Path, text: PairSource, given: Mapping[str, object]) -> TranslatePlan:
    """The plan of an interrupted run, if nothing that is asked for now differs from it."""
    asked: dict[str, JSON] = {
        name: value for name, value in text.model_dump(mode="json", exclude_defaults=True).items() if value
    }
    now = check_settings(TranslateSettings, given).model_dump(mode="json")
    # auto was decided when the run began
    asked |= {name: now[name] for name in sorted(given) if (name, now[name]) != ("precision", "auto")}
    return TranslatePlan(*stored_plan(output, TranslatePlan.kind, asked, PairSource, TranslateSettings), output)
