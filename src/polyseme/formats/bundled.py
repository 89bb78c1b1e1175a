"""What the bundled models are, without reading their weights."""

from dataclasses import asdict, dataclass

from polyseme.files.json_file import read_record
from polyseme.files.whole import JSON
from polyseme.formats import native
from polyseme.formats.detect import BUNDLED, bundled_names
from polyseme.models.config import BiLMConfig

_LANGUAGES = {
    "en": "English",
    "zh": "Chinese",
    "ja": "Japanese",
    "th": "Thai",
    "km": "Khmer",
    "lo": "Lao",
    "my": "Burmese",
}


@dataclass(frozen=True)
class BundledModel:
    """A bundled model.

    Attributes:
        model: Its name.
        language: Of its text, by its tokeniser.
        megabytes: Of its folder.
        about: What it is, in one line.
    """

    model: str
    language: str
    megabytes: float
    about: str

    def to_dict(self) -> dict[str, JSON]:
        """The values by name."""
        return asdict(self)


def bundled_models() -> list[BundledModel]:
    """All bundled models, by name."""
    return [_described(name) for name in bundled_names()]


def _described(name: str) -> BundledModel:
    folder = BUNDLED / name
    config = read_record(folder / native.CONFIG, BiLMConfig, advice="install polyseme again")
    encoder, dim = config.encoder, 2 * config.projection_dim
    about = (
        f"ELMo with {encoder.layers} layers of {encoder.hidden_dim:,} cells, vectors of {dim} numbers, predicts "
        f"{config.vocabulary_size:,} words"
    )
    size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    return BundledModel(name, _LANGUAGES.get(config.tokenize or "", "any"), size / 1e6, about)
