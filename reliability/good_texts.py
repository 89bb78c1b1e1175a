"""Small files of text, written without anything that needs torch."""

import json
from pathlib import Path


def write_jsonl(path: Path, records: list[object]) -> None:
    """One JSON value per line."""
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
