"""albert-tf embed, through its entry, and the texts that it reads from files."""

import json

import numpy as np
import pytest
import safetensors.numpy

from albert_tf.commands import embed
from albert_tf.errors import UserError
from albert_tf.inference.loading import read_texts
from albert_tf.models.pretraining import AlbertForMaskedLM
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks import metrics
from albert_tf.tasks.similarity import search
from albert_tf.text_embedder import TextEmbedder
from albert_tf.tokenization import load_tokenizer

_NAN = {"similarity_file": "nan.tsv"}
_TEXTS = ["the film is good .", "bad", "the long film is bad and long ."]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.txt", "one\r\ntwo\u2028two\n\n", (["one", "two\u2028two", ""], None)),
        ("a.txt", "one\teins\ntwo\tzwei", (["one", "two"], ["eins", "zwei"])),
        ("a.tsv", "id\ttext\n7\tone\n", (["one"], None)),
        ("a.csv", "text_pair,text\nb,a\n", (["a"], ["b"])),
        ("a.jsonl", '{"text": "a"}\n', (["a"], None)),
        ("a.NDJSON", '{"text": "a"}\n', (["a"], None)),
        ("a.txt", "\ufeffone\rstill\n", (["one\rstill"], None)),
    ],
)
def test_texts_of_a_file(tmp_path, name, content, expected):
    (tmp_path / name).write_bytes(content.encode())
    assert read_texts(str(tmp_path / name)) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a.txt is empty"),
        (b"a\tb\nc\n", "line 2: expected 2 text.s. as on the first line, found 1"),
        (b"a\nb\tc\n", "line 2: expected 1 text.s. as on the first line, found 2"),
        (b"a\tb\tc\n", "a.txt, line 1: expected 2 .* found 3"),
        ("电影".encode("gbk"), "a.txt is not UTF-8"),
    ],
)
def test_files_without_texts(tmp_path, content, message):
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_texts(str(tmp_path / "a.txt"))


def run(**flags):
    embed.main(["embed", *(f"--{name}={value}" for name, value in flags.items())])


@pytest.fixture
def hidden(pretrained):
    def of_text(text, layer=-1, max_length=None):
        features = pretrained.tokenizer(text, max_length=max_length)
        return pretrained.encoder(features)["hidden_states"][layer][0].numpy()

    return of_text


@pytest.mark.slow
def test_files(pretrained, hidden, tmp_path):
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(_TEXTS) + "\n")
    given = {"model_dir": pretrained.folder, "input_file": texts}
    expected = [hidden(text).mean(axis=0) for text in _TEXTS]
    run(**given, output_file=tmp_path / "v.npy", batch_size=2)
    found = np.load(tmp_path / "v.npy")
    assert (found.dtype, found.shape) == (np.float32, (3, len(expected[0])))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    changes = {"pooling": "cls", "layer": 1, "normalize": True, "max_seq_length": 5}
    run(**given, output_file=tmp_path / "v.jsonl", **changes)
    rows = [*map(json.loads, (tmp_path / "v.jsonl").read_text().splitlines())]
    place = -1 if pretrained.tokenizer.layout.pads_left else 0
    of_cls = [hidden(text, layer=0, max_length=5)[place] for text in _TEXTS]
    of_cls /= np.linalg.norm(of_cls, axis=1, keepdims=True)
    np.testing.assert_allclose(rows, of_cls, atol=1e-6)
    run(**given, output_file=tmp_path / "p.npy", prompt="it is ")
    expected = [hidden("it is " + text).mean(axis=0) for text in _TEXTS]
    np.testing.assert_allclose(np.load(tmp_path / "p.npy"), expected, atol=1e-6)


@pytest.mark.slow
def test_encoders_and_unit_vectors_are_served_without_padding(pretrained, hidden):
    encoded, vectors = (
        Predictor(pretrained.folder, task=task)(_TEXTS)
        for task in ("encoder", "embedding")
    )
    for text, found, vector in zip(_TEXTS, encoded, vectors, strict=True):
        expected, mean = hidden(text), hidden(text).mean(axis=0)
        np.testing.assert_allclose(found["sequence_output"], expected, atol=1e-5)
        assert len(found["input_ids"]) == len(expected)
        unit = mean / np.linalg.norm(mean)
        np.testing.assert_allclose(vector["embedding"], unit, atol=1e-5)
        has_pooler = not pretrained.tokenizer.layout.pads_left  # XLNet has none
        assert ("pooled_output" in found) == has_pooler


