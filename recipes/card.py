"""Writes the model card of a finished model."""

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
    about = {source.name: source for source in recipe.sources}
    rows = [
        f"| {about[name].what} | {one['package']} | {one['licence']} | {one['train']['tokens']:,} |"
        for name, one in sources["sources"].items()
    ]
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
{sources["train"]["tokens"]:,} tokens in {sources["train"]["sentences"]:,} sentences, {sources["heldout"]["tokens"]:,}
held out. Duplicates, markup and boilerplate were removed; `recipes/{recipe.name}` makes the same text again.

| text | package | licence | tokens |
|---|---|---|---:|
{chr(10).join(rows)}

The weights are given under the licence of polyseme; the texts stay under theirs.

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
