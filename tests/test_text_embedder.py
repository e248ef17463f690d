"""Vectors of texts in Python, and their prompts: applied, written, served, trained."""

import enum
import functools
import json
import pickle
import types

import numpy as np
import pytest

import albert_tf
from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.models.text_embedding import AlbertForTextEmbedding
from albert_tf.prompts import check_settings
from albert_tf.prompts import chosen_prompt
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.similarity import search
from albert_tf.tasks.tables import Table
from albert_tf.tokenization import load_tokenizer
from tests.serving.served import ask
from tests.serving.served import serving

_PROMPTS = {"query": "a film : ", "passage": "the plot was ", "none": ""}
_TEXTS = ["good", "it is not a very bad film", "", "good good good good good good good"]
_SETTINGS = "config_sentence_transformers.json"
_LENGTH = 12


@pytest.fixture
def embedder(saved_model):
    return albert_tf.TextEmbedder(saved_model("encoder"))


@pytest.mark.slow
def test_vectors(embedder, saved_model):
    directory = saved_model("encoder")
    model = AlbertForTextEmbedding.from_pretrained(directory)
    expected = model(embedder.tokenizer(_TEXTS)).numpy()
    found = embedder.encode(_TEXTS, batch_size=3)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(embedder.encode(_TEXTS[1]), expected[1], atol=1e-6)
    copy = pickle.loads(pickle.dumps(embedder))
    np.testing.assert_array_equal(copy.encode(_TEXTS, batch_size=3), found)
    both = embedder.encode(_TEXTS[:2], _TEXTS[2:])
    pairs = model(embedder.tokenizer(_TEXTS[:2], _TEXTS[2:])).numpy()
    np.testing.assert_allclose(both, pairs, atol=1e-6)
    first = embedder.encode(_TEXTS, dimensions=5)
    np.testing.assert_allclose(first, found[:, :5], atol=1e-6)
    unit = albert_tf.TextEmbedder(directory, normalize=True, max_seq_length=5)
    short = unit.encode(_TEXTS, dimensions=5)
    np.testing.assert_allclose(np.linalg.norm(short, axis=1), 1, atol=1e-6)
    longer, cut = unit.encode("the film is bad"), unit.encode("the film is")
    np.testing.assert_allclose(longer, cut, atol=1e-6)
    assert embedder.encode([]).shape == (0, 32)
    assert embedder.encode([], dimensions=5).shape == (0, 5)


@pytest.mark.slow
def test_similarity_and_search(embedder, monkeypatch):
    vectors = embedder.encode(_TEXTS)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit[:2] @ unit.T
    found = embedder.similarity(_TEXTS[:2], _TEXTS)
    np.testing.assert_allclose(found, cosines, atol=1e-5)
    np.testing.assert_allclose(embedder.similarity(vectors[:2], vectors), found, 1e-5)
    assert embedder.similarity("good", "good") == pytest.approx(1)
    monkeypatch.setattr(search, "BLOCK", 3)
    for corpus in (_TEXTS, iter(_TEXTS), vectors):
        answers = embedder.search(_TEXTS[:2], corpus, k=3)
        places = [[answer["index"] for answer in row] for row in answers]
        order = np.argsort(-cosines, axis=1)[:, :3]
        np.testing.assert_array_equal(places, order)
    best = embedder.search("good", _TEXTS, k=9)
    assert (len(best), best[0]["index"]) == (4, 0)
    assert best[0]["similarity"] == pytest.approx(1)
    assert embedder.search("good", []) == embedder.search([], _TEXTS) == []


@pytest.mark.slow
def test_pairs_are_learned_and_kept(embedder, tmp_path):
    pairs = [("the film", "it is the film"), ("a plot", "plot is bad"), ("one", "very")]

    def margin():
        """Returns how much closer a text is to its own partner than to others."""
        cosines = embedder.similarity(*map(list, zip(*pairs, strict=True)))
        return np.trace(cosines) / 3 - (cosines.sum() - np.trace(cosines)) / 6

    before = margin()
    sizes = {"epochs": 40, "batch_size": 3, "learning_rate": 5e-3}
    history = embedder.fit(pairs, dimensions=(4, 32), verbose=0, **sizes)
    losses = history.history["loss"]
    assert losses[-1] < losses[0] / 2
    assert margin() > before + 0.3
    embedder.save_pretrained(tmp_path)
    info = json.loads((tmp_path / "training_info.json").read_text())
    assert info["task"]["dimensions"] == [4, 32]
    assert info["max_seq_length"] == 32
    again = albert_tf.TextEmbedder(tmp_path)
    expected = embedder.encode(_TEXTS)
    np.testing.assert_allclose(again.encode(_TEXTS), expected, atol=1e-6)