def test_pairs_stay_together_in_every_block(monkeypatch):
    class Joining:
        def encode(self, texts, pairs):
            return np.array([a + b for a, b in zip(texts, pairs, strict=True)])

    monkeypatch.setattr(search, "BLOCK", 2)
    blocks = search.embedded(Joining(), ["a", "b", "c"], ["x", "y", "z"])
    assert [block.tolist() for block in blocks] == [["ax", "by"], ["cz"]]


@pytest.mark.slow
def test_similarity(pretrained, hidden, tmp_path, capsys):
    rows = [("film", "good", 1.5), ("bad", "bad", 5.0), ("is", "the film .", 0.5)]
    lines = [f"{i}\t{a}\t{b}\t{score}\n" for i, (a, b, score) in enumerate(rows)]
    table = "".join(["index\tsentence1\tsentence2\tscore\n", *lines])
    (tmp_path / "dev.tsv").write_text(table)
    run(model_dir=pretrained.folder, similarity_file=tmp_path / "dev.tsv")
    cosines = []
    for a, b, _ in rows:
        x, y = (hidden(text).mean(axis=0) for text in (a, b))
        cosines.append(x @ y / np.linalg.norm(x) / np.linalg.norm(y))
    scores = [score for *_, score in rows]
    printed = dict(line.split(" = ") for line in capsys.readouterr().out.splitlines())
    assert float(printed["spearman"]) == metrics.spearman(scores, cosines)
    expected = metrics.pearson(scores, cosines)
    assert float(printed["pearson"]) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({}, "Give either --input_file or --similarity_file"),
        ({"input_file": "a.txt"}, "Give --input_file and --output_file together"),
        ({"input_file": "a.txt", "output_file": "v.csv"}, "v.csv: expected a name tha"),
        ({**_NAN, "prompt": "a", "prompt_name": "b"}, "Give either --prompt_name or"),
        (_NAN, "line 2: expected a number, not 'nan'"),
    ],
)
def test_refused(model_dir, flags, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = tmp_path / "nan.tsv"
    table.write_text("sentence1\tsentence2\tscore\nfilm\tgood\tnan\n")
    with pytest.raises(SystemExit) as stop:
        run(model_dir=model_dir, **flags)
    assert stop.value.code == 1
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [table]


@pytest.mark.slow
def test_a_model_of_masked_words_has_no_pooler(model_dir, tmp_path, capsys):
    folder, texts = tmp_path / "model", tmp_path / "texts.txt"
    model = AlbertForMaskedLM.from_pretrained(model_dir)
    model.save_pretrained(folder, load_tokenizer(model_dir), format="huggingface")
    weights = folder / "model.safetensors"
    tensors = safetensors.numpy.load_file(weights)
    tensors = {name: t for name, t in tensors.items() if ".pooler." not in name}
    safetensors.numpy.save_file(tensors, weights)
    (folder / "SHA256SUMS").unlink()
    texts.write_text("the film is good\n")
    files = {"input_file": texts, "output_file": tmp_path / "vectors.npy"}
    run(model_dir=folder, **files)
    assert np.load(files["output_file"]).shape == (1, model.config.hidden_size)
    with pytest.raises(SystemExit):
        run(model_dir=folder, **files, pooling="pooler")
    assert "bert/pooler" in capsys.readouterr().err


@pytest.mark.slow
def test_iterators_are_read_once_and_wholly(model_dir):
    embedder = TextEmbedder(model_dir)
    expected = embedder.encode(_TEXTS, _TEXTS)
    np.testing.assert_array_equal(embedder.encode(iter(_TEXTS), iter(_TEXTS)), expected)
    with pytest.raises(UserError, match="texts has 3 texts, but text_pairs has 1"):
        embedder.encode(_TEXTS, _TEXTS[:1])
