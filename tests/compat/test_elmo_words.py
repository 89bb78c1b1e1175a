"""`Elmo` called with words, where it takes ids."""

import pytest
from conftest import GOLDEN

from polyseme.compat.allennlp import Elmo
from polyseme.errors import InputError

MODEL = GOLDEN / "allennlp" / "two_layers"


@pytest.mark.parametrize("sentences", [[["The", "bank"]], "The bank", None])
def test_words_instead_of_ids(sentences: object) -> None:
    elmo = Elmo(MODEL / "options.json", MODEL / "weights.hdf5", 1)
    with pytest.raises(InputError, match=r"^got a \w+ where ids are expected; give elmo\(batch_to_ids\(sentences\)\)"):
        elmo(sentences)
