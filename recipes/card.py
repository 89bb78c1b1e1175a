"""Writes the model card of a finished model."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from recipes.sources import Recipe


def card(recipe: Recipe, facts: Mapping[str, Any], more: str) -> str:
    """What a user has to know: data and licences, settings, training time, figures.

    Args:
        recipe: The recipe of the model.
        facts: Sources, settings, metrics, perplexities, the tables of senses, the configuration, the size in bytes.
        more: Further figures, in Markdown.
    """
    sources, config = facts["sources"], facts["config"]
    columns = ("forward", "backward", "average", "average_known")
    perplexities = [
        f"| {name} | {' | '.join(f'{one[column]:.1f}' for column in columns)} | {one['unknown_share']:.1%} |"
        for name, one in facts["perplexity"].items()
    ]
    return f"""# {recipe.name}

A small ELMo (biLM) that comes with polyseme: {config.encoder.layers} layers of {config.encoder.hidden_dim:,} cells and
width {config.projection_dim} per direction, a softmax of {config.vocabulary_size:,} words. Release {config.release}.
Stored as {facts["storage"]}, {facts["bytes"] / 1e6:.1f} MB.

```python
import polyseme

embedder = polyseme.load("{recipe.name}")
```

The text was tokenised by polyseme's `{recipe.tokenizer}` tokeniser; raw text is tokenised in the same way.

## Data
{data_section(recipe, sources)}
## Training
{training_section(facts["stages"], facts["last"])}{_vectors(recipe)}{_curve(facts["curve"])}
Other experiments are in `recipes/{recipe.name}/LOG.md`.

## Figures
Perplexity over the full softmax; the average is the mean of the two directions.

| text | forward | backward | average | without unknown words | unknown words |
|---|---:|---:|---:|---:|---:|
{chr(10).join(perplexities)}

Pairs of sentences around one ambiguous word, same sense or not (`python -m benchmarks.senses {recipe.name}`): the
AUC is the probability that a pair of the same sense is more similar than a pair of different senses. Layer 0 sees no
context and gives 0.5 by construction. Hard pairs are those in which shared words mislead: the share of common words
alone would score about 0.3.

{facts["senses"]}
{more and chr(10) + more}
## What to expect
The model is small and was trained on little text: rare words and rare senses are weak, and the age, subjects and biases
of the texts show.
"""


def _vectors(recipe: Recipe) -> str:
    """The static vectors that the training started from, for the card."""
    if recipe.vectors is None:
        return ""
    one = recipe.vectors
    return (
        f"\nThe training started from static vectors: {one.what} ({one.registry}: {one.package} {one.version}, "
        f"{one.licence}). The text behind them may contain sentences of the sets that models are measured on.\n"
    )


def _curve(picture: str | None) -> str:
    """The learning curve, for the card."""
    return f"\n![Held-out perplexity over the updates]({picture})\n" if picture else ""


def training_section(stages: Sequence[Mapping[str, Any]], last: Sequence[Mapping[str, Any]]) -> str:
    """How long each stage of the training took, and its settings that differ from the preset; in Markdown."""
    parts = []
    for number, (stage, record) in enumerate(zip(stages, last, strict=True), 1):
        name = f"Stage {number} of {len(stages)}: " if len(stages) > 1 else ""
        settings = ", ".join(f"{key} {value}" for key, value in stage.items())
        parts.append(
            f"{name}{record['tokens']:,} tokens seen ({record['epoch']:.2f} epochs), {record['update']:,} updates, "
            f"{record['elapsed'] / 3600:.1f} hours on one or two cores. Settings: {settings}.\n"
        )
    return "\n".join(parts)


def data_section(recipe: Recipe, sources: Mapping[str, Any]) -> str:
    """Every source with its licence and its share, by kind, and what was compared and left out; in Markdown."""
    about = {source.name: source for source in recipe.sources}
    total = _read(sources)
    kinds: Counter[str] = Counter()
    rows, found = [], Counter[str]()
    for name, one in sources["sources"].items():
        found.update(one.get("measured sets", {}))
        tokens = one["train"]["tokens"]
        if not tokens:
            continue
        times = one.get("times", 1)
        read = times * tokens
        kinds[one.get("kind") or "other"] += read
        what, package, licence = about[name].what, one["package"], one["licence"]
        rows.append(
            f"| {what} | {one.get('kind') or 'other'} | {package} | {licence} "
            f"| {tokens:,}{f' x {times}' if times > 1 else ''} | {read / total:.1%} |"
        )
    shares = ", ".join(f"{kind} {tokens / total:.0%}" for kind, tokens in kinds.most_common())
    compared = ", ".join(f"{name} {found[name]:,}" for name in sources.get("compared with", {}))
    skipped = sources.get("not compared with")
    again = "" if total == sources["train"]["tokens"] else f"With what is read several times, an epoch has {total:,}.\n"
    return f"""{sources["train"]["tokens"]:,} tokens in {sources["train"]["sentences"]:,} sentences,
{sources["heldout"]["tokens"]:,} held out. Duplicates, markup and boilerplate were removed;
`recipes/{recipe.name}` makes the same text again.
{again}By kind: {shares}.

| text | kind | package | licence | tokens | share |
|---|---|---|---|---:|---:|
{chr(10).join(rows)}

Sentences of six or more tokens that stand in a set that models are measured on were left out, and with them every
document in which they are more than one in twenty. Found in the sources: {compared or "none"}.
{f"Not compared with, as they were not there: {', '.join(skipped)}." + chr(10) if skipped else ""}
The weights are given under the licence of polyseme; the texts stay under theirs.
"""


def _read(sources: Mapping[str, Any]) -> int:
    """Tokens that are read in an epoch: some sources may be read several times."""
    return int(sources.get("read", sources["train"])["tokens"])
