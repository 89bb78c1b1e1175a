"""The table of the tasks, and the parts that are cut out of data sets without a dev part."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.task_specs import SPECS
from benchmarks.task_table import BEGIN, END, MODELS, Run, replace_section, table


def runs(key: str, metric: str, scores: dict[str, list[float]], items: str = "") -> list[Run]:
    return [
        Run(key, model, seed, metric, score, 90.0, items.format(model))
        for model in MODELS
        for seed, score in enumerate(scores[model], 1)
    ]


def test_several_seeds_are_shown_with_their_spread_and_one_with_a_bootstrap(tmp_path: Path) -> None:
    right = {"baseline": [1.0] * 50 + [0.0] * 50, "elmo": [1.0] * 80 + [0.0] * 20}
    for model, each in right.items():
        np.save(tmp_path / f"{model}.npy", np.array([each, [1.0] * 100]).T)
    found = table(
        {
            "ner": runs("ner", "span F1", {"baseline": [80.0, 81.0, 82.0], "elmo": [84.0, 85.0, 86.0]}),
            "tag": runs("tag", "accuracy", {"baseline": [50.0], "elmo": [80.0]}, str(tmp_path / "{}.npy")),
        },
        {"classify": 40.25},
    )
    _, _, ner, tag, _, sanity = found.splitlines()
    assert ner == (
        "| `ner` | WikiANN English | span F1 | 81.0 ± 1.0 | 85.0 ± 1.0 | +4.0 | 21% | 21% | 2 |"  # 4 / 19, 2.07 / 9.85
    )
    cells = tag.split(" | ")
    assert cells[3:5] == ["50.0", "80.0"]
    assert cells[6:8] == ["60%", "-"]  # the paper has no such figure
    assert cells[5].startswith("+30.0 (+2")
    assert sanity.endswith("logistic regression has 40.2 on the same test part.")


def test_the_table_is_put_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    replace_section(page, "| new |")
    assert page.read_text(encoding="utf-8") == f"before\n{BEGIN}\n| new |\n{END}\nafter\n"
    page.write_text("nothing", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"the marks .* are not there"):
        replace_section(page, "| new |")


def test_a_tenth_of_the_articles_and_sentences_is_held_out(tmp_path: Path) -> None:
    for folder in ("squad", "srl-up-ewt", "work"):
        (tmp_path / folder).mkdir()
    with gzip.open(tmp_path / "squad/train.json.gz", "wt", encoding="utf-8") as file:
        json.dump({"version": "1.1", "data": [{"title": str(number)} for number in range(20)]}, file)
    with gzip.open(tmp_path / "srl-up-ewt/dev.conllu.gz", "wt", encoding="utf-8") as file:
        file.write("".join(f"# sentence {number}\n1\tword\n\n" for number in range(20)))
    squad = SPECS["answer"].files(tmp_path, tmp_path / "work")
    parts = [json.loads(path.read_text(encoding="utf-8"))["data"] for path in (squad.train, squad.dev)]
    assert [len(part) for part in parts] == [18, 2]
    roles = SPECS["roles"].files(tmp_path, tmp_path / "work")
    texts = [path.read_text(encoding="utf-8") for path in (roles.train, roles.dev)]
    assert [text.count("# sentence") for text in texts] == [18, 2]
    assert texts[1] == "# sentence 0\n1\tword\n\n# sentence 10\n1\tword\n\n"