@pytest.mark.slow
def test_scores_are_learned(embedder):
    texts, others = ["good", "the film", "one"], ["very bad", "a plot", "not it"]
    scores = [0.9, 0.2, 0.4]
    pairs = list(zip(texts, others, strict=True))
    embedder.fit(pairs, scores, epochs=40, learning_rate=1e-2, verbose=0)
    assert embedder.evaluate(texts, others, scores)["spearman"] == 1


def test_what_the_model_cannot(embedder, saved_model):
    model = functools.partial(albert_tf.TextEmbedder, saved_model("encoder"))
    fit, pair = embedder.fit, ("a", "b")
    assert [embedder.encode("a", dimensions=n).shape for n in (1, 32)] == [(1,), (32,)]
    for call, message in (
        (lambda: fit([pair, ("a",)]), "pairs has rows of 1 and 2 texts; each must be"),
        (lambda: fit([pair], [1, 0]), "There are 1 pairs, but 2 scores"),
        (lambda: fit([pair], temperature=0), "temperature is 0, expected above 0"),
        (lambda: embedder.encode("a", dimensions=33), "dimensions=33: expected 1 to"),
        (lambda: embedder.encode("a", dimensions=0), "dimensions=0: expected 1 to 32"),
        (lambda: embedder.rank("good", _TEXTS, k=-1), "k=-1: expected at least 1"),
        (lambda: model(max_seq_length=33), "max_seq_length=33: expected 5 to 32"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.fixture(scope="module")
def directory(saved_model, family_tokenizer, tmp_path_factory):
    """Makes a directory as sentence-transformers writes it, with a default prompt."""

    def make(family="albert", include_prompt=True, default="query"):
        folder = tmp_path_factory.mktemp("theirs")
        source = bundle.open(saved_model("encoder", family))
        model = source.model(registry.model_for("similarity", source.family))
        model.saved_task_info = {"max_seq_length": _LENGTH}
        model.save_pretrained(folder, family_tokenizer(family), format="huggingface")
        (folder / "SHA256SUMS").unlink()
        settings = {
            "__version__": {"sentence_transformers": "5.1.0"},
            "model_type": "SentenceTransformer",
            "prompts": _PROMPTS,
            "default_prompt_name": default,
            "similarity_fn_name": "cosine",
        }
        (folder / _SETTINGS).write_text(json.dumps(settings))
        path = folder / "1_Pooling" / "config.json"
        pooling = {**json.loads(path.read_text()), "include_prompt": include_prompt}
        path.write_text(json.dumps(pooling))
        return folder

    return make


def by_their_rule(folder, prompt, include_prompt=False):
    """Computes the vectors of sentence-transformers with NumPy, one by one.

    The prompt's tokens are those of a row of it alone, but for the last special token.
    """
    opened, tokenizer = bundle.open(folder), load_tokenizer(folder)
    encoder = opened.model(registry.model_for("encoder", opened.family))
    alone = tokenizer([prompt.strip()], max_length=_LENGTH)["input_ids"][0]
    first = 0 if include_prompt or not prompt else len(alone) - 1
    vectors = []
    for text in _TEXTS:
        features = tokenizer([prompt + text], max_length=_LENGTH)
        [hidden] = np.array(encoder(features)["sequence_output"])
        vectors.append(hidden[first:].mean(0))
    return np.stack(vectors)


# What is asked for, and the prompt that it means.
_ASKED = [
    ({}, _PROMPTS["query"]),
    ({"prompt_name": "passage"}, _PROMPTS["passage"]),
    ({"prompt": "it is "}, "it is "),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "include_prompt"),
    [("albert", True), ("roberta", False), ("xlnet", False)],
)
def test_vectors_are_theirs(family, include_prompt, directory):
    folder = directory(family, include_prompt)
    embedder = albert_tf.TextEmbedder(folder)
    for asked, prompt in (
        *_ASKED,
        ({"prompt": "it is ", "prompt_name": "passage"}, "it is "),
        ({"prompt_name": "none"}, ""),
        ({"prompt": "very " * 20}, "very " * 20),  # cut, as the text after it
    ):
        expected = by_their_rule(folder, prompt, include_prompt)
        found = embedder.encode(_TEXTS, batch_size=3, **asked)
        np.testing.assert_allclose(found, expected, atol=2e-5, err_msg=str(asked))
    one = embedder.encode(_TEXTS[1], _TEXTS[0], prompt=_PROMPTS["query"])
    np.testing.assert_allclose(embedder.encode(_TEXTS[1], _TEXTS[0]), one, atol=1e-6)


@pytest.mark.slow
def test_directories_keep_prompts(directory, tmp_path):
    folder, again = directory(include_prompt=False), tmp_path / "again"
    embedder = albert_tf.TextEmbedder(folder)
    expected = embedder.encode(_TEXTS)
    for form in ("model_directory", "huggingface", "model_directory"):
        embedder.save_pretrained(again, format=form)
        embedder = albert_tf.TextEmbedder(again)
        np.testing.assert_allclose(embedder.encode(_TEXTS), expected, atol=1e-6)
        if form == "huggingface":
            written = json.loads((again / _SETTINGS).read_text())
            assert written["prompts"] == _PROMPTS
            assert written["default_prompt_name"] == "query"
    assert not (again / _SETTINGS).exists()
    own = {"prompts": {"own": "it "}, "default_prompt_name": "own"}
    other = albert_tf.TextEmbedder(folder, include_prompt=True, **own)
    other.save_pretrained(tmp_path / "other")
    found = albert_tf.TextEmbedder(tmp_path / "other").encode(_TEXTS)
    rule = by_their_rule(folder, "it ", include_prompt=True)
    np.testing.assert_allclose(found, rule, atol=2e-5)


@pytest.mark.slow
def test_served(directory, tmp_path):
    folder = directory(include_prompt=False)
    version = export(ExportOptions(str(folder), str(tmp_path / "m")))
    exported = Predictor(version)
    for predictor in (Predictor(folder), exported):
        for asked, prompt in (*_ASKED, ({"prompt": ""}, "")):
            found = predictor.arrays(_TEXTS, **asked)["embedding"]
            expected = by_their_rule(folder, prompt)
            np.testing.assert_allclose(found, expected, atol=2e-5)
        with pytest.raises(UserError, match="has the prompts query, passage, none"):
            predictor(_TEXTS, prompt_name="quary")
    described = json.loads((version / "signature.json").read_text())["signatures"]
    meaning = described["serving_default"]["outputs"]["embedding"]["meaning"]
    assert "after the prompt 'a film : '" in meaning
    assert described["prompted"]["rest"]["request"]["inputs"]["prompt"] == ["a film : "]
    vectors = [described[name]["rest"]["response"]["outputs"] for name in described]
    assert vectors[1:] == vectors[:-1]  # ids and masks too have the prompt
    with serving(exported) as port:
        body = {"instances": _TEXTS, "prompt_name": "passage"}
        status, answer, _ = ask(port, body=body)
        assert status == 200
        expected = by_their_rule(folder, _PROMPTS["passage"])
        np.testing.assert_allclose(answer["predictions"], expected, atol=2e-5)
        status, answer, _ = ask(port, body={**body, "prompt": 3})
        assert (status, answer["error"]) == (400, "prompt must be a str, got int.")


@pytest.mark.slow
def test_token_files(directory, tmp_path):
    folder = directory("bert", include_prompt=False)
    options = ExportOptions(str(folder), str(tmp_path / "m"), format="onnx")
    predictor = Predictor(export(options))
    for asked, prompt in _ASKED:
        found = predictor.arrays(_TEXTS, **asked)["embedding"]
        np.testing.assert_allclose(found, by_their_rule(folder, prompt), atol=1e-4)


@pytest.mark.slow
def test_models_without_prompts(export_of, saved_model):
    model = saved_model("similarity")
    with pytest.raises(UserError, match="of a model without prompts; put the prompt"):
        Predictor(export_of("similarity"))("good", prompt="it is ")
    with pytest.raises(UserError, match="Only models of vectors take a prompt"):
        Predictor(saved_model("classification"))("good", prompt="it is ")
    found = Predictor(model)("good", prompt="it is ")["embedding"]
    expected = albert_tf.TextEmbedder(model).encode("it is good")
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ((["a"], None), r"^x: prompts=\['a'\]: expected texts by name\.$"),
        (({"a": 3}, None), "expected texts by name"),
        (({3: "a"}, None), "expected texts by name"),
        (({"a": "b"}, "c"), r"'c': expected one of the prompts \(a\), or None"),
        (
            ({}, "c"),
            r"^x: default_.*expected one of the prompts \(there are none\), or",
        ),
        (({}, None, 1), "^x: include_prompt=1: expected true or false"),
    ],
)
def test_settings_that_are_no_prompts(settings, message):
    with pytest.raises(UserError, match=message):
        check_settings(*settings, source="x: ")


