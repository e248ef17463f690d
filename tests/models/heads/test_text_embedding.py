"""Models that give a vector for each text."""

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.models.text_embedding import AlbertForTextEmbedding
from albert_tf.xlnet.heads import XLNetForTextEmbedding


@pytest.fixture
def features(tiny_features):
    names = ("input_ids", "input_mask", "segment_ids")
    return {name: tiny_features[name] for name in names}


@pytest.mark.slow
def test_poolings(tiny_config, features, tmp_path):
    AlbertModel(tiny_config(num_hidden_layers=3)).save_pretrained(tmp_path)
    encoder = AlbertModel.from_pretrained(tmp_path)(features)
    hidden, mask = np.array(encoder["sequence_output"]), features["input_mask"]
    mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    expected = {
        "mean": mean,
        "cls": hidden[:, 0],
        "pooler": np.array(encoder["pooled_output"]),
    }
    for pooling, vectors in expected.items():
        model = AlbertForTextEmbedding.from_pretrained(
            tmp_path, pooling=pooling, normalize=False
        )
        np.testing.assert_allclose(model(features), vectors, atol=1e-5)
    second = np.array(encoder["hidden_states"][1])[:, 0]
    for options in ({"layer": 2}, {"layer": -2}, {"layer": 2, "depth_loop": True}):
        model = AlbertForTextEmbedding.from_pretrained(
            tmp_path, pooling="cls", **options
        )
        np.testing.assert_allclose(model(features), second, atol=1e-5)


def test_several_texts_of_a_row(tiny_config, features):
    model = AlbertForTextEmbedding(tiny_config())
    expected = model(features).numpy()
    two = {name: np.stack([value, value[::-1]], 1) for name, value in features.items()}
    found = model(two).numpy()
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-6)
    np.testing.assert_allclose(found[:, 1], expected[::-1], atol=1e-6)


def test_xlnet(xlnet_config, xlnet_tokenizer):
    model = XLNetForTextEmbedding(xlnet_config(), "cls", normalize=False)
    features = xlnet_tokenizer(["a good film", "it was a very bad film"])
    last = model.encoder()(features)["sequence_output"][:, -1]
    np.testing.assert_allclose(model(features), last, atol=1e-6)
    mean = XLNetForTextEmbedding(xlnet_config())
    short = xlnet_tokenizer(["a good film"])
    np.testing.assert_allclose(mean(features)[0], mean(short)[0], atol=1e-5)
    with pytest.raises(UserError, match="pooling='pooler': expected one of mean, cls"):
        XLNetForTextEmbedding(xlnet_config(), "pooler")


@pytest.mark.parametrize(
    ("pooling", "layer", "message"),
    [
        ("max", -1, "pooling='max': expected one of mean, cls, pooler"),
        ("mean", 0, "layer=0: the model has the layers 1 to 2"),
        ("pooler", 1, "pooling='pooler' reads the last layer, not layer=1"),
    ],
)
def test_what_a_model_cannot_pool(pooling, layer, message, tiny_config):
    with pytest.raises(UserError, match=message):
        AlbertForTextEmbedding(tiny_config(num_hidden_layers=2), pooling, layer)
