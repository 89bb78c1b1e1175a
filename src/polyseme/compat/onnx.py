"""A biLM as an ONNX model, for programs and machines without torch.

::

    export(open_model("english-small"), "english-onnx")

The folder holds ``model.onnx``, the tables that its inputs are made with, and a ``README.md`` with the code that makes
them. ``polyseme convert MODEL FOLDER --to onnx`` does the same.
"""

import json
from pathlib import Path

from polyseme.errors import InputError, MissingPart
from polyseme.files.lock import locked
from polyseme.files.whole import whole_folder
from polyseme.models.encoders import LstmEncoder
from polyseme.models.model import Model
from polyseme.text.characters import ByteCharacters, UnicodeCharacters, WholeWords

try:
    import onnx

    from polyseme.compat._onnx_graph import OPSET, bilm_graph
except ModuleNotFoundError as error:
    raise MissingPart(
        "writing ONNX needs the package onnx, which is not installed; pip install 'polyseme[onnx]'"
    ) from error

_LARGEST = 1 << 30
"""Bytes of weights up to which they are in the same file: a single file of ONNX ends at 2 GiB."""


def export(model: Model, folder: str | Path) -> None:
    """Write a biLM as a new folder with an ONNX model, completely or not at all.

    The model takes ``ids`` (batch, tokens, ids per word) and ``lengths`` (batch), both int64, and gives ``layers``
    (layers, batch, tokens, dim), float32 and zero at padding. Batch and number of tokens may differ from call to call;
    sentence markers are put in by the model.

    Raises:
        InputError: The folder exists, or the model is not a biLM of LSTMs.
    """
    bilm = model.bilm
    if not isinstance(bilm.encoder, LstmEncoder):
        kind = type(bilm.encoder).__name__
        raise InputError(f"the model ({model.config.source}) has a {kind}; only biLMs of LSTMs can be written as ONNX")
    made = bilm_graph(bilm, model.indexer.boundaries)
    metadata = {"tokenize": model.segmentation.tokenizer or "none", "source": model.config.source}
    onnx.helper.set_model_props(made, {**metadata, "layers": str(bilm.layers), "dim": str(bilm.dim)})
    with locked(Path(folder)), whole_folder(Path(folder)) as target:
        large = sum(parameter.numel() * 4 for parameter in bilm.parameters()) > _LARGEST
        onnx.save(made, target / "model.onnx", save_as_external_data=large, location="weights" if large else None)
        for name, table in _tables(model).items():
            (target / name).write_text(json.dumps(table, ensure_ascii=False), encoding="utf-8")
        (target / "README.md").write_text(_readme(model), encoding="utf-8")


def _tables(model: Model) -> dict[str, dict[str, int]]:
    """The tables that ids are looked up in, by the names of their files."""
    match model.indexer:
        case UnicodeCharacters(words=None) as unicode:
            return {"characters.json": dict(unicode.characters)}
        case UnicodeCharacters() as unicode:
            return {"characters.json": dict(unicode.characters), "words.json": dict(unicode.words or {})}
        case WholeWords() as whole:
            return {"words.json": dict(whole.words)}
        case _:
            return {}


def _readme(model: Model) -> str:
    bilm, indexer = model.bilm, model.indexer
    tokenizer = model.segmentation.tokenizer
    text = f"`polyseme.load(...).tokenize` (`{tokenizer}`)" if tokenizer else "whitespace, or as the model's makers did"
    return f"""# A biLM (ELMo) in ONNX

`model.onnx` (opset {OPSET}) was written by polyseme from: {model.config.source}.
Licence and data are those of that model.

| name | type | shape | what |
|---|---|---|---|
| `ids` (input) | int64 | (batch, tokens, {indexer.width}) | the ids of each token |
| `lengths` (input) | int64 | (batch) | the tokens of each sentence |
| `layers` (output) | float32 | ({bilm.layers}, batch, tokens, {bilm.dim}) | all layers, zero at padding |

Batch and tokens may have any size. Rows of `ids` after the last token of a sentence are ignored. Sentence markers are
added by the model. Layer 0 does not know the context. Text is split into sentences and tokens by
{text}. Ids are made like this:
{_usage(model)}"""


def _usage(model: Model) -> str:
    """Code that makes the inputs and runs the model, as a block of Markdown."""
    return f"""
```python
import json
from pathlib import Path

import numpy as np
import onnxruntime

{_code(model)}

def run(session, sentences):
    ids = np.zeros((len(sentences), max(map(len, sentences)), {model.indexer.width}), dtype=np.int64)
    for row, sentence in zip(ids, sentences):
        for place, token in enumerate(sentence):
            row[place] = ids_of(token)
    lengths = np.array([len(sentence) for sentence in sentences])
    layers = session.run(None, {{"ids": ids, "lengths": lengths}})[0]
    return [layers[:, number, :length] for number, length in enumerate(lengths)]  # (layers, tokens, dim) each


session = onnxruntime.InferenceSession("model.onnx")
vectors = run(session, [["The", "river", "bank"], ["Yes"]])
```
"""


def _code(model: Model) -> str:
    """The function ``ids_of`` for one token, as text."""
    match model.indexer:
        case ByteCharacters(width=width):
            return f'''
def ids_of(token):
    """UTF-8 bytes plus one, between the markers 259 and 260, filled up with 261."""
    inner = [byte + 1 for byte in token.encode("utf-8")[: {width - 2}]]
    return [259, *inner, 260, *[261] * ({width - 2} - len(inner))]
'''
        case UnicodeCharacters() as unicode:
            size = unicode.max_characters
            words = "" if unicode.words is None else 'words = json.loads(Path("words.json").read_text("utf-8"))\n'
            first = "" if unicode.words is None else '[words.get(cut, words["<oov>"])] + '
            return f'''characters = json.loads(Path("characters.json").read_text("utf-8"))
{words}

def ids_of(token):
    """The ids of its characters between two markers, filled up{"; the id of the word comes first" if first else ""}."""
    cut = token[:{size - 2}]
    inner = [characters.get(character, characters["<oov>"]) for character in cut]
    begin, end = characters["{unicode.begin_word}"], characters["{unicode.end_word}"]
    return {first}[begin, *inner, end, *[characters["<pad>"]] * ({size - 2} - len(inner))]
'''
        case _:
            return '''words = json.loads(Path("words.json").read_text("utf-8"))


def ids_of(token):
    """The row of the word."""
    return [words.get(token, words["<UNK>"])]
'''
