"""What the `ElmoEmbedder` of AllenNLP 0.9.0 gives, its code running over the modules of 2.10.1."""

import json
import logging
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import allennlp.common.util
import numpy as np
from allennlp.common.checks import ConfigurationError

Batch = list[list[str]]

LINES = ["We sat on the bank .", "The bank was closed", "Yes", "The bank was closed", "9:30 and/or never"]
LOGGER = "allennlp.commands.elmo"


def load(wheel: Path) -> ModuleType:
    """Run `allennlp/commands/elmo.py` out of the old wheel."""
    # It moved to another module in 2.x, and only the command line calls it.
    allennlp.common.util.prepare_global_logging = None
    source = zipfile.ZipFile(wheel).read("allennlp/commands/elmo.py")
    module = ModuleType(LOGGER)
    exec(compile(source, "allennlp/commands/elmo.py", "exec"), vars(module))
    return module


def error_of(call: Any, *args: Any, **options: Any) -> str:
    """The text of the error that a call ends with."""
    try:
        call(*args, **options)
    except ConfigurationError as error:
        return str(error.message)
    raise AssertionError("no error came")


class Warnings(logging.Handler):
    """Keeps the warnings that are logged."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one."""
        self.texts.append(record.getMessage())


def arrays(wheel: Path, model: Path, folder: Path, batches: list[Batch]) -> dict[str, Any]:
    """Return what the methods return; write what `embed_file` writes, and the messages, into a folder."""
    old = load(wheel)
    warnings = Warnings()
    logging.getLogger(LOGGER).addHandler(warnings)

    def fresh() -> Any:
        return old.ElmoEmbedder(str(model / "options.json"), str(model / "weights.hdf5"))

    out: dict[str, Any] = {}
    embedder = fresh()
    for call in (1, 2):
        out[f"embed_sentence/call{call}"] = embedder.embed_sentence(batches[0][0])
    out["embed_sentence/empty"] = fresh().embed_sentence([])
    for i, array in enumerate(fresh().embed_batch(batches[0])):
        out[f"embed_batch/sentence{i}"] = array
    with_empty = [*batches[0], [], *batches[1]]
    for i, array in enumerate(fresh().embed_sentences(with_empty, batch_size=3)):
        out[f"embed_sentences/sentence{i}"] = array

    folder.mkdir(exist_ok=True)
    lines, blank = folder / "lines.txt", folder / "blank.txt"
    lines.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    for output_format in ("all", "top", "average"):
        fresh().embed_file(lines.open(), str(folder / f"{output_format}.hdf5"), output_format, batch_size=2)
    fresh().embed_file(lines.open(), str(folder / "forget.hdf5"), "top", forget_sentences=True, batch_size=2)

    no_doubles, keys = folder / "no_doubles.txt", folder / "sentence_keys.hdf5"
    no_doubles.write_text("".join(f"{line}\n" for line in dict.fromkeys(LINES)), encoding="utf-8")
    fresh().embed_file(no_doubles.open(), str(keys), "top", use_sentence_keys=True, batch_size=2)
    blank.write_text("one\n\n  \ntwo\n", encoding="utf-8")
    spoilt = folder / "spoilt.hdf5"
    messages = {
        "blank lines": error_of(fresh().embed_file, blank.open(), str(spoilt)),
        "duplicate sentence": error_of(
            fresh().embed_file, lines.open(), str(spoilt), use_sentence_keys=True, batch_size=2
        ).replace(str(spoilt), "OUTPUT"),
        "warnings": sorted(set(warnings.texts)),
    }
    spoilt.unlink()
    blank.unlink()
    (folder / "messages.json").write_text(json.dumps(messages, indent=2) + "\n", encoding="utf-8")
    return {name: np.asarray(array) for name, array in out.items()}
