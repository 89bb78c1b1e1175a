"""train, evaluate, score and substitutes as a person meets them."""

import gzip
import json
import math
from pathlib import Path

import pytest
from chains import Chain, write
from conftest import Command, refused

CHAIN = Chain()
MINI = (
    *("--preset", "tiny", "--filters", "1:8,2:16", "--character-dim", "4", "--hidden-dim", "16", "--layers", "1"),
    *("--projection-dim", "8", "--batch-tokens", "256", "--min-count", "1", "--epochs", "1", "--precision", "float32"),
)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    return write(tmp_path / "text.txt", CHAIN.sentences(200, seed=1))


def test_from_text_to_perplexity_scores_and_substitutes(run: Command, text: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    done = run("train", text, "-o", model, *MINI, "--json")
    assert done.code == 0
    assert "held-out perplexity: forward" in done.err
    assert "13 words to predict" in done.err
    facts = json.loads(done.out)
    assert facts["finished"]
    assert facts["heldout_perplexity"] > 1

    assert json.loads(run("info", model, "--json").out)["tokenize"] is None
    assert "The text came tokenised; other text must be tokenised in the same way." in (model / "README.md").read_text()

    measured = run("evaluate", model, text, "--json")
    figures = json.loads(measured.out)
    for row in figures["results"]:
        assert row["average"] == pytest.approx((row["forward"] + row["backward"]) / 2)
    rows = run("evaluate", model, text, "--csv").out.splitlines()
    assert rows[0] == "predictions,forward,backward,average"
    assert rows[1] == ",".join(str(value) for value in figures["results"][0].values())
    assert figures["unknown_share"] == 0
    plain = run("evaluate", model, text).out.splitlines()
    assert plain[0].split() == ["perplexity", "(full", "softmax)", "forward", "backward", "average"]
    assert plain[1].startswith("all predictions")
    assert plain[2].startswith("without <UNK>")
    assert plain[3].endswith("0.00% unknown to the vocabulary")

    line = write(tmp_path / "line.txt", [["ba", "unheard", "ce"]])
    blank = write(tmp_path / "blank.txt", [["ba"], [], ["ce"]])
    assert [json.loads(one)["tokens"] for one in run("score", model, blank, "--json").out.splitlines()] == [
        ["ba"],
        [],
        ["ce"],
    ]
    scores = json.loads(run("score", model, line, "--json").out)
    assert scores["tokens"] == ["ba", "unheard", "ce"]
    assert scores["known"] == [True, False, True]
    assert scores["forward_surprisal"][0] == pytest.approx(-scores["forward"][0] / math.log(2))
    refused(run("score", model, write(tmp_path / "empty.txt", [])), "empty.txt: no sentences; give text")
    rows = run("score", model, line, "--csv").out.splitlines()
    assert rows[0].startswith("sentence,position,token,known,forward,backward,forward_surprisal,")
    assert rows[2].startswith(f"0,1,unheard,false,{scores['forward'][1]},{scores['backward'][1]},")
    lines = run("score", model, line).out.splitlines()
    assert lines[0].split() == ["token", "forward", "bits", "backward", "bits"]
    assert lines[2].startswith("unheard *")

    found = json.loads(run("substitutes", model, "ba [ce] di", "-k", 3, "--json").out)["results"]
    assert [set(one) for one in found] == [{"word", "log_probability", "forward", "backward"}] * 3
    assert len(run("substitutes", model, "ba [ce] di", "-k", 3).out.splitlines()) == 4
    refused(run("substitutes", model, "no brackets"), "needs one word in brackets")


def test_gzip_folders_and_heldout_text(run: Command, tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    write(folder / "a.txt", CHAIN.sentences(80, seed=1))
    with gzip.open(folder / "b.txt.gz", "wt") as file:
        file.write("zebra crossing\n" * 20)
    heldout = write(tmp_path / "heldout.txt", [["zebra", "unheard"]] * 3)
    done = run("train", folder, "-o", tmp_path / "model", "--heldout", heldout, *MINI)
    assert done.code == 0
    assert "6 held-out tokens" in done.err
    assert "zebra" in (tmp_path / "model" / "vocabulary.txt").read_text().split()


def test_bad_input_is_one_line_and_leaves_nothing(run: Command, text: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    empty = write(tmp_path / "empty.txt", [])
    refused(run("train", empty, "-o", model, *MINI), "empty.txt: no sentences; give text with at least one word")
    single = write(tmp_path / "single.txt", [["just", "one"]])
    refused(run("train", single, "-o", model, *MINI), "single.txt: 1 sentence, so that nothing can be held out; give")
    refused(run("train", tmp_path / "none.txt", "-o", model, *MINI), "none.txt: no such file or folder")
    refused(run("train", "-o", model, *MINI), "no corpus given; name files or folders of text")
    refused(
        run("train", text, "-o", model, *MINI, "--softmax", "adaptive"),
        "cutoffs 4000,20000,100000 must stay below the vocabulary of 13 words; use --cutoffs 1,6",
    )
    refused(
        run("train", text, "-o", model, *MINI, "--softmax", "sampled"),
        "samples is 2,048 but the vocabulary has 13 words",
    )
    refused(
        run("train", text, "-o", model, *MINI, "--time-budget", "soon"),
        "setting time_budget: 'soon' is not a time; write 90m, 1h30m, 45s or a number of seconds",
    )
    refused(run("train", text, "-o", model, *MINI, "--learning-rate", "-1"), "setting learning_rate: should be")
    refused(
        run("train", text, "-o", model, *MINI, "--resume"),
        "model.training: no interrupted run is there, so there is nothing to resume",
    )
    refused(
        run("train", text, "-o", model, *MINI, "--layout", "rows", "--encoder", "gated-cnn"),
        "layout 'rows' carries state, which a gated-cnn has none of",
    )
    refused(run("train", text, "-o", model, *MINI, "--device", "nowhere"), "device 'nowhere' cannot be used")
    refused(run("train", text, "-o", tmp_path / "no" / "model", *MINI), "no: no such folder to write model into")
    rare = write(tmp_path / "rare.txt", [[f"word{n}"] for n in range(30)])
    refused(
        run("train", rare, "-o", model, *[*MINI, "--min-count", "3"]),
        "no word occurs 3 times or more in it, so that there is nothing to predict",
    )
    model.mkdir()
    refused(
        run("train", text, "-o", model, *MINI),
        "model: exists already; give the name of a new folder, or train it further",
    )
    model.rmdir()
    refused(run("train", text, "-o", ".", *MINI), ".: exists already; give the name of a new folder")
    refused(run("train", text, "-o", "/", *MINI), "/: exists already; give the name of a new folder")
    refused(run("train", "-o", ".", "--resume"), ".: exists already; give the name of a new folder, or with --resume")
    refused(run("train", text, "-o", model, *MINI, "--filters", "0:32"), "setting filters: should be at least 1")
    refused(
        run("train", text, "-o", model, *MINI, "--layout", "rows", "--accumulate", 5000),
        "tokens cannot be divided into 5000 rows; use layout sentences",
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.txt", "rare.txt", "single.txt", "text.txt"]


def test_a_line_of_a_million_characters(run: Command, tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("ba " * 150_000 + "x" * 550_000 + "\n" + "ba ce\n" * 40)
    done = run("train", path, "-o", tmp_path / "model", *MINI, "--updates", 3)
    assert done.code == 0, done.err


def test_an_evaluated_model_must_have_a_softmax(run: Command, golden: Path, text: Path) -> None:
    refused(run("evaluate", golden / "allennlp" / "two_layers", text), "has no softmax, so it has no perplexity; give")
    refused(run("evaluate", "english-small", text, "--device", "toaster"), "device 'toaster' cannot be used")


def test_every_setting_is_an_option_described_beside_its_field(run: Command) -> None:
    from polyseme.train.lm.settings import GROUPS, LmSettings

    assert sorted(name for names in GROUPS.values() for name in names) == sorted(LmSettings.model_fields)
    shown = run("train", "--help").out
    places = [shown.index(f" {group} ─") for group in GROUPS]
    assert places == sorted(places)
    for name, field in LmSettings.model_fields.items():
        assert field.description, name
        assert "--" + name.replace("_", "-") in shown


def test_the_model_says_how_its_text_was_cut(run: Command, tmp_path: Path) -> None:
    text, model = tmp_path / "raw.txt", tmp_path / "model"
    text.write_text("He can't see the river bank. It's late! " * 40)
    run("train", text, "-o", model, *MINI, "--tokenize", "en")
    assert json.loads(run("info", model, "--json").out)["tokenize"] == "en"
    assert "The text was tokenised by `--tokenize en`;" in (model / "README.md").read_text()
    whole = run("substitutes", model, "It's [late]!", "--json").out
    assert whole == run("substitutes", model, "It's [late]!", "--tokenize", "en", "--json").out
    assert whole != run("substitutes", model, "It's[late]!", "--tokenize", "char", "--json").out
    told = "polyseme: the text is tokenised by --tokenize en, as the model's text was\n"
    assert run("evaluate", model, text).err == told
    assert run("evaluate", model, text, "--tokenize", "en").err == ""
    differs = ", but the model's text was tokenised by --tokenize en\n"
    for other in ("none", "char"):
        assert run("evaluate", model, text, "--tokenize", other).err.endswith(differs)
    run("train", text, "-o", tmp_path / "further", "--from", model, "--epochs", 1, "--tokenize", "char")
    assert json.loads(run("info", tmp_path / "further", "--json").out)["tokenize"] == "char"
