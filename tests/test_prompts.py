"""Prompts of models of vectors: read, applied, written, served, trained."""

import enum
import json

import numpy as np
import pytest

import albert_tf
from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.tables import Table
from albert_tf.tokenization import load_tokenizer
from tests.serving.served import ask
from tests.serving.served import serving

_PROMPTS = {"query": "a film : ", "passage": "the plot was ", "none": ""}
_TEXTS = ["good", "it is not a very bad film", "", "good good good good good good good"]
_SETTINGS = "config_sentence_transformers.json"
_LENGTH = 12


@pytest.fixture(scope="module")
def directory(saved_model, family_tokenizer, tmp_path_factory):
    """Makes a directory as sentence-transformers writes it, with a default prompt."""

    def make(family="albert", include_prompt=True, default="query", length=_LENGTH):
        folder = tmp_path_factory.mktemp("theirs")
        source = bundle.open(saved_model("encoder", family))
        model = source.model(registry.model_for("similarity", source.family))
        model.saved_task_info = {"max_seq_length": length}
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


def by_their_rule(folder, texts, prompt, include_prompt, length=_LENGTH):
    """Computes the vectors of sentence-transformers with NumPy, one by one.

    The prompt's tokens are those of a row of it alone, but for the last special token.
    """
    opened, tokenizer = bundle.open(folder), load_tokenizer(folder)
    encoder = opened.model(registry.model_for("encoder", opened.family))
    alone = tokenizer([prompt.strip()], max_length=length)["input_ids"][0]
    first = 0 if include_prompt or not prompt else len(alone) - 1
    vectors = []
    for text in texts:
        features = tokenizer([prompt + text], max_length=length)
        [hidden] = np.array(encoder(features)["sequence_output"])
        vectors.append(hidden[first:].mean(0))
    return np.stack(vectors)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "include_prompt"),
    [("albert", True), ("roberta", False), ("xlnet", False)],
)
def test_vectors_are_theirs(family, include_prompt, directory):
    folder = directory(family, include_prompt)
    embedder = albert_tf.TextEmbedder(folder)
    for asked, prompt in (
        ({}, _PROMPTS["query"]),
        ({"prompt_name": "passage"}, _PROMPTS["passage"]),
        ({"prompt": "it is "}, "it is "),
        ({"prompt": "it is ", "prompt_name": "passage"}, "it is "),
        ({"prompt_name": "none"}, ""),
        ({"prompt": "very " * 20}, "very " * 20),  # cut, as the text after it
    ):
        expected = by_their_rule(folder, _TEXTS, prompt, include_prompt)
        found = embedder.encode(_TEXTS, batch_size=3, **asked)
        np.testing.assert_allclose(found, expected, atol=2e-5, err_msg=str(asked))
    one = embedder.encode(_TEXTS[1], _TEXTS[0], prompt=_PROMPTS["query"])
    np.testing.assert_allclose(embedder.encode(_TEXTS[1], _TEXTS[0]), one, atol=1e-6)


@pytest.mark.slow
def test_directories_keep_prompts(directory, tmp_path):
    folder = directory(include_prompt=False)
    embedder = albert_tf.TextEmbedder(folder)
    expected = embedder.encode(_TEXTS)
    for form in ("model_directory", "huggingface", "model_directory"):
        embedder.save_pretrained(tmp_path / "again", format=form)
        embedder = albert_tf.TextEmbedder(tmp_path / "again")
        np.testing.assert_allclose(embedder.encode(_TEXTS), expected, atol=1e-6)
        if form == "huggingface":
            written = json.loads((tmp_path / "again" / _SETTINGS).read_text())
            assert written["prompts"] == _PROMPTS
            assert written["default_prompt_name"] == "query"
    assert not (tmp_path / "again" / _SETTINGS).exists()
    other = albert_tf.TextEmbedder(
        folder, prompts={"own": "it "}, include_prompt=True, default_prompt_name="own"
    )
    other.save_pretrained(tmp_path / "other")
    found = albert_tf.TextEmbedder(tmp_path / "other").encode(_TEXTS)
    rule = by_their_rule(folder, _TEXTS, "it ", include_prompt=True)
    np.testing.assert_allclose(found, rule, atol=2e-5)


