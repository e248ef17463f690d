"""run_classifier from an XLNet: to files, answers and an export."""

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
        return flags(**none, **{"init_checkpoint": folder, **changes})

    return run


def _probabilities(path):
    lines = path.read_text().splitlines()
    return np.array([line.split("\t")[1:] for line in lines[1:]], np.float32)


@pytest.mark.slow
def test_from_a_directory_to_an_export(pretrained, tune):
    folder = pretrained()
    steps = {"train_step": 40, "save_checkpoints_steps": 40, "learning_rate": 1e-2}
    does = {"do_train": True, "do_eval": True, "do_predict": True, **steps}
    out = tune(folder, export_dir=folder.parent / "served", **does)
    results = (out / "eval_results.txt").read_text()
    assert "eval_accuracy = 1.0" in results
    head = json.loads((out / "model" / "head.json").read_text())
    assert head["labels"] == ["no", "yes"]

    expected = _probabilities(out / "test_results.tsv")
    texts = (out.parent / "data" / "test.tsv").read_text().splitlines()[1:]
    texts = [line.split("\t")[1] for line in texts]
    for place in (out / "model", out.parent / "served"):
        answers = albert_tf.Predictor(place)(texts, batch_size=7)  # not even: no halves
        shares = [list(answer["probabilities"].values()) for answer in answers]
        np.testing.assert_allclose(shares, expected, atol=1e-5)
    signature = (out.parent / "served" / "1" / "signature.json").read_text()
    assert json.loads(signature)["row_layout"] == "cls_last"


@pytest.mark.slow
def test_an_interrupted_run_continues_exactly(
    pretrained, tune, continues_exactly, tmp_path
):
    folder = pretrained("tf1")
    changes = {"layer_decay": 0.5, "albert_dropout_prob": 0.2, "train_step": 4}
    continues_exactly(functools.partial(tune, folder), **changes)
    before, after = _weights(folder), _weights(tmp_path / "out" / "model")
    still = {name for name in before if np.array_equal(before[name], after[name])}
    assert still == {"model/transformer/mask_emb/mask_emb"}
    path = tmp_path / "out" / "model" / "xlnet_config.json"
    config = albert_tf.XLNetConfig.from_json_file(path)
    assert (config.dropout, config.dropatt) == (0.2, 0.2)


def _weights(folder):
    model = albert_tf.XLNetModel.from_pretrained(folder)
    return {name: v.numpy() for name, v in model.official_variables().items()}


@pytest.fixture
def from_scratch(flags, xlnet_tokenizer, xlnet_config, tmp_path):
    """Runs the command on a new XLNet, into `out` or another folder."""
    config = xlnet_config(
        n_layer=1, d_head=8, initializer_range=0.1, mem_len=6, bi_data=True
    )
    (tmp_path / "xlnet.json").write_text(json.dumps(config.to_dict()))
    (tmp_path / "spiece.model").write_bytes(xlnet_tokenizer.file_bytes)
    named = {"vocab_file": None, "spm_model_file": tmp_path / "spiece.model"}
    named["albert_config_file"] = tmp_path / "xlnet.json"
    return lambda **changes: flags(**{**named, **changes})


_LEARNS = {"do_train": True, "train_step": 40, "save_checkpoints_steps": 40}


@pytest.mark.nightly
@pytest.mark.slow
def test_from_scratch_as_a_teacher_and_as_a_student(flags, from_scratch, tmp_path):
    from_scratch(learning_rate=1e-2, **_LEARNS)
    teacher = tmp_path / "out" / "model"
    learned = {**_LEARNS, "teacher": teacher, "teacher_weight": 1.0}
    from_scratch(output_dir=tmp_path / "student", learning_rate=1e-2, **learned)
    flags(output_dir=tmp_path / "albert", **{**learned, "train_step": 2})
    for name in ("out", "student"):
        assert (tmp_path / name / "model" / "xlnet_config.json").exists()
        info = json.loads((tmp_path / name / "model/training_info.json").read_text())
        assert info["dev"]["accuracy"] == 1.0, name


def test_flags_of_albert_are_refused(from_scratch, pretrained):
    with pytest.raises(UserError, match="xlnet.json becomes an XLNetForSequenceClas"):
        from_scratch(do_train=True, early_exit=True)
    with pytest.raises(UserError, match="xlnet.json becomes an XLNetForSequenceC"):
        from_scratch(
            do_train=True,
            from_scratch=None,
            init_checkpoint=pretrained(),
            init_layers="mean",
        )


@pytest.mark.slow
def test_text_classifier(pretrained, xlnet_tokenizer, tmp_path):
    classifier = albert_tf.TextClassifier(pretrained(), max_length=8)
    texts, labels = ["good film", "bad plot"] * 8, ["glad", "sad"] * 8
    classifier.fit(texts, labels, epochs=12, learning_rate=1e-2, verbose=0)
    answers = classifier.predict(texts[:2])
    assert [answer["label"] for answer in answers] == labels[:2]
    row = classifier.tokenizer("good film")
    assert row["input_ids"][0, -1] == xlnet_tokenizer.cls_id
    logits = classifier.model(row)[0].numpy()
    shares = np.exp(logits) / np.exp(logits).sum()
    found = answers[0]["probabilities"].values()
    np.testing.assert_allclose(list(found), shares, atol=1e-5)
    classifier.save_pretrained(tmp_path / "kept")
    again = albert_tf.TextClassifier(tmp_path / "kept").predict(texts[:2])
    assert [answer["label"] for answer in again] == labels[:2]
    with pytest.raises(UserError, match="max_length=4: expected 5 or more"):
        albert_tf.TextClassifier(tmp_path / "kept", max_length=4)
