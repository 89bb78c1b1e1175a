"""What is asked about words and sentences beside their vectors: scores, substitutes, searches, senses, predictions."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from polyseme.embed.embedder import Embedder
from polyseme.embed.inputs import tokens_and_position
from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.serve.parts import Parts, Predictor
from polyseme.serve.refusal import Refusal
from polyseme.serve.requests import (
    NearestRequest,
    PredictRequest,
    SensesRequest,
    SimilarRequest,
    SubstitutesRequest,
)
from polyseme.study.sense_induction import induce_senses
from polyseme.study.token_scores import token_scores
from polyseme.tasks.examples import Example
from polyseme.tasks.writers.records import to_record

Record = dict[str, JSON]
Groups = Sequence[Sequence[Sequence[str]]]
"""The sentences of each text."""


def tokens(groups: Groups) -> Record:
    """The tokens of each sentence of each text."""
    return {"data": [{"index": i, "sentences": [[*s] for s in some]} for i, some in enumerate(groups)]}


def score(parts: Parts, groups: Groups) -> Record:
    """How likely each token of each sentence of each text is."""
    model = _language_model(parts)
    scored = token_scores(model, [sentence for some in groups for sentence in some])
    return {"data": [{"index": i, "sentences": [next(scored) for _ in some]} for i, some in enumerate(groups)]}


def substitutes(parts: Parts, asked: SubstitutesRequest) -> Record:
    """Words that would fit."""
    model = _language_model(parts)
    sentence, position = tokens_and_position(asked.sentence, asked.position, parts.segmentation)
    found = model.substitutes(sentence, position, k=asked.k)
    return {"sentence": [*sentence], "position": position, "data": [one.to_dict() for one in found]}


def nearest(parts: Parts, asked: NearestRequest) -> Record:
    """Occurrences of the index that mean the same."""
    index = _index(parts)
    sentence, position = tokens_and_position(asked.sentence, asked.position, index.segmentation)
    found = index.nearest(
        sentence,
        position,
        k=asked.k,
        words=asked.words,
        group=asked.group,
        document=asked.document,
        label=asked.label,
        exact=asked.exact,
        whiten=asked.whiten,
    )
    return {"sentence": [*sentence], "position": position, "data": [one.to_dict() for one in found]}


def similar(parts: Parts, asked: SimilarRequest) -> Record:
    """Words that are like a word."""
    if asked.by == "contexts" or (asked.by is None and parts.index is not None):
        found = _index(parts).similar(asked.word, k=asked.k, least=asked.least)
        return {"word": asked.word, "by": "contexts", "data": [one.to_dict() for one in found]}
    near = parts.words.nearest(asked.word, asked.k)
    data: list[JSON] = [{"word": word, "similarity": float(similarity)} for word, similarity in near]
    return {"word": asked.word, "by": "model", "data": data}


def senses(parts: Parts, asked: SensesRequest) -> Record:
    """The senses that a word has in the index."""
    found = induce_senses(_index(parts), asked.word, senses=asked.senses, examples=asked.k, whiten=asked.whiten)
    return found.to_dict()


def predict(parts: Parts, asked: PredictRequest) -> Record:
    """What the task says: a list of answers for each text or list of tokens, or one answer for each example."""
    task = parts.task
    if task is None:
        raise Refusal(409, "no_task", "this server has no task; start it with --task TASK")
    if (asked.input is None) == (asked.examples is None):
        raise Refusal(422, "invalid_request", "give either input or examples")
    if asked.examples is not None:
        answers = [[one] for one in _of_examples(task, asked.examples)]
    else:
        answers = [task.predict(one if isinstance(one, str) else [one]) for one in asked.input or ()]
    data: list[JSON] = [{"index": i, "predictions": [to_record(one) for one in s]} for i, s in enumerate(answers)]
    return {"task": task.name, "data": data}


def _of_examples(task: Predictor, examples: Sequence[dict[str, object]]) -> list[Example]:
    """The answers to examples, which the task reads as it reads those of a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "examples.jsonl"
        path.write_text("".join(f"{json.dumps(one)}\n" for one in examples), encoding="utf-8")
        try:
            found = task.predict(path)
        except InputError as error:
            raise InputError(str(error).replace(str(path), "examples")) from None
    if len(found) != len(examples):
        raise InputError(f"{len(examples) - len(found)} of the examples have no tokens; leave them out")
    return found


def _language_model(parts: Parts) -> Embedder:
    if parts.model is None:
        raise Refusal(409, "missing_part", f"{parts.name} is no language model; serve a model with a softmax")
    return parts.model


def _index(parts: Parts) -> OccurrenceIndex:
    if parts.index is None:
        raise Refusal(409, "no_index", "this server has no index; start it with --index INDEX")
    return parts.index
