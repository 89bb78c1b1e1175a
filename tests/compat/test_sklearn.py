"""`ElmoTransformer` in scikit-learn's hands: pipelines, grids, clones and pickles."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from conftest import GOLDEN
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.utils import get_tags

from polyseme.compat.sklearn import ElmoTransformer
from polyseme.embed.load import load
from polyseme.errors import InputError
from polyseme.nn.scalar_mix import ScalarMix
from polyseme.text.dictionary import Dictionary

MODEL = GOLDEN / "many_langs" / "words_and_characters"
SENTENCES = [["The", "river", "bank"], ["I", "sat", "by", "the", "bank", "."], [], ["银行"]]


@pytest.mark.parametrize("pool", ["mean", "max"])
@pytest.mark.parametrize("layers", ["mean", "top", 0, np.int64(1), ScalarMix(3, initial_weights=[0.0, 1.0, 2.0])])
def test_lists_of_tokens_get_the_embedders_sentence_vectors(layers: Any, pool: Any) -> None:
    embedder = load(MODEL)
    choice = int(layers) if isinstance(layers, np.integer) else layers
    expected = embedder.embed_sentences(SENTENCES, layers=choice, pool=pool)
    for model in (embedder, MODEL, str(MODEL)):
        vectors = ElmoTransformer(model, layers=layers, pool=pool).fit_transform(SENTENCES)
        assert vectors.shape == (4, 16)
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(vectors, expected, atol=1e-6, rtol=0)
        assert not vectors[2].any()


@pytest.mark.parametrize(
    ("tokenize", "text", "sentences"),
    [
        ("en", "The bank can't wait. We sat.", [["The", "bank", "ca", "n't", "wait", "."], ["We", "sat", "."]]),
        ("zh", "我在银行。你在河边。", [["我", "在", "银行", "。"], ["你", "在", "河边", "。"]]),
        ("char", "我在银行。\n河", [["我", "在", "银", "行", "。"], ["河"]]),
        ("space", "The bank. \n We\u3000sat.", [["The", "bank.", "We", "sat."]]),
    ],
)
@pytest.mark.parametrize("pool", ["mean", "max"])
def test_strings_are_tokenised_and_pooled_over_all_their_sentences(
    tokenize: Any, text: str, sentences: list[list[str]], pool: Any
) -> None:
    transformer = ElmoTransformer(MODEL, layers="top", tokenize=tokenize, pool=pool)
    vectors = transformer.transform(iter([text, "", "  \n ", text]))
    tokens = np.concatenate(load(MODEL).embed(sentences, layers="top"))
    np.testing.assert_allclose(vectors[0], getattr(tokens, pool)(axis=0), atol=1e-6, rtol=0)
    np.testing.assert_array_equal(vectors[0], vectors[3])
    assert not vectors[1:3].any()


def test_strings_are_tokenised_as_the_text_of_the_model_was() -> None:
    texts = ["The bank can't wait. We sat.", "", "Yes."]
    vectors = ElmoTransformer("english-small").fit(texts).transform(texts)
    np.testing.assert_array_equal(vectors, ElmoTransformer("english-small", tokenize="en").transform(texts))
    tokens = [text.split() for text in texts]
    assert ElmoTransformer("english-small").transform(tokens).shape == vectors.shape
    with pytest.raises(InputError, match=r"^document 1 is a list, but the first is a string; give strings, or only"):
        ElmoTransformer("english-small").transform(["The bank", ["sat"]])


def test_a_table_is_not_taken_for_its_columns() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"text": ["The bank", "We sat"], "label": [0, 1]})
    with pytest.raises(InputError, match=r"^got a table where a list of documents is expected; give its column of"):
        ElmoTransformer(MODEL, tokenize="en").transform(table)
    assert ElmoTransformer(MODEL, tokenize="en").transform(table["text"]).shape == (2, 16)


def test_a_dictionary_of_ones_own() -> None:
    transformer = ElmoTransformer(MODEL, layers="top", tokenize="zh", dictionary=Dictionary(["在银"]))
    (vector,) = clone(transformer).transform(["我在银行。"])
    tokens = load(MODEL).embed([["我", "在银", "行", "。"]], layers="top")[0]
    np.testing.assert_allclose(vector, tokens.mean(axis=0), atol=1e-6, rtol=0)


def test_no_documents() -> None:
    assert ElmoTransformer(MODEL).transform([]).shape == (0, 16)


def test_parameters_are_kept_as_given_and_nothing_is_loaded_early() -> None:
    settings = {"layers": "all", "pool": "sum", "tokenize": "xx", "dictionary": "words", "device": "cpu"}
    given = {"model": Path("nowhere"), **settings}
    transformer = ElmoTransformer(**given)  # type: ignore[arg-type]
    assert transformer.get_params() == given
    assert vars(transformer) == given
    assert transformer.set_params(layers="top").layers == "top"
    copied = clone(transformer)
    assert copied.get_params() == {**given, "layers": "top"}
    assert repr(ElmoTransformer("model/", layers=1)) == "ElmoTransformer(layers=1, model='model/')"
    assert "ElmoTransformer" in transformer._repr_html_()


def test_set_params_loads_another_model() -> None:
    transformer = ElmoTransformer(MODEL).fit(SENTENCES)
    before = transformer.transform(SENTENCES)
    transformer.set_params(model=GOLDEN / "many_langs" / "characters")
    assert transformer.transform(SENTENCES).shape == (4, 12)
    transformer.set_params(model=MODEL)
    np.testing.assert_allclose(transformer.transform(SENTENCES), before, atol=1e-6)


@pytest.mark.parametrize("copy_of", [clone, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies_transform_alike(copy_of: Any) -> None:
    for model in (MODEL, load(MODEL)):
        transformer = ElmoTransformer(model, layers=1).fit(SENTENCES)
        other = copy_of(transformer)
        np.testing.assert_allclose(other.transform(SENTENCES), transformer.transform(SENTENCES), atol=1e-6)
        assert other.model is not model or model is MODEL


def test_names_of_features_and_tags() -> None:
    transformer = ElmoTransformer(MODEL)
    with pytest.raises(NotFittedError):
        transformer.get_feature_names_out()
    names = transformer.fit(SENTENCES).get_feature_names_out()
    assert names.tolist() == [f"elmotransformer{i}" for i in range(16)]
    tags = get_tags(ElmoTransformer(MODEL, tokenize="en"))
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array
    assert not tags.requires_fit
    both = FeatureUnion([("top", ElmoTransformer(MODEL, layers="top")), ("words", ElmoTransformer(MODEL, layers=0))])
    assert both.fit_transform(SENTENCES).shape == (4, 32)
    assert both.get_feature_names_out()[16] == "words__elmotransformer0"


def test_output_as_a_table() -> None:
    pandas = pytest.importorskip("pandas")
    table = ElmoTransformer(MODEL).set_output(transform="pandas").fit_transform(SENTENCES)
    assert isinstance(table, pandas.DataFrame)
    assert table.columns[0] == "elmotransformer0"


def documents() -> tuple[list[str], list[int]]:
    """Documents that differ in one word, which the token layer tells apart."""
    return [f"{'我' if i % 2 else 'The'} bank {'sat' * (1 + i // 8)}" for i in range(24)], [i % 2 for i in range(24)]


def test_in_a_pipeline_with_a_grid_a_cache_and_a_pickle(tmp_path: Path) -> None:
    texts, labels = documents()
    pipeline = Pipeline(
        [("elmo", ElmoTransformer(str(MODEL), tokenize="space")), ("classify", LogisticRegression(C=100.0))],
        memory=joblib.Memory(tmp_path / "cache", verbose=0),
    )
    grid = {"elmo__layers": ["mean", 0, np.int64(2)], "elmo__pool": ["mean", "max"], "classify__C": [1.0, 100.0]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(texts, labels)
    assert search.best_score_ == 1.0
    assert search.predict(["我 bank sat", "The bank sat"]).tolist() == [1, 0]
    joblib.dump(search.best_estimator_, tmp_path / "pipeline.joblib")
    assert (tmp_path / "pipeline.joblib").stat().st_size < 10_000  # no weights in it
    again = joblib.load(tmp_path / "pipeline.joblib")
    np.testing.assert_allclose(again.predict_proba(texts), search.predict_proba(texts), atol=1e-6)


def test_a_pipeline_of_token_lists() -> None:
    texts, labels = documents()
    pipeline = make_pipeline(ElmoTransformer(load(MODEL), layers=0), LogisticRegression(C=100.0))
    assert pipeline.fit([text.split() for text in texts], labels).score([text.split() for text in texts], labels) == 1.0


@pytest.mark.parametrize(
    ("options", "rows", "message"),
    [
        (
            {},
            ["The bank"],
            r"^got the string 'The bank', but the model does not record how its text was tokenised; give tokenize=",
        ),
        ({}, "The bank", r"^got one string where a list of documents is expected; put it into a list$"),
        ({}, [["The"], "bank"], r"^sentence 1 is the string 'bank', not a list of tokens; give a list of lists"),
        ({}, np.ones((2, 2)), r"^sentence 0, token 0 is .* not a string$"),
        ({"tokenize": "en"}, "The bank", r"^got one string where a list of documents is expected; put it into a list$"),
        (
            {"tokenize": "en"},
            ["a", ["b"]],
            r"^document 1 is a list, but tokenize='en' takes strings; give strings, or only lists of tokens and leave",
        ),
        (
            {"tokenize": "xx"},
            ["a"],
            r"^tokenize is 'xx', expected one of 'en', 'zh', 'char', 'unicode', .*'space', or None for lists",
        ),
        (
            {"layers": "all"},
            [["a"]],
            r"^one vector per document is made of one layer or mix; choose 'mean', 'top' or a layer's",
        ),
        ({"layers": 3}, [["a"]], r"^unknown layer 3; expected one of 0, 1, 2"),
        ({"pool": "sum"}, [["a"]], r"^pool is 'sum', expected 'mean' or 'max'$"),
        ({"tokenize": "en", "dictionary": Dictionary(["a"])}, ["a"], r"^a dictionary is for the tokenizer 'zh' "),
    ],
)
def test_what_is_refused(options: dict[str, Any], rows: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ElmoTransformer(MODEL, **options).fit_transform(rows)


def test_what_is_refused_of_models() -> None:
    with pytest.raises(InputError, match=r"^model is a stateful embedder, whose vectors differ each time"):
        ElmoTransformer(load(MODEL, stateful=True)).fit(SENTENCES)
    with pytest.raises(InputError, match=r"nowhere: no such file or folder"):
        ElmoTransformer("nowhere").fit(SENTENCES)


def test_without_scikit_learn_it_says_what_to_install() -> None:
    program = "import sys; sys.modules['sklearn'] = None; import polyseme.compat.sklearn"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip().endswith(
        "MissingPart: polyseme.compat.sklearn needs scikit-learn, which is not installed; "
        "pip install 'polyseme[sklearn]'"
    )
