"""The choices for tasks, each defined once."""

from typing import Literal, get_args

TaskName = Literal["classify", "tag", "ner", "entail", "answer", "roles", "coref"]
"""What is predicted: the class of a text, a tag or an entity for each token, whether a sentence follows from another,
the answer to a question in a passage, the arguments of a predicate, mentions of the same thing."""
TASKS: tuple[TaskName, ...] = get_args(TaskName)

FormatName = Literal[
    "conll",
    "wikiann",
    "conllu",
    "sst",
    "snli",
    "sick",
    "squad",
    "conll2012",
    "up",
    "coref",
    "csv",
    "tsv",
    "jsonl",
    "text",
]
"""How the file of a task's data is written; ``text`` is raw and has no answers."""
FORMAT_NAMES: tuple[FormatName, ...] = get_args(FormatName)

HeadSpans = Literal["heads", "subtree"]
"""What an argument is where only its head word is marked: the ``heads`` themselves, or the ``subtree`` of each."""

VectorPlace = Literal["input", "output", "both"]
"""Where a task model reads contextual vectors: beside its word vectors, after its own encoder, or at both places."""

VectorLayers = Literal["all", "top"]
"""A learned mix of all layers, or the top layer alone."""

CompareTable = Literal["layers", "places", "vectors", "tuning", "curve"]
"""``layers``: none, top, all. ``places``: input, output, both. ``vectors``: every combination of the sources.
``tuning``: frozen or fine-tuned. ``curve``: parts of the training data, with contextual vectors and without."""
COMPARE_TABLES: tuple[CompareTable, ...] = get_args(CompareTable)
