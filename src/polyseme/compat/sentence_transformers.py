"""ELMo as the first module of a SentenceTransformer.

::

    model = SentenceTransformer(modules=[ElmoModule("english-small")])  # the mean over tokens
    model.encode(["He sat on the bank.", "The bank lends money."])

Other modules can follow: ``Pooling(module.get_embedding_dimension(), "max")``, ``Normalize()``, ``Dense(...)``.

Shapes: B texts, S sentences of all of them, T tokens of the longest text, D dim.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import torch
from torch import Tensor

from polyseme.errors import InputError, MissingPart
from polyseme.files.whole import write_json
from polyseme.formats import native
from polyseme.formats.detect import open_model
from polyseme.models.elmo import Elmo
from polyseme.models.model import Model, ModelPath
from polyseme.text.choices import TokenizerChoice
from polyseme.text.segmentation import check_choice, resolve

try:
    from sentence_transformers.base.modules import InputModule
except ModuleNotFoundError as error:
    raise MissingPart(
        "polyseme.compat.sentence_transformers needs sentence-transformers, which is not installed; "
        "pip install 'polyseme[sentence-transformers]'"
    ) from error

_MODEL, _SETTINGS = "elmo", "elmo_module.json"


class ElmoModule(InputModule):  # type: ignore[misc]
    """Gives the tokens of texts their vectors in context, and each text the mean of its tokens.

    A text is cut into sentences and tokens as the model's text was, and each sentence is read by itself. Layers are
    mixed by weights that are learnt if the SentenceTransformer is trained: at first their mean, or the mix that was
    saved with the model.

    Args:
        model: What `polyseme.load` takes for a biLM, or a model that is open.
        tokenize: How texts are tokenised; ``"auto"`` as the model's text was.
        requires_grad: Whether the biLM learns too when the SentenceTransformer is trained.
    """

    save_in_root = True

    def __init__(
        self, model: ModelPath | Model, *, tokenize: TokenizerChoice = "auto", requires_grad: bool = False
    ) -> None:
        super().__init__()
        opened = model if isinstance(model, Model) else open_model(model)
        self.tokenize_by, self.requires_grad = check_choice(tokenize), requires_grad
        self.elmo = Elmo(opened.without_softmax(), mixes=opened.mixes or 1, requires_grad=requires_grad, dropout=0.0)
        self._segmentation, _ = resolve(self.tokenize_by, None, opened.segmentation, str)

    @property
    def modalities(self) -> list[str]:
        """What can be embedded."""
        return ["text"]

    def preprocess(self, inputs: Sequence[str], prompt: str | None = None, **_: object) -> dict[str, Tensor]:
        """Texts to the ids of their sentences, (S, T', W), and the number of sentences in each text, (B,)."""
        if other := next((text for text in inputs if not isinstance(text, str)), None):
            raise InputError(f"got {other!r:.60} ({type(other).__name__}) where a text is expected; give strings")
        texts = [self._segmentation.sentences(f"{prompt or ''}{text}") for text in inputs]
        counts = torch.tensor([len(sentences) for sentences in texts])
        return {"elmo_ids": self.elmo.ids([tokens for sentences in texts for tokens in sentences]), "sentences": counts}

    def tokenize(self, texts: Sequence[str], **_: object) -> dict[str, Tensor]:
        """As `preprocess`, under its older name."""
        return self.preprocess(texts)

    def forward(self, features: dict[str, Tensor], **_: object) -> dict[str, Tensor]:
        """Add ``token_embeddings`` (B, T, D), ``attention_mask`` (B, T) and ``sentence_embedding`` (B, D)."""
        output = self.elmo(features["elmo_ids"])
        rows = [vectors[mask] for vectors, mask in zip(output.vectors[0], output.mask, strict=True)]
        texts: list[Tensor] = []
        for count in features["sentences"].tolist():
            empty = output.vectors[0].new_zeros(0, self.elmo.dim)
            texts.append(torch.cat([empty, *rows[:count]]))
            del rows[:count]
        tokens = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True)  # (B, T, D)
        lengths = torch.tensor([len(text) for text in texts], device=tokens.device)  # (B,)
        features["token_embeddings"] = tokens
        features["attention_mask"] = (torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]).long()
        features["sentence_embedding"] = tokens.sum(dim=1) / lengths.clamp(min=1)[:, None]
        return features

    def get_embedding_dimension(self) -> int:
        """The length of a vector."""
        return self.elmo.dim

    get_word_embedding_dimension = get_sentence_embedding_dimension = get_embedding_dimension

    def save(self, output_path: str, *_: object, **__: object) -> None:
        """Store the biLM with its mix, and the settings."""
        folder = Path(output_path)
        native.write(self.elmo.as_model(), folder / _MODEL)
        write_json(folder / _SETTINGS, {"tokenize": self.tokenize_by, "requires_grad": self.requires_grad})

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **_: object) -> Self:
        """Open what `save` stored; the folder must be on this machine."""
        folder = Path(model_name_or_path, subfolder)
        return cls(folder / _MODEL, **json.loads((folder / _SETTINGS).read_text("utf-8")))