def test_the_prompt_of_a_call():
    texts = {"query": "Q: ", "passage": "P: "}
    owner = types.SimpleNamespace(prompts=texts, default_prompt_name="query")
    check_settings(texts, "query")
    for asked, prompt in (
        ({}, "Q: "),
        ({"prompt_name": "passage"}, "P: "),
        ({"prompt_name": "passage", "likely": ("query",)}, "P: "),
        ({"prompt": "", "prompt_name": "passage"}, ""),
        ({"likely": ("document", "passage")}, "P: "),
        ({"likely": ("document",)}, "Q: "),
    ):
        assert chosen_prompt(owner, **asked) == prompt
    owner.default_prompt_name = None
    assert chosen_prompt(owner) == chosen_prompt(owner, likely=("document",)) == ""
    with pytest.raises(
        UserError, match="'x': the model has the prompts query, passage"
    ):
        chosen_prompt(owner, "x")
    owner.prompts = {}
    with pytest.raises(UserError, match="'query': the model has no prompts; give the"):
        chosen_prompt(owner, "query")


class _PromptType(str, enum.Enum):
    """MTEB's."""

    query = "query"
    passage = "passage"


@pytest.mark.slow
def test_what_mteb_asks(directory):
    prompts = {**_PROMPTS, "STS": "bad ", "NQ-query": "not ", "NQ": "was "}
    embedder = albert_tf.TextEmbedder(directory(default=None), prompts=prompts)
    for asked, prompt in (
        ({}, ""),
        ({"task_name": "Other"}, ""),
        ({"task_name": "STS"}, "bad "),
        ({"task_name": "Other", "prompt_type": _PromptType.query}, "a film : "),
        ({"task_name": "STS", "prompt_type": _PromptType.query}, "bad "),
        ({"task_name": "NQ", "prompt_type": _PromptType.query}, "not "),
        ({"prompt_type": "document"}, "the plot was "),
        ({"prompt_type": "query", "prompt_name": "STS"}, "bad "),
    ):
        found = embedder.encode(_TEXTS, batch_size=4, show_progress_bar=True, **asked)
        expected = embedder.encode([prompt + text for text in _TEXTS], prompt="")
        np.testing.assert_allclose(found, expected, atol=1e-6, err_msg=str(asked))
    for asked, message in (
        ({"promt": "it "}, "encode takes no promt; did you mean prompt"),
        ({"prompt_type": "answer"}, "prompt_type='answer': expected one of query, "),
        ({"prompt_name": ["STS"]}, "has the prompts query, passage, none, STS"),
    ):
        with pytest.raises(UserError, match=message):
            embedder.encode(_TEXTS, **asked)


