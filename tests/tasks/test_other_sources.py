"""Tasks with vectors other than a biLM or a static table: a combination that was saved."""

from pathlib import Path
from typing import Any

from tasks.made import tagged
from tiny import tiny_model

from polyseme.embed.combine import combine
from polyseme.formats import native
from polyseme.tasks.task import Task


def test_a_saved_combination_serves_a_task(tmp_path: Path) -> None:
    native.write(tiny_model(), tmp_path / "bilm")
    (tmp_path / "glove.txt").write_text("the 1 0 0\nriver 0 1 0\nplay 0 0 1\nrome 1 1 0\n", encoding="utf-8")
    combine(tmp_path / "glove.txt", tmp_path / "bilm").save(tmp_path / "both")
    small: dict[str, Any] = {
        "hidden_dim": 24,
        "learning_rate": 1e-2,
        "min_count": 1,
        "batch_size": 8,
        "warmup": 0,
        "epochs": 4,
    }
    task = Task.train(
        "tag", tagged(150), tmp_path / "model", dev=tagged(40, seed=1), vectors=[tmp_path / "both"], **small
    )
    assert task.evaluate(tagged(60, seed=2)).score > 97
    assert Task.load(tmp_path / "model").losses(tagged(9)) == task.losses(tagged(9))
    assert task.learned_mixes() == []  # its layers are mixed already
