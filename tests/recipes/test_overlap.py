import gzip
import json
from pathlib import Path

import pytest

from recipes.overlap import Measured, key, load_measured

SENTENCES = {
    "ud-ewt": "The first cat sat on the mat .",
    "srl-up-ewt": "The second cat sat on the mat .",
    "ner-wikiann": "The third cat sat on the mat .",
    "coref-ontogum": "The fourth cat sat on the mat .",
    "sst": "The fifth cat sat on the mat .",
    "nli-sick": "The sixth cat sat on the mat .",
    "squad": "The seventh cat sat on the mat .",
    "wsd semcor": "The eighth cat sat on the mat .",
    "wsd senseval-2": "The ninth cat sat on the mat .",
    "wikitext-2-valid": "The tenth cat sat on the mat .",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Every measured set with one sentence, in the set's own format."""

    def put(name: str, text: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())

    of = SENTENCES
    put("ud-ewt/dev.conllu.gz", f"# sent_id = 1\n# text = {of['ud-ewt']}\n1\tThe\tthe\n\n")
    put("srl-up-ewt/dev.conllu.gz", f"# text = {of['srl-up-ewt']}\n1\tThe\tthe\n\n")
    put("ner-wikiann-en/dev.conll.gz", "".join(f"en:{word}\tO\n" for word in of["ner-wikiann"].split()) + "\n")
    rows = "".join(f"{n}\t{word}\t_\n" for n, word in enumerate(f"Cats sleep . {of['coref-ontogum']}".split()))
    put("coref-ontogum/dev.conll.gz", f"# begin document cats\n{rows}# end document\n\n")
    put("sst/dev.txt", f"(2 {' '.join(f'(2 {word})' for word in of['sst'].split())})\n")
    put("nli-sick/SICK_train.txt", f"pair_ID\tsentence_A\tsentence_B\tlabel\n1\tA dog.\t{of['nli-sick']}\tX\n")
    paragraph = {"context": f"Short. {of['squad']}", "qas": [{"question": "Which of the cats sat on it?"}]}
    put("squad/dev.json.gz", json.dumps({"data": [{"paragraphs": [paragraph]}]}))
    put("wsd/semcor.jsonl.gz", json.dumps({"tokens": of["wsd semcor"].split()}) + "\n")
    put("wsd/senseval2.jsonl.gz", json.dumps({"tokens": of["wsd senseval-2"].split()}) + "\n")
    put("wikitext-2-raw/valid.raw.gz", f" = Cats = \n {of['wikitext-2-valid']} \n")
    return tmp_path


def test_a_sentence_is_known_by_its_letters_and_digits() -> None:
    assert key("It 's  a Dog !") == key("it's a dog")
    assert key("-LRB- a dog -RRB-") == key("(a dog)")
    assert key("a dog") != key("a dig")
    assert key("他 来 了 。") == key("他来了")


def test_every_measured_set_is_read_in_its_own_format(folder: Path) -> None:
    measured, missing = load_measured("en", folder)
    assert missing == []
    assert {name: measured.find(sentence.lower()) for name, sentence in SENTENCES.items()} == {
        name: (name,) for name in SENTENCES
    }
    assert measured.find("which of the cats sat on it ?") == ("squad",)
    assert measured.find("the eleventh cat sat on the mat .") == ()
    # The sense sets are part of the project.
    assert measured.find("The trees turn green in the spring .") == ("sense_sentences",)


def test_a_set_that_is_not_there_is_named(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (folder / "sst/dev.txt").unlink()
    assert load_measured("en", folder)[1] == ["sst"]
    assert set(load_measured("en", tmp_path_factory.mktemp("empty"))[1]) == set(SENTENCES)
    assert load_measured("zh", tmp_path_factory.mktemp("nothing"))[1] == []


def test_short_sentences_are_nobodys() -> None:
    measured = Measured()
    measured.add("talk", ["How are you, Tom?", "How are you doing, Tom?", "- - - - - -"], "en")
    assert measured.find("* * * * * *") == ()
    assert measured.find("How are you , Tom") == ()
    assert measured.find("How are you doing , Tom ?") == ("talk",)
