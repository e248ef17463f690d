"""Official TF1 checkpoints and TF-Hub variables, both ways, and warm starts."""

import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf import bundle
from albert_tf.bundle import warm_start
from albert_tf.checkpoints.tf1 import save_tf1_checkpoint
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.families.layer_sharing import FIRST
from albert_tf.families.layer_sharing import GROUP0
from albert_tf.families.layer_sharing import MEAN
from albert_tf.families.layer_sharing import move_layers
from albert_tf.models.albert import AlbertModel
from albert_tf.models.pretraining import AlbertForPreTraining
from tests.checkpoints.conftest import write_tf1


def tensors_of(model):
    return {name: v.numpy() for name, v in model.official_variables().items()}


def test_names_of_the_released_chinese_checkpoint(shared):
    # Google's own file: name, shape and dtype a line.
    path = shared("data/tf1_variable_names/albert_base_zh_google.txt")
    released = {}
    for line in path.read_text().splitlines():
        name, shape, _ = line.split("\t")
        released[name] = tuple(int(n) for n in shape.strip("[]").split(",") if n)
    del released["global_step"]
    model = AlbertForPreTraining(AlbertConfig.released("base_zh"))
    ours = {n: tuple(v.shape) for n, v in model.official_variables().items()}
    assert ours == released


def test_official_file_round_trips_bit_for_bit(shared, tmp_path):
    folder = shared("fixtures/official_tf1_lamb")
    config = AlbertConfig.from_json_file(folder / "albert_config.json")
    model = AlbertForPreTraining(config)
    report = albert_tf.load_tf1_checkpoint(model, folder / "model.ckpt-0")
    assert len(report.loaded) == 32
    assert not (report.missing or report.unexpected or report.wrong_shape)
    save_tf1_checkpoint(model, tmp_path / "out" / "model.ckpt-best")
    first = tf.train.load_checkpoint(str(folder / "model.ckpt-0"))
    second = tf.train.load_checkpoint(str(tmp_path / "out" / "model.ckpt-best"))
    shapes = first.get_variable_to_shape_map()
    assert second.get_variable_to_shape_map() == shapes
    for name in shapes:
        a, b = first.get_tensor(name), second.get_tensor(name)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    assert AlbertForPreTraining.from_pretrained(tmp_path / "out").config == config
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "SHA256SUMS",
        "albert_config.json",
        "model.ckpt-best.data-00000-of-00001",
        "model.ckpt-best.index",
    }


@pytest.mark.slow
@pytest.mark.parametrize("sharing", ["attention", "ffn", "none"])
def test_partial_sharing_is_written_as_groups(
    sharing, tiny_config, tiny_features, tmp_path
):
    config = tiny_config(
        parameter_sharing=sharing, num_hidden_layers=2, inner_group_num=2
    )
    model = AlbertModel(config)
    save_tf1_checkpoint(model, tmp_path / "model.ckpt-best")
    loaded = AlbertModel.from_pretrained(tmp_path)
    assert loaded.config.parameter_sharing == "all"
    assert loaded.config.num_hidden_groups == 2
    found, expected = (m(tiny_features)["sequence_output"] for m in (loaded, model))
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_optimizer_slots_are_ignored(tiny_config, tmp_path):
    model = AlbertModel(tiny_config())
    found = tensors_of(model)
    found |= {f"{n}/{s}": t for n, t in found.items() for s in ("adam_m", "adam_v")}
    write_tf1(tmp_path / "model.ckpt-5", {**found, "global_step": np.int64(5)})
    report = albert_tf.load_tf1_checkpoint(model, tmp_path / "model.ckpt-5")
    assert report.unexpected == ()


@pytest.mark.parametrize("scope", ["", "module/"])
def test_hub_variables(scope, tiny_config, tmp_path):
    source = AlbertForPreTraining(tiny_config())
    tensors = tensors_of(source)
    hub = {
        scope + name: tensor
        for name, tensor in tensors.items()
        if not name.startswith("cls/seq_relationship")
    }
    write_tf1(tmp_path / "variables" / "variables", hub)
    model = AlbertForPreTraining(tiny_config())
    with pytest.raises(UserError, match="lacks cls/seq_relationship/output_weights"):
        albert_tf.load_tfhub_variables(model, tmp_path)
    missing = ["cls/seq_relationship"]
    report = albert_tf.load_tfhub_variables(model, tmp_path, allow_missing=missing)
    assert len(report.loaded) == 30
    (tmp_path / "assets").mkdir()
    tiny_config().to_json_file(tmp_path / "assets" / "albert_config.json")
    encoder = AlbertModel.from_pretrained(tmp_path)
    for name, variable in encoder.official_variables().items():
        np.testing.assert_array_equal(variable, tensors[name])


