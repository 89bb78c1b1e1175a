"""Letter-case noise: a share of the training sentences is read in lower case, in upper case or as a title.

Only what is read changes. The words to predict stay those of the text: most words in capitals are in no vocabulary, and
predicting <UNK> teaches nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyseme.train.lm.scatter import scattered
from polyseme.train.lm.text_store import END

_BOUNDS = (0.4, 0.8, 1.0)  # of the noisy sentences: up to here in lower case, in upper case, as a title


def forms_of(word: str) -> tuple[str, str, str]:
    """A word in lower case, in upper case and with a capital first letter.

    Example:
        >>> forms_of("iPhone")
        ('iphone', 'IPHONE', 'IPhone')
    """
    return word.lower(), word.upper(), word[:1].upper() + word[1:]


def add_forms(words: Sequence[str]) -> tuple[list[str], NDArray[np.int32]]:
    """The words of a text by type, with those that only noise makes of them after them.

    Returns:
        All words, and the types (types of the text, 3) of the `forms_of` each word of the text; markers stay markers.
    """
    types = {word: number for number, word in enumerate(words)}
    markers = words[: END + 1]
    forms = np.empty((len(words), 3), dtype=np.int32)
    for number, word in enumerate(words):
        # A word in angle brackets must not become a marker, nor a marker a word.
        made = (word if word in markers or form in markers else form for form in forms_of(word))
        forms[number] = [types.setdefault(form, len(types)) for form in made]
    return list(types), forms


def add_counts(counts: NDArray[np.int64], forms: NDArray[np.int32], types: int) -> NDArray[np.int64]:
    """Counts of the words of a text with those of `add_forms`: at least 1 for what noise makes of a counted word."""
    result = np.zeros(types, dtype=np.int64)
    result[: len(counts)] = counts
    made = forms[counts > 0]
    result[made] = np.maximum(result[made], 1)
    return result


def changes_anything(forms: NDArray[np.int32]) -> bool:
    """Whether some word has another form: many scripts have one case only."""
    return bool((forms != np.arange(len(forms))[:, None]).any())


@dataclass(frozen=True)
class CaseNoise:
    """Decides by seed, epoch and number of a sentence in which letters it is read.

    Args:
        forms: (types, 3) the types of each word in lower case, in upper case and as in a title.
        share: Of the sentences that are changed.
        seed: The run's.
    """

    forms: NDArray[np.int32]
    share: float
    seed: int

    def choices(self, sentences: NDArray[np.integer], epoch: int) -> NDArray[np.int64]:
        """The column of `forms` for each sentence by its number, or -1 for one that is read as it is."""
        key = int(np.random.SeedSequence([self.seed, 3, epoch]).generate_state(1, np.uint64)[0]) >> 1
        # The upper 53 bits as a number from 0 to 1, as a generator of float64 makes it.
        uniform = (scattered(sentences.astype(np.uint64), key) >> np.uint64(11)) * 2.0**-53
        column = np.searchsorted(np.array(_BOUNDS) * self.share, uniform, side="right")
        return np.where(column < len(_BOUNDS), column, -1)

    def read(self, types: NDArray[np.int32], choices: NDArray[np.int64]) -> NDArray[np.int32]:
        """What is read of the types, given the choice for the sentence of each (same shape)."""
        changed: NDArray[np.int32] = np.where(choices < 0, types, self.forms[types, choices])
        return changed
