"""Guesses, vectors, layers and served forms of an XLNet that was only pretrained."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf import bundle
from albert_tf.commands import embed
from albert_tf.commands import fill_mask
from albert_tf.errors import UserError
from albert_tf.serving.loading import build_module
from tools import inspect_layers

_TEXTS = ["<mask> is very good", "the plot", "it was a bad <mask> and <mask>"]


@pytest.fixture(scope="module")
def folder(xlnet_tokenizer, xlnet_config, tmp_path_factory):
    """As pretraining leaves it: with a memory, and rows of reversed text."""
    keras.utils.set_random_seed(1)
    config = xlnet_config(initializer_range=0.5, mem_len=6, reuse_len=4, bi_data=True)
    path = tmp_path_factory.mktemp("pretrained")
    albert_tf.XLNetLMHeadModel(config).save_pretrained(path, xlnet_tokenizer)
    return path


@pytest.fixture(scope="module")
def model(folder):
    alone = {"mem_len": 0, "reuse_len": 0, "bi_data": False}
    return albert_tf.XLNetLMHeadModel.from_pretrained(folder, **alone)


def _shares(model, tokenizer, text):
    """Probabilities `[masks, vocabulary]`, by a mask of permutations."""
    row = tokenizer(text, special_tokens_in_text=True)
    ids = row["input_ids"]
    places = np.flatnonzero(ids[0] == tokenizer.mask_id)
    hidden = np.zeros((1, ids.shape[1], ids.shape[1]), "float32")
    hidden[:, :, places] = 1
    asked = {"perm_mask": hidden, "target_positions": places[None].astype("int32")}
    return tf.nn.softmax(model({**row, **asked})["logits"][0]).numpy()


@pytest.mark.slow
def test_masked_words_are_asked_by_permutation(
    folder, model, xlnet_tokenizer, tmp_path
):
    texts = [text for text in _TEXTS if "<mask>" in text]
    (tmp_path / "texts.txt").write_text("\n".join(texts) + "\n")
    answers = tmp_path / "guesses.jsonl"
    flags = [f"--input_file={tmp_path / 'texts.txt'}", f"--output_file={answers}"]
    fill_mask.main(["fill_mask", f"--model_dir={folder}", *flags, "--top_k=3"])
    lines = answers.read_text().splitlines()
    predictor = albert_tf.Predictor(folder)
    for line, text in zip(lines, texts, strict=True):
        expected = _shares(model, xlnet_tokenizer, text)
        masks = json.loads(line)["masks"]
        served = predictor(text.replace("<mask>", "[MASK]"))["masks"]
        for found in (masks, served):
            assert len(found) == len(expected)
            for guesses, shares in zip(found, expected, strict=True):
                best = np.argsort(-shares)[: len(guesses)].tolist()
                assert [guess["token_id"] for guess in guesses] == best
                own = [guess["probability"] for guess in guesses]
                np.testing.assert_allclose(own, shares[best], atol=1e-6)


def test_a_text_of_reversed_rows_is_refused(folder, xlnet_tokenizer):
    pretrained = albert_tf.XLNetLMHeadModel.from_pretrained(folder)
    with pytest.raises(UserError, match=r"bi_data and would read half .* bi_data=Fals"):
        albert_tf.Predictor(pretrained, xlnet_tokenizer)


def _hidden(model, tokenizer, text, layer=-1):
    outputs = model.transformer(tokenizer(text))
    return outputs["hidden_states"][layer][0].numpy()


@pytest.mark.slow
def test_vectors(folder, model, xlnet_tokenizer, tmp_path):
    (tmp_path / "texts.txt").write_text("\n".join(_TEXTS[:2]) + "\n")
    output, texts = tmp_path / "v.npy", _TEXTS[:2]  # of two lengths
    files = [f"--input_file={tmp_path / 'texts.txt'}", f"--output_file={output}"]
    embed.main(["embed", f"--model_dir={folder}", *files])
    mean = [_hidden(model, xlnet_tokenizer, text).mean(axis=0) for text in texts]
    np.testing.assert_allclose(np.load(output), mean, atol=1e-5)
    embed.main(["embed", f"--model_dir={folder}", *files, "--pooling=cls", "--layer=1"])
    last = [_hidden(model, xlnet_tokenizer, text, layer=0)[-1] for text in texts]
    np.testing.assert_allclose(np.load(output), last, atol=1e-5)


@pytest.mark.pictures
def test_layers_and_attention(folder, model, xlnet_tokenizer, tmp_path):
    flags = [f"--model_dir={folder}", f"--output_dir={tmp_path}"]
    inspect_layers.main(["inspect_layers", *flags, _TEXTS[1]])
    rows = np.loadtxt(tmp_path / "layers.tsv", skiprows=1)
    outputs = model.transformer(xlnet_tokenizer(_TEXTS[1]))
    states = np.stack([outputs["embedding_output"], *outputs["hidden_states"]])[:, 0]
    moved = np.linalg.norm(np.diff(states, axis=0), axis=-1)
    np.testing.assert_allclose(rows[:, 1], moved.mean(axis=1), rtol=1e-5)
    assert (tmp_path / "attention_1.png").exists()


@pytest.mark.slow
def test_the_encoder_is_served_without_its_padding(folder, model, xlnet_tokenizer):
    module, _, facts = build_module([bundle.open(folder)], "encoder")
    assert facts["row_layout"] == "cls_last"
    found = module.signatures()["serving_default"](tf.constant(_TEXTS[1:]))
    assert "pooled_output" not in found
    tokens = int(found["input_mask"][0].numpy().sum())
    expected = _hidden(model, xlnet_tokenizer, _TEXTS[1])
    assert tokens == len(expected) < found["input_mask"].shape[1]
    states = found["sequence_output"][0, :tokens]
    np.testing.assert_allclose(states, expected, atol=1e-5)
