"""A spaCy component that gives every token its vector in context.

::

    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("polyseme", config={"model": "english-small", "layers": "mean"})
    doc = nlp("He sat on the bank. It was wet.")
    doc.tensor.shape, doc[4].vector  # (tokens, dim) and (dim,)
"""

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from polyseme.arrays import Vectors
from polyseme.compat._stored_source import is_bundled, store_source
from polyseme.embed.layers import LayerChoice, check_choice, parse_choice
from polyseme.embed.load import load
from polyseme.embed.source import VectorSource
from polyseme.errors import InputError, MissingPart
from polyseme.nn.choices import Precision

try:
    import srsly
    from spacy.language import Language
    from spacy.tokens import Doc, Span, Token
except ModuleNotFoundError as error:
    raise MissingPart(
        "polyseme.compat.spacy needs spaCy, which is not installed; pip install 'polyseme[spacy]'"
    ) from error

_SETTINGS, _MODEL = "settings.json", "model"


class PolysemeComponent:
    """Sets ``doc.tensor`` to the contextual vectors of the tokens, and lets tokens, spans and documents use them.

    Sentences are those of the document, if a component before this one has found them (``sentencizer``, a parser);
    otherwise the whole document is read as one. Tokens of whitespace are no words and get zeros. ``token.vector`` is
    the row of ``doc.tensor``; ``span.vector`` and ``doc.vector`` are means over words.

    The model is loaded with the first document. It is stored with the pipeline, unless it is a bundled one, of which
    the name is enough.

    Args:
        name: What the pipeline calls the component.
        model: What `polyseme.load` takes: the name of a bundled model, a folder or a file.
        layers: ``"mean"``, ``"top"`` or the number of a layer.
        precision: As in `polyseme.load`.
        hooks: Whether ``.vector`` and ``.similarity`` use the tensor through spaCy's hooks. spaCy cannot store hooks
            with a document and warns of that; without them it uses the tensor only if it has no static vectors.
    """

    def __init__(
        self,
        name: str = "polyseme",
        *,
        model: str = "english-small",
        layers: str | int = "mean",
        precision: Precision = "float32",
        hooks: bool = True,
    ) -> None:
        self.name = name
        self.model = model
        self.layers = str(layers)
        self.precision = precision
        self.hooks = hooks
        self._source: VectorSource | None = None
        if parse_choice(self.layers) == "all":
            raise InputError("a token has one vector, of one layer or mix; choose layers mean, top or a layer's number")

    @property
    def source(self) -> VectorSource:
        """What gives the vectors."""
        if self._source is None:
            source = load(self.model, precision=self.precision)
            check_choice(parse_choice(self.layers), source.layers)
            self._source = source
        return self._source

    def __call__(self, doc: Doc) -> Doc:
        """Set the vectors of a document."""
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Set the vectors of documents, as many at a time as `batch_size`."""
        from spacy.util import minibatch

        for docs in minibatch(stream, size=batch_size):
            sentences = [words for doc in docs for words in _sentences(doc)]
            arrays = iter(
                self.source.stream(([token.text for token in words] for words in sentences), layers=self._layers)
            )
            for doc in docs:
                tensor = np.zeros((len(doc), self.source.dim), dtype=np.float32)
                for words in _sentences(doc):
                    tensor[[token.i for token in words]] = next(arrays)
                doc.tensor = tensor
                if self.hooks:
                    _use_tensor(doc)
                yield doc

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Store settings and model in a folder."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        srsly.write_json(folder / _SETTINGS, self._settings())
        if not is_bundled(self.model) and "model" not in exclude:
            store_source(self.source, folder / _MODEL)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "PolysemeComponent":
        """Take settings and model from a folder."""
        folder = Path(path)
        self._take(PolysemeComponent(self.name, **srsly.read_json(folder / _SETTINGS)))
        if (folder / _MODEL).exists() and "model" not in exclude:
            self.model = str((folder / _MODEL).absolute())
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Settings and model as bytes."""
        files: dict[str, bytes] = {}
        with tempfile.TemporaryDirectory() as folder:
            self.to_disk(folder, exclude=exclude)
            for file in sorted(Path(folder).rglob("*")):
                if file.is_file():
                    files[file.relative_to(folder).as_posix()] = file.read_bytes()
        data: bytes = srsly.msgpack_dumps(files)
        return data

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "PolysemeComponent":
        """Take settings and model from bytes."""
        files: dict[str, bytes] = srsly.msgpack_loads(data)
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                target = Path(folder, name).resolve()
                if not target.is_relative_to(Path(folder).resolve()):
                    raise InputError(f"the bytes of a component name the file {name!r}, outside of its folder")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            self.from_disk(folder, exclude=exclude)
            if not is_bundled(self.model):
                assert self.source  # while its files are there
        return self

    @property
    def _layers(self) -> LayerChoice:
        return parse_choice(self.layers)

    def _settings(self) -> dict[str, str | bool]:
        return {"model": self.model, "layers": self.layers, "precision": self.precision, "hooks": self.hooks}

    def _take(self, stored: "PolysemeComponent") -> None:
        self.model, self.layers, self.precision, self.hooks = (
            stored.model,
            stored.layers,
            stored.precision,
            stored.hooks,
        )
        self._source = None


@Language.factory(  # type: ignore[untyped-decorator]
    "polyseme",
    assigns=["doc.tensor"],
    default_config={"model": "english-small", "layers": "mean", "precision": "float32", "hooks": True},
)
def make_component(
    nlp: Language, name: str, model: str, layers: str | int, precision: Precision, hooks: bool
) -> PolysemeComponent:
    """Make the component ``polyseme`` of a pipeline."""
    return PolysemeComponent(name, model=model, layers=layers, precision=precision, hooks=hooks)


def _sentences(doc: Doc) -> Iterator[list[Token]]:
    """The words of each sentence, without tokens of whitespace."""
    for sentence in doc.sents if doc.has_annotation("SENT_START") else [doc]:
        yield [token for token in sentence if not token.is_space]


def _use_tensor(doc: Doc) -> None:
    """Let ``.vector`` and all that follows from it use the tensor, even if the pipeline has static vectors."""
    doc.user_token_hooks |= {
        "vector": _token_vector,
        "has_vector": _has_vector,
        "vector_norm": _norm,
        "similarity": _similarity,
    }
    doc.user_span_hooks |= {"vector": _mean, "has_vector": _any_vector, "vector_norm": _norm, "similarity": _similarity}
    doc.user_hooks |= {"vector": _mean, "has_vector": _any_vector, "vector_norm": _norm, "similarity": _similarity}


def _token_vector(token: Token) -> Vectors:
    row: Vectors = token.doc.tensor[token.i]
    return row


def _has_vector(token: Token) -> bool:
    return not token.is_space


def _any_vector(tokens: Doc | Span) -> bool:
    return any(not token.is_space for token in tokens)


def _mean(tokens: Doc | Span) -> Vectors:
    doc = tokens if isinstance(tokens, Doc) else tokens.doc
    rows = [token.i for token in tokens if not token.is_space]
    mean: Vectors = doc.tensor[rows].mean(axis=0) if rows else np.zeros(doc.tensor.shape[1], dtype=np.float32)
    return mean


def _similarity(item: Doc | Span | Token, other: Doc | Span | Token) -> float:
    norms = item.vector_norm * other.vector_norm
    return float(item.vector @ other.vector / norms) if norms else 0.0


def _norm(item: Doc | Span | Token) -> float:
    return float(np.linalg.norm(item.vector))
