"""The code of docs/integrations.md runs and prints what its comments say."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "integrations.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("code", BLOCKS, ids=["spacy", "sentence-transformers", "scikit-learn", "onnx"])
def test_code_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    assert capsys.readouterr().out.split("\n")[:-1] == re.findall(r"print.*  # (.*)", code)
