"""One call from text to a model folder."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.models.model import ModelPath
from polyseme.progress import Watcher, default_watcher
from polyseme.text.choices import Reader, TokenizerChoice
from polyseme.text.segmentation import check_choice
from polyseme.train.choices import Preset
from polyseme.train.engine.run import Outcome, check_output, run, spelled, stored_plan
from polyseme.train.lm.plan import LmPlan, TextSource
from polyseme.train.lm.settings import ARCHITECTURE, LmSettings, given_only, settings_of

__all__ = ["Outcome", "train"]

Paths = str | Path | Sequence[str | Path]


def train(
    corpus: Paths,
    output: str | Path,
    *,
    preset: Preset | None = None,
    heldout: Paths = (),
    reader: Reader = "auto",
    tokenize: TokenizerChoice = "auto",
    dictionary: str | Path | None = None,
    stop_words: str | Path | None = None,
    start: ModelPath | None = None,
    vectors: str | Path | None = None,
    resume: bool = False,
    watcher: Watcher | None = None,
    begun: float | None = None,
    **settings: object,
) -> Outcome:
    """Train a biLM on text, from the raw files to a model folder that everything else in polyseme uses.

    Args:
        corpus: A file, a folder or "-", or several; plain or gzip. May be left empty with ``resume``.
        output: The model folder to write. Checkpoints are kept next to it in ``OUTPUT.training`` until the run is done.
        preset: Where settings come from that are not given; ``"small"`` by default.
        heldout: Held-out text; without it a part of the corpus is held out.
        reader: The format of the text, as in `polyseme.text.corpus.Corpus`.
        tokenize: How raw text is split into sentences and tokens: a tokeniser, or ``"none"`` for text that is tokenised
            already. ``"auto"`` follows the model ``start``, and without one goes by what the text looks like. The model
            records it.
        dictionary: A file of words, one per line, that the tokeniser ``zh`` keeps whole.
        stop_words: A file of words, one per line, that are left out of the text.
        start: A model to start from, of any known format, as `polyseme.load` takes it.
        vectors: Static word vectors to start from: GloVe, word2vec or fastText text, word2vec binary, or a folder of
            them. The token encoder first learns to give each word its vector, and the softmax begins with them.
        resume: Continue where an interrupted run of the same configuration stopped.
        watcher: Is told how it goes; by default a bar in a notebook, elsewhere nothing.
        begun: When a time budget began, by `time.monotonic`; now by default.
        settings: Those of `polyseme.train.lm.settings.LmSettings`.

    Example:
        >>> outcome = train("novel.txt", "novel-model", preset="tiny", tokenize="en", epochs=1)
        >>> outcome.finished
        True
    """
    output, begun = Path(output), time.monotonic() if begun is None else begun
    check_output(output, LmPlan.kind, resume=resume)
    given = given_only(settings)
    text = TextSource(
        corpus=spelled(corpus),
        heldout=spelled(heldout),
        reader=reader,
        tokenize=check_choice(tokenize),
        dictionary=None if dictionary is None else str(dictionary),
        stop_words=None if stop_words is None else str(stop_words),
        start=spelled(start) if isinstance(start, tuple) else None if start is None else str(start),
        vectors=None if vectors is None else str(vectors),
    )
    if resume:
        plan = _resumed(output, text, preset, given)
    else:
        if start is not None and (fixed := sorted(ARCHITECTURE & given.keys())):
            model = " and ".join(spelled(start))
            raise InputError(f"{fixed[0]} is fixed by the model {model} that training starts from; leave it out")
        plan = LmPlan(text, settings_of(preset or "small", **given), output)
    with watcher or default_watcher() as told:
        return run(plan, output, resume=resume, watcher=told, begun=begun)


def _resumed(output: Path, text: TextSource, preset: Preset | None, given: Mapping[str, object]) -> LmPlan:
    """The plan of an interrupted run, if nothing that is asked for now differs from it."""
    asked: dict[str, JSON] = text.model_dump(mode="json", exclude_defaults=True)
    if not text.corpus:
        del asked["corpus"]
    if given or preset:
        now = settings_of(preset or "small", **given).model_dump(mode="json")
        wanted = set(given) | (set(now) if preset else set())
        if now["precision"] == "auto":  # it was decided when the run began
            wanted.discard("precision")
        asked |= {name: now[name] for name in sorted(wanted)}
    return LmPlan(*stored_plan(output, LmPlan.kind, asked, TextSource, LmSettings), output)
