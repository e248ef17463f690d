"""XLNet's checkpoints: ours, the official ones and Hugging Face's, both ways."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from safetensors import numpy as safetensors

from albert_tf import bundle
from albert_tf.commands.convert import main
from albert_tf.errors import UserError
from albert_tf.xlnet import heads
from albert_tf.xlnet.family import XLNET
from albert_tf.xlnet.model import XLNetLMHeadModel
from albert_tf.xlnet.model import XLNetModel
from tests.checkpoints.conftest import write_tf1
from tests.saved_models import assert_same_weights

_FORMS = ("model_directory", "tf1", "huggingface")
_MADE = {
    "encoder": (XLNetModel, {}),
    "language_model": (XLNetLMHeadModel, {}),
    "classifier": (
        heads.XLNetForSequenceClassification,
        {"num_labels": 3, "labels": ["no", "so", "yes"]},
    ),
    "choices": (heads.XLNetForMultipleChoice, {}),
    "tagger": (
        heads.XLNetForTokenClassification,
        {"num_labels": 3, "labels": ["O", "B-PER", "I-PER"]},
    ),
    "spans": (heads.XLNetForQuestionAnsweringSimple, {}),
    "beams": (heads.XLNetForQuestionAnswering, {"start_n_top": 2, "end_n_top": 3}),
}


@pytest.mark.parametrize(
    ("made", "form"),
    [
        ("encoder", "tf1"),
        *(("classifier", form) for form in _FORMS),
        *((made, "huggingface") for made in _MADE if made != "classifier"),
    ],
)
def test_there_and_back(made, form, theirs, randomised, tmp_path):
    model_class, arguments = _MADE[made]
    model = randomised(model_class(theirs, **arguments))
    model.save_pretrained(tmp_path, format=form)
    assert bundle.open(tmp_path).head()[0] is model_class
    told = arguments if form == "tf1" else {}
    loaded = model_class.from_pretrained(tmp_path, **told)
    assert loaded.config == theirs
    assert loaded.head_config() == model.head_config()
    assert_same_weights(loaded, model)
    assert not loaded.load_report.new


@pytest.mark.parametrize(
    ("form", "changes"),
    [
        ("tf1", {"parameter_sharing": "attention", "num_hidden_groups": 2}),
        ("huggingface", {"parameter_sharing": "all", "embedding_size": 5}),
        ("huggingface", {"parameter_sharing": "ffn", "untie_r": False}),
        (
            "huggingface",
            {"parameter_sharing": "all", "num_hidden_groups": 2, "inner_group_num": 2},
        ),
    ],
)
def test_others_get_the_same_function(
    form, changes, xlnet_config, xlnet_features, randomised, tmp_path
):
    config = xlnet_config(n_head=2, n_layer=3, mem_len=4, **changes)
    model = randomised(XLNetLMHeadModel(config))
    memories = np.random.default_rng(2).normal(size=(2, config.blocks, 4, 8))
    features = {**xlnet_features, "memories": memories.astype("float32")}
    model.save_pretrained(tmp_path / "ours")
    model.save_pretrained(tmp_path / "theirs", format=form)
    plain = XLNetLMHeadModel.from_pretrained(tmp_path / "theirs")
    expected = model(features)["logits"]
    np.testing.assert_allclose(plain(features)["logits"], expected, atol=1e-5)
    # Our own form keeps what is shared.
    ours = XLNetLMHeadModel.from_pretrained(tmp_path / "ours")
    assert ours.config == config
    assert_same_weights(ours, model)


@pytest.mark.parametrize("name", ["official_tf1", "official_tf1_tied"])
def test_official_checkpoints_are_written_as_they_were(name, shared, tmp_path):
    source = shared(f"fixtures/xlnet/{name}")
    main(["", f"--from={source}", f"--to={tmp_path}", "--to_format=tf1"])
    before = tf.train.load_checkpoint(str(source / "model.ckpt-0"))
    after = tf.train.load_checkpoint(str(tmp_path / "model.ckpt-best"))
    weights = [n for n in before.get_variable_to_shape_map() if n != "global_step"]
    assert {*weights, "global_step"} == set(after.get_variable_to_shape_map())
    for key in weights:
        np.testing.assert_array_equal(after.get_tensor(key), before.get_tensor(key))
    config = json.loads((tmp_path / "xlnet_config.json").read_text())
    assert config == json.loads((source / "xlnet_config.json").read_text())


def test_layers_come_in_their_order():
    name = "transformer.layer.{}.rel_attn.r_w_bias"  # 10 stands before 2 in a file
    tensors = {
        name.format(i): np.full((1, 1), i, "f") for i in (0, 1, 10, *range(2, 10))
    }
    found = XLNET.tensors_from_huggingface(tensors, {}, "path")
    stacked = found["model/transformer/r_w_bias"]
    np.testing.assert_array_equal(stacked.ravel(), range(11))


def test_a_classifier_of_any_task(theirs, randomised, tmp_path):
    model = randomised(heads.XLNetForSequenceClassification(theirs, num_labels=3))
    arrays = {name: v.numpy() for name, v in model.official_variables().items()}
    del arrays["model/transformer/mask_emb/mask_emb"]  # as theirs, which has none
    arrays = {
        name.replace("/classification/", "/classification_mnli/"): array
        for name, array in arrays.items()
    }
    write_tf1(tmp_path / "model.ckpt-9", arrays)
    theirs.to_json_file(tmp_path / "xlnet_config.json")
    loaded = heads.XLNetForSequenceClassification.from_pretrained(tmp_path)
    assert loaded.num_labels == 3
    np.testing.assert_array_equal(loaded.classifier.kernel, model.classifier.kernel)


def test_what_their_file_says_and_leaves_out(theirs, tmp_path):
    model = heads.XLNetForSequenceClassification(theirs, num_labels=2)
    model.save_pretrained(tmp_path, format="huggingface")
    (tmp_path / "SHA256SUMS").unlink(missing_ok=True)
    path = tmp_path / "config.json"
    entries = json.loads(path.read_text())
    entries |= {"ff_activation": "gelu", "mem_len": None, "untie_r": False}
    path.write_text(json.dumps(entries))
    config = type(model).from_pretrained(tmp_path).config
    assert (config.ff_activation, config.mem_len) == ("gelu_erf", 0)
    assert config.untie_r  # which theirs ignores
    one_head = XLNET.config_from_huggingface({"n_head": 1, "d_model": 6}, "path")
    assert one_head.d_head == 6
    for changes, message in (
        ({"n_head": 0}, "n_head must be a positive integer"),
        ({"n_head": 3}, "sets d_model to 8 and n_head to 3; the width must be a mul"),
        ({"d_head": 2}, "sets d_head to 2, expected 4"),
        ({"attn_type": "uni"}, "sets attn_type to 'uni', expected 'bi'"),
        ({"ff_activation": "mish"}, "ff_activation to 'mish', expected one of gelu"),
        ({"summary_type": "attn"}, "summary_type to 'attn', expected 'last'"),
    ):
        path.write_text(json.dumps({**entries, **changes}))
        with pytest.raises(UserError, match=message):
            type(model).from_pretrained(tmp_path)


def test_damaged_tensors(theirs, tmp_path):
    model = XLNetLMHeadModel(theirs)
    model.save_pretrained(tmp_path, format="huggingface")
    (tmp_path / "SHA256SUMS").unlink(missing_ok=True)
    path = tmp_path / "model.safetensors"
    kept = safetensors.load_file(path)
    bias = "transformer.layer.0.rel_attn.r_w_bias"
    table = kept["transformer.word_embedding.weight"]
    lacking = {name: tensor for name, tensor in kept.items() if name != bias}
    for tensors, message in (
        (lacking, "holds r_w_bias for the layers 1; expected one"),
        ({**kept, bias: kept[bias][:1]}, "expected one for each"),
        ({**kept, "lm_loss.weight": table + 1}, "differs from transfor"),
    ):
        safetensors.save_file(tensors, path)
        with pytest.raises(UserError, match=message):
            XLNetLMHeadModel.from_pretrained(tmp_path)
    safetensors.save_file({**kept, "lm_loss.weight": table}, path)
    assert_same_weights(XLNetLMHeadModel.from_pretrained(tmp_path), model)


def test_what_others_cannot_express(xlnet_config, tmp_path):
    exact = XLNetModel(xlnet_config(ff_activation="gelu_erf"))
    with pytest.raises(UserError, match="official XLNet has no exact GELU"):
        exact.save_pretrained(tmp_path, format="tf1")
    with pytest.raises(UserError, match="3 heads of d_head=4 make 12, not d_model=8"):
        exact.save_pretrained(tmp_path, format="huggingface")
    assert not list(tmp_path.iterdir())


def test_a_file_of_keras(xlnet_config, xlnet_features, tmp_path):
    config = xlnet_config(n_layer=1)
    model = heads.XLNetForSequenceClassification(config, labels=["no", "so", "yes"])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.config == config and loaded.labels == ("no", "so", "yes")
    del xlnet_features["target_positions"]
    np.testing.assert_array_equal(loaded(xlnet_features), model(xlnet_features))