@pytest.mark.slow
def test_a_named_step_of_several(tiny_config, tmp_path):
    models = [AlbertModel(tiny_config()) for _ in range(2)]
    for step, model in enumerate(models):
        save_tf1_checkpoint(model, tmp_path / f"model.ckpt-{step}")
    with pytest.raises(UserError, match="several checkpoints: name one, such as"):
        AlbertModel.from_pretrained(tmp_path)
    loaded = AlbertModel.from_pretrained(tmp_path / "model.ckpt-0")
    np.testing.assert_array_equal(loaded.pooler.kernel, models[0].pooler.kernel)
    (tmp_path / "checkpoint").write_text("no state")
    with pytest.raises(UserError, match="several checkpoints: name one, such as"):
        AlbertModel.from_pretrained(tmp_path)
    save_tf1_checkpoint(models[1], tmp_path / "model.ckpt-best")
    best = AlbertModel.from_pretrained(tmp_path)
    np.testing.assert_array_equal(best.pooler.kernel, models[1].pooler.kernel)


def test_another_configuration_is_refused(tiny_config, tmp_path):
    two = {"num_hidden_groups": 2}
    for number, (saved, changes, message) in enumerate(
        (
            ({}, two, "lacks bert/encoder/transformer/group_1"),
            ({}, {"embedding_size": 8}, r"word_embeddings with shape \[37, 6\]"),
            (two, {}, "has no place for: .*group_1"),
        )
    ):
        path = tmp_path / str(number) / "model.ckpt-best"
        save_tf1_checkpoint(AlbertModel(tiny_config(**saved)), path)
        model = AlbertModel(tiny_config(**changes))
        before = model.get_weights()
        with pytest.raises(UserError, match=message):
            albert_tf.load_tf1_checkpoint(model, path)
        for array, weights in zip(before, model.get_weights(), strict=True):
            np.testing.assert_array_equal(array, weights)


def test_what_is_no_checkpoint_of_the_model(tiny_config, tmp_path):
    model, prefix = AlbertModel(tiny_config()), tmp_path / "model.ckpt-best"

    def refused(message, **options):
        with pytest.raises(UserError, match=message):
            albert_tf.load_tf1_checkpoint(model, prefix, **options)

    refused("There is no checkpoint")
    write_tf1(prefix, {"dense/kernel": np.zeros((2, 2), "float32")})
    refused("holds no tensor that fits", allow_missing=[""])
    save_tf1_checkpoint(model, prefix)
    (tmp_path / "albert_config.json").unlink()
    (tmp_path / "SHA256SUMS").unlink()
    with pytest.raises(UserError, match=r"no albert_config\.json beside it"):
        AlbertModel.from_pretrained(tmp_path)
    for name in ("data-00000-of-00001", "index"):
        (tmp_path / f"{prefix.name}.{name}").write_bytes(b"")
        refused("is damaged")


def groups(layers, groups, sharing="all"):
    sizes = {"num_hidden_layers": layers, "num_hidden_groups": groups}
    return AlbertConfig(10, parameter_sharing=sharing, **sizes)


def moved(source, target, **options):
    """From which group each group of `target` comes: (attention, feed-forward)."""
    tensors = {"bert/pooler/dense/bias": -1}
    for number in range(source.num_hidden_layers):
        scope = f"bert/encoder/transformer/group_{number}/inner_group_0"
        tensors[f"{scope}/attention_1/self/query/bias"] = np.float32(number)
        tensors[f"{scope}/ffn_1/intermediate/dense/bias"] = np.float32(number)
    tensors, _ = move_layers(tensors, source, target, **options)
    assert tensors.pop("bert/pooler/dense/bias") == -1
    attention = {n.split("/")[3]: t for n, t in tensors.items() if "query" in n}
    feed_forward = {n.split("/")[3]: t for n, t in tensors.items() if "ffn" in n}
    return list(attention.values()), list(feed_forward.values())


@pytest.mark.parametrize(
    ("source", "target", "rule", "expected"),
    [
        (groups(6, 1), groups(12, 1), FIRST, [0]),
        (groups(4, 2), groups(8, 4), FIRST, [0, 0, 1, 1]),
        (groups(4, 4), groups(4, 2), FIRST, [0, 2]),
        (groups(4, 2), groups(4, 1, "none"), FIRST, [0, 0, 1, 1]),
        # What is missing comes from group 0 by the official rule.
        (groups(4, 2), groups(8, 4), GROUP0, [0, 1, 0, 0]),
        (groups(4, 1, "none"), groups(4, 1), MEAN, [1.5]),
        (groups(4, 4), groups(8, 1), MEAN, [1.5]),
        (groups(4, 4), groups(2, 2), MEAN, [0.5, 2.5]),
        (groups(3, 3), groups(2, 2), MEAN, [0, 1.5]),
    ],
)
def test_where_layers_come_from(source, target, rule, expected):
    assert moved(source, target, rule=rule) == (expected, expected)


def test_sublayers_move_apart_where_only_one_is_shared():
    source, target = groups(4, 1, "attention"), groups(4, 2)
    assert moved(source, target) == ([0, 0], [0, 2])


def test_another_width_is_an_error(tiny_config, tmp_path):
    AlbertForPreTraining(tiny_config()).save_pretrained(tmp_path)
    config = tiny_config(intermediate_size=24)
    with pytest.raises(UserError, match="intermediate_size=20, .* has 24; the two may"):
        warm_start(AlbertForPreTraining, bundle.open(tmp_path), config, FIRST, ())