@pytest.mark.slow
def test_served(directory, tmp_path):
    folder = directory(include_prompt=False)
    version = export(ExportOptions(str(folder), str(tmp_path / "m")))

    def rule(prompt):
        return by_their_rule(folder, _TEXTS, prompt, include_prompt=False)

    exported = Predictor(version)
    for predictor in (Predictor(folder), exported):
        for asked, prompt in (
            ({}, _PROMPTS["query"]),
            ({"prompt_name": "passage"}, _PROMPTS["passage"]),
            ({"prompt": "it is "}, "it is "),
            ({"prompt": ""}, ""),
        ):
            found = predictor.arrays(_TEXTS, **asked)["embedding"]
            np.testing.assert_allclose(found, rule(prompt), atol=2e-5)
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
        found = answer["predictions"]
        np.testing.assert_allclose(found, rule(_PROMPTS["passage"]), atol=2e-5)
        status, answer, _ = ask(port, body={**body, "prompt": 3})
        assert (status, answer["error"]) == (400, "prompt must be a str, got int.")


@pytest.mark.slow
def test_token_files(directory, tmp_path):
    folder = directory("bert", include_prompt=False)
    options = ExportOptions(str(folder), str(tmp_path / "m"), format="onnx")
    predictor = Predictor(export(options))
    for asked, prompt in (({}, "a film : "), ({"prompt": "it is "}, "it is ")):
        found = predictor.arrays(_TEXTS, **asked)["embedding"]
        expected = by_their_rule(folder, _TEXTS, prompt, include_prompt=False)
        np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.slow
def test_exports_of_models_without_prompts(export_of, saved_model):
    predictor = Predictor(export_of("similarity"))
    with pytest.raises(UserError, match="of a model without prompts; put the prompt"):
        predictor("good", prompt="it is ")
    plain = albert_tf.TextEmbedder(saved_model("similarity"))
    with pytest.raises(UserError, match="Only models of vectors take a prompt"):
        Predictor(saved_model("classification"))("good", prompt="it is ")
    found = Predictor(saved_model("similarity"))("good", prompt="it is ")["embedding"]
    np.testing.assert_allclose(found, plain.encode("it is good"), atol=1e-5)


class _PromptType(str, enum.Enum):
    """MTEB's."""

    query = "query"
    passage = "passage"


@pytest.mark.slow
def test_what_mteb_asks(directory):
    folder = directory(default=None)
    prompts = {**_PROMPTS, "STS": "bad ", "NQ-query": "not ", "NQ": "was "}
    embedder = albert_tf.TextEmbedder(folder, prompts=prompts)
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
    query = embedder.encode("good", prompt=_PROMPTS["query"])
    cosines = embedder.similarity(
        query[None], embedder.encode(_TEXTS, prompt=_PROMPTS["passage"])
    )[0]
    found = embedder.rank("good", iter(_TEXTS), k=3)
    order = np.argsort(-cosines)[:3]
    assert [answer["index"] for answer in found] == order.tolist()
    assert [answer["text"] for answer in found] == [_TEXTS[i] for i in order]
    np.testing.assert_allclose(
        [answer["similarity"] for answer in found], cosines[order], atol=1e-5
    )
    with pytest.raises(UserError, match="query must be a str, got list"):
        embedder.rank(["good"], _TEXTS)


@pytest.mark.slow
def test_training_reads_prompts(directory):
    """The rows of `fit` are those of prompted texts."""
    embedder = albert_tf.TextEmbedder(directory(include_prompt=False))
    pairs = [("good", "very good"), ("bad", "not good")]
    settings = {"epochs": 1, "verbose": 0, "seed": 3}
    embedder.fit(pairs, prompt_name=("passage", "query"), **settings)
    task, length = embedder._task, embedder._max_length
    assert task.row_prompts == (_PROMPTS["passage"], _PROMPTS["query"])
    table = Table("pairs", *map(list, zip(*pairs, strict=True)), None, np.arange(2))
    tokens = task.tokenize(table, embedder.tokenizer, length)
    for place, prompt in enumerate(task.row_prompts):
        alone = len(embedder.tokenizer([prompt.strip()])["input_ids"][0])
        assert tokens.prompt_lengths[:, place].tolist() == [alone - 1] * 2
        for row, pair in enumerate(pairs):
            start, size = tokens.starts[row, place], tokens.lengths[row, place]
            expected = embedder.tokenizer([prompt + pair[place]])["input_ids"][0]
            assert tokens.ids[start : start + size].tolist() == expected.tolist()
    scores = embedder.evaluate(*zip(*pairs, strict=True), [1, 0], prompt="it is ")
    assert set(scores) == {"spearman", "pearson"}
    with pytest.raises(UserError, match="prompt_name='x': the model has the prompts"):
        embedder.fit(pairs, prompt_name="x")
