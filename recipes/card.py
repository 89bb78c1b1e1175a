"""Writes the model card of a finished model."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from recipes.sources import Recipe


def card(recipe: Recipe, facts: Mapping[str, Any], more: str) -> str:
    """What a user has to know: data and licences, settings, training time, figures.

    Args:
        recipe: The recipe of the model.
        facts: Sources, settings, metrics, perplexities, the tables of senses, the configuration, the size in bytes.
        more: Further figures, in Markdown.
    """
    sources, config, metrics = facts["sources"], facts["config"], facts["metrics"]
    last = metrics[-1]
    columns = ("forward", "backward", "average", "average_known")
    perplexities = [
        f"| {name} | {' | '.join(f'{one[column]:.1f}' for column in columns)} | {one['unknown_share']:.1%} |"
        for name, one in facts["perplexity"].items()
    ]
    settings = "\n".join(f"- {name}: {value}" for name, value in facts["settings"]["train"].items())
    return f"""# {recipe.name}

A small ELMo (biLM) that comes with polyseme: {config.encoder.layers} layers of {config.encoder.hidden_dim:,} cells and
width {config.projection_dim} per direction, a softmax of {config.vocabulary_size:,} words. Stored as
{facts["settings"]["storage"]}, {facts["bytes"] / 1e6:.1f} MB.

```python
import polyseme

embedder = polyseme.load("{recipe.name}")
```

The text was tokenised by polyseme's `{recipe.tokenizer}` tokeniser; raw text is tokenised in the same way.

## Data
{data_section(recipe, sources)}
## Training
{last["tokens"]:,} tokens seen ({last["epoch"]:.2f} epochs), {last["update"]:,} updates, {last["elapsed"] / 3600:.1f}
hours on two cores. Other experiments are in `recipes/{recipe.name}/LOG.md`. Settings that differ from the preset:

{settings}

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


def data_section(recipe: Recipe, sources: Mapping[str, Any]) -> str:
    """Every source with its licence and its share, by kind, and what was compared and left out; in Markdown."""
    about = {source.name: source for source in recipe.sources}
    total = sources["train"]["tokens"]
    kinds: Counter[str] = Counter()
    rows, found = [], Counter[str]()
    for name, one in sources["sources"].items():
        found.update(one.get("measured sets", {}))
        tokens = one["train"]["tokens"]
        if not tokens:
            continue
        kinds[one.get("kind") or "other"] += tokens
        what, package, licence = about[name].what, one["package"], one["licence"]
        rows.append(
            f"| {what} | {one.get('kind') or 'other'} | {package} | {licence} | {tokens:,} | {tokens / total:.1%} |"
        )
    shares = ", ".join(f"{kind} {tokens / total:.0%}" for kind, tokens in kinds.most_common())
    compared = ", ".join(f"{name} {found[name]:,}" for name in sources.get("compared with", {}))
    skipped = sources.get("not compared with")
    return f"""{total:,} tokens in {sources["train"]["sentences"]:,} sentences, {sources["heldout"]["tokens"]:,}
held out. Duplicates, markup and boilerplate were removed; `recipes/{recipe.name}` makes the same text again.
By kind: {shares}.

| text | kind | package | licence | tokens | share |
|---|---|---|---|---:|---:|
{chr(10).join(rows)}

Sentences of six or more tokens that stand in a set that models are measured on were left out, and with them every
document in which they are more than one in twenty. Found in the sources: {compared or "none"}.
{f"Not compared with, as they were not there: {', '.join(skipped)}." + chr(10) if skipped else ""}
The weights are given under the licence of polyseme; the texts stay under theirs.
"""
