"""The package as a whole: its public names, and that every module imports without optional parts."""

import pkgutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

import polyseme

WITHOUT_A_SERVER = [f"polyseme.serve.{name}" for name in ("limits", "parts", "requests", "settings", "studies")]


def test_public_names() -> None:
    names = [
        "BiLM",
        "Cove",
        "Elmo",
        "Embedder",
        "OccurrenceIndex",
        "ScalarMix",
        "StaticVectors",
        "Task",
        "batch_to_ids",
        "combine",
        "load",
        "train",
    ]
    assert polyseme.__all__ == names
    for name in polyseme.__all__:
        assert getattr(polyseme, name).__name__.split(".")[-1] == name
        assert name in dir(polyseme)
    with pytest.raises(AttributeError, match="has no attribute 'embed_all'; it offers BiLM, Cove"):
        _ = polyseme.embed_all


def test_types_are_offered() -> None:
    """Type checkers look at a package's annotations only if it holds this file (PEP 561)."""
    assert files(polyseme).joinpath("py.typed").is_file()


PLUGGED_INTO = ("_onnx_graph", "onnx", "sentence_transformers", "spacy")
"""Modules of compat that are no use without the library that they are for."""


def test_every_module_imports_without_the_optional_packages(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The bank.", encoding="utf-8")
    modules = [
        module.name
        for module in pkgutil.walk_packages(polyseme.__path__, "polyseme.")
        if module.name not in ("polyseme.__main__", "polyseme.compat.sklearn")
        and (not module.name.startswith("polyseme.serve.") or module.name in WITHOUT_A_SERVER)
        and not module.name.startswith(
            ("polyseme.embed.writers.parquet", "polyseme.index.postgres.", "polyseme.scale.")
        )
        and module.name.removeprefix("polyseme.compat.") not in PLUGGED_INTO
    ]
    assert len(modules) > 40
    script = (
        "import sys, importlib\n"
        "absent = ('pyarrow', 'sklearn', 'matplotlib', 'faiss', 'sacrebleu', 'fastapi', 'orjson', 'psycopg', 'onnx',\n"
        "    'sentence_transformers', 'spacy', 'ray', 'openTSNE')\n"
        "for name in absent: sys.modules[name] = None\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        "from polyseme.errors import MissingPart\n"
        "try: import polyseme.compat.sklearn\n"
        "except MissingPart as error: assert \"pip install 'polyseme[sklearn]'\" in str(error), error\n"
        "else: raise SystemExit('imported without scikit-learn')\n"
        "try: import polyseme.serve.process\n"
        "except MissingPart as error: assert \"pip install 'polyseme[serve]'\" in str(error), error\n"
        "else: raise SystemExit('imported without FastAPI')\n"
        "from polyseme.index.occurrence_index import OccurrenceIndex\n"
        "try: OccurrenceIndex('postgresql://host/words')\n"
        "except MissingPart as error: assert \"pip install 'polyseme[postgres]'\" in str(error), error\n"
        "else: raise SystemExit('opened without psycopg')\n"
        "try: from polyseme.scale import EmbedJob\n"
        "except MissingPart as error: assert \"pip install 'polyseme[scale]'\" in str(error), error\n"
        "else: raise SystemExit('imported without Ray')\n"
        "sys.argv = ['polyseme', 'embed', 'a.txt', '-m', 'english-small', '-o', 'a.npz']\n"
        "from polyseme.cli.main import main; main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.npz").exists()
