"""Model directories: written ones are read back, and misfits are named."""

import json

import pytest

from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.pretraining import AlbertForPreTraining
from tests.saved_models import assert_same_weights

_CONFIG = "albert_config.json"


@pytest.fixture
def pretrained(tiny_config, tmp_path):
    model = AlbertForPreTraining(tiny_config())
    model.save_pretrained(tmp_path)
    return model


@pytest.fixture
def classifier(tiny_config, tmp_path):
    model = AlbertForSequenceClassification(
        tiny_config(), num_labels=3, classifier_dropout_prob=0.2
    )
    model.save_pretrained(tmp_path)
    return model


def test_new_head_is_reported(pretrained, tmp_path):
    model = AlbertForSequenceClassification.from_pretrained(tmp_path, num_labels=4)
    report = model.load_report
    assert len(report.loaded) == 25
    assert report.missing == ("output_weights", "output_bias")
    assert all(name.startswith("cls/") for name in report.unexpected)
    assert "new in the model: output_weights, output_bias" in str(report)
    assert_same_weights(model, pretrained, report.loaded)


def test_another_number_of_labels_replaces_the_head(classifier, tmp_path):
    model = AlbertForSequenceClassification.from_pretrained(tmp_path, num_labels=2)
    assert model.num_labels == 2
    assert model.load_report.wrong_shape == ("output_weights", "output_bias")
    assert_same_weights(model, classifier, model.load_report.loaded)
    AlbertModel(classifier.config).save_pretrained(tmp_path / "encoder")
    with pytest.raises(UserError, match="has no classifier.* give num_labels"):
        AlbertForSequenceClassification.from_pretrained(tmp_path / "encoder")


@pytest.mark.parametrize("allowed", [["cls/"], "cls/"])
def test_a_head_that_may_be_missing(allowed, classifier, tmp_path):
    with pytest.raises(UserError, match="lacks cls/predictions/transform"):
        AlbertForPreTraining.from_pretrained(tmp_path, allow_missing="cls/seq")
    model = AlbertForPreTraining.from_pretrained(tmp_path, allow_missing=allowed)
    assert len(model.load_report.missing) == 7


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        (_CONFIG, {"intermediate_size": 21}, f"damaged or does not fit {_CONFIG}"),
        (_CONFIG, {"vocab_size": 2**31 - 1}, r"belongs to .* an encoder of \d+,"),
        (_CONFIG, {"intermediate_size": 2**31 - 1}, "belongs to .* an encoder of"),
        ("head.json", {"model": "AlbertConfig"}, "names the model 'AlbertConfig'"),
        ("head.json", {"depth": 3}, r"head\.json does not describe an Alb.*depth"),
    ],
)
def test_files_that_do_not_fit(name, changes, message, pretrained, tmp_path):
    path = tmp_path / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    (tmp_path / "SHA256SUMS").unlink()
    with pytest.raises(UserError, match=message):
        AlbertForPreTraining.from_pretrained(tmp_path)
