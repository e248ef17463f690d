"""From raw text to a served RoBERTa that answers questions, as docs/roberta.md says."""

import json

import numpy as np
import pytest

import albert_tf
from albert_tf.commands import convert
from albert_tf.commands import describe
from albert_tf.commands import embed
from albert_tf.commands import fill_mask
from tests.commands.five_commands import QUESTION
from tests.commands.five_commands import TEXT
from tests.commands.five_commands import run_commands

_CONFIG = {
    "vocab_size": 290,
    "embedding_size": 16,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 64,
    "type_vocab_size": 1,
    "hidden_act": "gelu_erf",
    "parameter_sharing": "none",
    "layer_norm_eps": 1e-5,
    "padding_idx": 1,
}
_SMALL = {"data_pipeline.train_tokenizer": {"vocab_size": 290}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, project):
    """A folder in which the commands of the page were run, made small."""
    folder = tmp_path_factory.mktemp("roberta")
    run_commands(folder, project, "roberta.md", _SMALL, _CONFIG)
    return folder


@pytest.mark.slow
def test_a_served_model_answers(folder):
    predictor = albert_tf.Predictor(folder / "served")
    found = predictor(**QUESTION)
    assert found["answer"] in TEXT
    same = albert_tf.Predictor(folder / "answers" / "model")
    assert same(**QUESTION)["answer"] == found["answer"]
    assert json.loads((folder / "answers" / "predictions.json").read_text())


@pytest.mark.slow
def test_the_pretrained_model_in_the_other_commands(folder, tmp_path, capsys):
    model = str(folder / "pretrained")
    fill_mask.main(["fill_mask", f"--model_dir={model}", "The cat <mask> on the mat."])
    assert capsys.readouterr().out
    (tmp_path / "texts.txt").write_text("The cat.\nA dog barked.\n")
    files = [
        f"--input_file={tmp_path / 'texts.txt'}",
        f"--output_file={tmp_path}/v.npy",
    ]
    embed.main(["embed", f"--model_dir={model}", *files])
    assert np.load(tmp_path / "v.npy").shape == (2, 16)
    there = [f"--from={model}", f"--to={tmp_path / 'theirs'}"]
    convert.main(["convert", *there, "--to_format=huggingface"])
    entries = json.loads((tmp_path / "theirs" / "config.json").read_text())
    assert entries["model_type"] == "roberta"
    assert (tmp_path / "theirs" / "merges.txt").exists()
    theirs = albert_tf.AlbertForMaskedLM.from_pretrained(tmp_path / "theirs")
    ours = albert_tf.AlbertForMaskedLM.from_pretrained(model)
    features = albert_tf.load_tokenizer(model)("The cat <mask> on the mat.")
    np.testing.assert_allclose(theirs(features), ours(features), rtol=0, atol=1e-6)
    config = f"--albert_config_file={folder / 'config.json'}"
    describe.main(["describe", config, "--max_seq_length=32"])
    assert capsys.readouterr().out


@pytest.mark.slow
def test_a_classifier_learns_from_strings(folder):
    classifier = albert_tf.TextClassifier(str(folder / "pretrained"))
    classifier.fit(["The cat sat.", "A dog barked."], ["cat", "dog"])
    assert set(classifier.predict("The cat")["probabilities"]) == {"cat", "dog"}