@pytest.mark.slow
def test_search_and_ranks(directory):
    embedder = albert_tf.TextEmbedder(directory(default="none"))
    query = embedder.encode(["good"], prompt=_PROMPTS["query"])
    passages = embedder.encode(_TEXTS, prompt=_PROMPTS["passage"])
    cosines = embedder.similarity(query, passages)[0]
    found = embedder.rank("good", iter(_TEXTS), k=3)
    order = np.argsort(-cosines)[:3]
    assert [answer["index"] for answer in found] == order.tolist()
    assert [answer["text"] for answer in found] == [_TEXTS[i] for i in order]
    told = [answer["similarity"] for answer in found]
    np.testing.assert_allclose(told, cosines[order], atol=1e-5)
    with pytest.raises(UserError, match="query must be a str, got list"):
        embedder.rank(["good"], _TEXTS)


@pytest.mark.slow
def test_training_reads_prompts(directory):
    """The rows of `fit` are those of prompted texts."""
    embedder = albert_tf.TextEmbedder(directory(include_prompt=False))
    pairs = [("good", "very good"), ("bad", "not good")]
    names = ("passage", "query")
    embedder.fit(pairs, prompt_name=names, epochs=1, verbose=0, seed=3)
    task, tokenizer = embedder._task, embedder.tokenizer
    assert task.row_prompts == tuple(map(_PROMPTS.get, names))
    table = Table("pairs", *map(list, zip(*pairs, strict=True)), None, np.arange(2))
    tokens = task.tokenize(table, tokenizer, embedder._max_length)
    for place, prompt in enumerate(task.row_prompts):
        alone = len(tokenizer([prompt.strip()])["input_ids"][0])
        assert tokens.prompt_lengths[:, place].tolist() == [alone - 1] * 2
        for row, pair in enumerate(pairs):
            start, size = tokens.starts[row, place], tokens.lengths[row, place]
            expected = tokenizer([prompt + pair[place]])["input_ids"][0]
            assert tokens.ids[start : start + size].tolist() == expected.tolist()
    scores = embedder.evaluate(*zip(*pairs, strict=True), [1, 0], prompt="it is ")
    assert set(scores) == {"spearman", "pearson"}
    with pytest.raises(UserError, match="prompt_name='x': the model has the prompts"):
        embedder.fit(pairs, prompt_name="x")
