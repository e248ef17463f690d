"""run_classifier from an XLNet: to files and answers."""

import functools
import json

import keras
import numpy as np
import pytest

import albert_tf
from albert_tf.errors import UserError


@pytest.fixture
def pretrained(xlnet_tokenizer, xlnet_config, tmp_path):
    """Writes a tiny XLNet as pretraining leaves it; returns its folder."""

    def write(form="model_directory"):
        keras.utils.set_random_seed(1)
        config = xlnet_config(
            n_layer=1, d_head=8, initializer_range=0.1, mem_len=6, bi_data=True
        )
        folder = tmp_path / form
        model = albert_tf.XLNetLMHeadModel(config)
        model.save_pretrained(folder, xlnet_tokenizer, format=form)
        return folder

    return write


@pytest.fixture
def tune(flags):
    """Runs the command on an XLNet; returns its output folder."""

    def run(folder, **changes):
        none = dict.fromkeys(("from_scratch", "albert_config_file", "vocab_file"))
        return flags(**{**none, "init_checkpoint": folder, **changes})

    return run


def _probabilities(path):
    lines = path.read_text().splitlines()
    return np.array([line.split("\t")[1:] for line in lines[1:]], np.float32)


@pytest.mark.slow
def test_from_a_directory_to_answers(pretrained, tune):
    folder = pretrained()
    steps = {"train_step": 30, "save_checkpoints_steps": 30, "learning_rate": 1e-2}
    asked = {"do_train": True, "do_eval": True, "do_predict": True}
    out = tune(folder, **asked, **steps)
    results = (out / "eval_results.txt").read_text()
    assert "eval_accuracy = 1.0" in results
    head = json.loads((out / "model" / "head.json").read_text())
    assert head["labels"] == ["no", "yes"]
    texts = (out.parent / "data" / "test.tsv").read_text().splitlines()[1:]
    texts = [line.split("\t")[1] for line in texts]
    predictor = albert_tf.Predictor(out / "model")
    answers = predictor(texts, batch_size=7)  # not even: no halves
    shares = [list(answer["probabilities"].values()) for answer in answers]
    expected = _probabilities(out / "test_results.tsv")
    np.testing.assert_allclose(shares, expected, atol=1e-5)
    before, after = _weights(folder), _weights(out / "model")
    still = {name for name in before if np.array_equal(before[name], after[name])}
    assert still == {"model/transformer/mask_emb/mask_emb"}


@pytest.mark.slow
def test_dropout_is_that_of_the_command(pretrained, built):
    none = dict.fromkeys(("from_scratch", "albert_config_file", "vocab_file"))
    folder = pretrained("tf1")
    model, *_ = built(init_checkpoint=folder, albert_dropout_prob=0.2, **none)
    assert (model.config.dropout, model.config.dropatt) == (0.2, 0.2)


@pytest.mark.nightly
def test_an_interrupted_run_continues_exactly(pretrained, tune, continues_exactly):
    changes = {"layer_decay": 0.5, "albert_dropout_prob": 0.2, "train_step": 4}
    continues_exactly(functools.partial(tune, pretrained("tf1")), **changes)


def _weights(folder):
    model = albert_tf.XLNetModel.from_pretrained(folder)
    return {name: v.numpy() for name, v in model.official_variables().items()}


def test_flags_of_albert_are_refused(tune, xlnet_config, pretrained, tmp_path):
    config = tmp_path / "xlnet.json"
    config.write_text(json.dumps(xlnet_config(n_layer=1).to_dict()))
    for changes in ({"early_exit": True}, {"init_layers": "mean"}):
        with pytest.raises(
            UserError, match="becomes an XLNetForSequenceClassification"
        ):
            tune(pretrained(), do_train=True, albert_config_file=config, **changes)
