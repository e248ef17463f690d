"""Texts classified by an XLNet, by the command and in Python: to files and answers."""

import functools
import json

import keras
import numpy as np
import pytest

import albert_tf
from albert_tf.errors import UserError
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export


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


@pytest.mark.nightly
def test_learned_in_python_and_served(pretrained, xlnet_tokenizer, tmp_path):
    classifier = albert_tf.TextClassifier(pretrained(), max_length=8)
    texts, labels = ["good film", "bad plot"] * 8, ["glad", "sad"] * 8
    classifier.fit(texts, labels, epochs=12, learning_rate=1e-2, verbose=0)
    answers = classifier.predict(texts[:2])
    assert [answer["label"] for answer in answers] == labels[:2]
    rows = classifier.tokenizer(texts[:2])
    assert (rows["input_ids"][:, -1] == xlnet_tokenizer.cls_id).all()
    shares = keras.ops.softmax(classifier.model(rows))
    classifier.save_pretrained(tmp_path / "kept")
    version = export(ExportOptions(str(tmp_path / "kept"), str(tmp_path / "served")))
    signature = json.loads((version / "signature.json").read_text())
    assert signature["row_layout"] == "cls_last"
    again = albert_tf.TextClassifier(tmp_path / "kept").predict(texts[:2])
    served = albert_tf.Predictor(version)(texts[:2])
    for found in (answers, again, served):
        own = [list(answer["probabilities"].values()) for answer in found]
        np.testing.assert_allclose(own, shares, atol=1e-5)
    with pytest.raises(UserError, match="max_length=4: expected 5 or more"):
        albert_tf.TextClassifier(tmp_path / "kept", max_length=4)


@pytest.mark.nightly
def test_a_teacher_and_its_students(pretrained, tune, flags, tmp_path):
    """Of its own family, and an ALBERT, which tokenizes otherwise."""
    does = {"do_train": True, "train_step": 30, "save_checkpoints_steps": 30}
    folder, rate = pretrained(), {"learning_rate": 1e-2}
    teacher = tune(folder, **does, **rate) / "model"
    learned = {**does, "teacher": teacher, "teacher_weight": 1.0}
    tune(folder, output_dir=tmp_path / "student", **learned, **rate)
    for out in (tmp_path / "out", tmp_path / "student"):
        assert (out / "model" / "xlnet_config.json").exists()
        info = json.loads((out / "model" / "training_info.json").read_text())
        assert info["dev"]["accuracy"] == 1.0, out
    flags(output_dir=tmp_path / "albert", **{**learned, "train_step": 2})
    assert (tmp_path / "albert" / "model" / "albert_config.json").exists()
