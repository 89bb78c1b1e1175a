"""Measures what letter case costs a model: the same text as it is, in lower case and in upper case.

Part of speech (UPOS): a linear classifier per layer is trained on text as it is and tested on each form of another
text. Perplexity: the model reads the text in each form and predicts the words *as they are in the original*, so that
the same words are predicted each time: those in its vocabulary, from the words before them (forward; not the first of a
sentence) or after them (backward; not the last).
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from benchmarks.figures import Figure, layer_names
from polyseme import Embedder
from polyseme.study.linear_probe import LinearProbes
from polyseme.text.labels import LabelledSentence, LabelledText

FORMS: dict[str, Callable[[str], str]] = {"as it is": str, "lower case": str.lower, "upper case": str.upper}
PART_OF_SPEECH = "Part of speech (UPOS), accuracy in percent"
PERPLEXITY = "Perplexity of the original words after text in another letter case"


def measure(embedder: Embedder, train: Path, test: Path) -> list[Figure]:
    """The figures of all forms of the test text, CoNLL-U, after the training text."""
    tested = list(LabelledText(test, "upos"))
    found = part_of_speech(embedder, list(LabelledText(train, "upos")), tested)
    if embedder.model.predicts_words:
        found += perplexity(embedder, [sentence.tokens for sentence in tested])
    return found


def part_of_speech(
    embedder: Embedder, train: Sequence[LabelledSentence], test: Sequence[LabelledSentence]
) -> list[Figure]:
    """The accuracy of every layer."""
    classes: dict[str, int] = {}
    learnt = np.array([classes.setdefault(label, len(classes)) for one in train for label in one.labels])
    wanted = np.array([classes.get(label, -1) for one in test for label in one.labels])
    vectors = np.empty((len(learnt), embedder.layers, embedder.dim), dtype=np.float16)
    end = 0
    for rows in embedder.stream(one.tokens for one in train):
        vectors[end : end + rows.shape[1]] = rows.transpose(1, 0, 2)
        end += rows.shape[1]
    probes = LinearProbes.fit(vectors, learnt, len(classes))
    found = []
    for form, change in FORMS.items():
        streamed = embedder.stream([change(token) for token in one.tokens] for one in test)
        given = np.concatenate([probes.predict(rows.transpose(1, 0, 2)) for rows in streamed], axis=1)  # (L + 1, N)
        for by, right in zip(layer_names(embedder.layers), (given == wanted).mean(axis=1), strict=True):
            found.append(Figure(PART_OF_SPEECH, form, len(wanted), by, 100 * float(right)))
    return found


def perplexity(embedder: Embedder, sentences: Sequence[Sequence[str]]) -> list[Figure]:
    """The perplexity of each direction."""
    softmax, vocabulary = embedder.model.output_layer(consequence="", advice="")
    targets = [np.array(vocabulary.lookup(sentence)) for sentence in sentences]
    found = []
    for form, change in FORMS.items():
        losses: list[list[float]] = [[], []]
        changed = ([change(token) for token in sentence] for sentence in sentences)
        for words, top in zip(targets, embedder.stream(changed, layers="top"), strict=True):
            forward, backward = np.split(top, 2, axis=1)  # (T, D / 2) each
            for some, states, next_words in (
                (losses[0], forward[:-1], words[1:]),
                (losses[1], backward[1:], words[:-1]),
            ):
                known = next_words != vocabulary.unknown
                with torch.inference_mode():
                    likely = softmax.log_probability(
                        torch.from_numpy(states[known]), torch.from_numpy(next_words[known])
                    )
                some += (-likely).tolist()
        for by, some in zip(("forward", "backward"), losses, strict=True):
            found.append(Figure(PERPLEXITY, form, len(some), by, float(np.exp(np.mean(some)))))
    return found
