"""A run that starts from a checkpoint: whose weights each layer takes."""

import dataclasses

import numpy as np
import pytest

import albert_tf
from albert_tf import bundle
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.objectives.masked_lm import OBJECTIVES
from albert_tf.pretraining.initial_model import initial_model
from albert_tf.pretraining.initial_model import load_tokenizer


def test_a_deeper_model_starts_from_a_shallower_one(options, lines, tmp_path):
    config = AlbertConfig.from_json_file(options().albert_config_file)
    shallow = albert_tf.AlbertForPreTraining(config)
    shallow.save_pretrained(tmp_path / "shallow")
    config = dataclasses.replace(config, num_hidden_layers=4, num_hidden_groups=2)
    start = bundle.open(tmp_path / "shallow")
    deep = initial_model(options(), config, OBJECTIVES["sop"], start)
    assert "  layers: 4, from 1" in lines
    weights = shallow.official_variables()
    for name, value in deep.official_variables().items():
        origin = weights[name.replace("group_1", "group_0")]
        np.testing.assert_array_equal(value, origin, err_msg=name)


def test_init_from_group0_is_the_official_rule(options, lines, tmp_path):
    config = AlbertConfig.from_json_file(options().albert_config_file)
    config = dataclasses.replace(config, num_hidden_layers=2, num_hidden_groups=2)
    albert_tf.AlbertForPreTraining(config).save_pretrained(tmp_path / "two")
    config = dataclasses.replace(config, num_hidden_layers=4, num_hidden_groups=4)
    origins = []
    for official in (False, True):
        lines.clear()
        start = bundle.open(tmp_path / "two")
        flags = options(init_from_group0=official)
        initial_model(flags, config, OBJECTIVES["sop"], start)
        moved = [line for line in lines if ", attention: from" in line]
        origins.append([line.split("from ")[1][:7] for line in moved])
    assert origins == [["group_0", "group_1", "group_1"], ["group_0", "group_0"]]


@pytest.mark.slow
def test_init_layers_may_be_the_mean_of_the_checkpoints(options, lines, tmp_path):
    config = AlbertConfig.from_json_file(options().albert_config_file)
    unshared = dataclasses.replace(
        config, num_hidden_layers=2, parameter_sharing="none"
    )
    two = albert_tf.AlbertForPreTraining(unshared)
    two.save_pretrained(tmp_path / "two")
    layers = [name for name in two.official_variables() if "group_1/" in name]
    shared = dataclasses.replace(unshared, parameter_sharing="all")
    for init_layers, share in (("first", 0.0), ("mean", 0.5)):
        start, flags = bundle.open(tmp_path / "two"), options(init_layers=init_layers)
        model = initial_model(flags, shared, OBJECTIVES["sop"], start)
        found, old = model.official_variables(), two.official_variables()
        for name in layers:
            first = name.replace("group_1/", "group_0/")
            expected = (1 - share) * old[first] + share * old[name]
            np.testing.assert_allclose(found[first], expected, atol=1e-7)
    with pytest.raises(UserError, match="exclude each other; pass one of them"):
        _ = options(init_layers="mean", init_from_group0=True).init_rule


def test_a_checkpoint_of_another_vocabulary_is_refused(options, material, tmp_path):
    albert_tf.load_tokenizer(material / "vocab.model").save(tmp_path / "start")
    start = {"init_checkpoint": tmp_path / "start"}
    own, named = (
        load_tokenizer(options(**start, **changes))
        for changes in ({"spm_model_file": None}, {})
    )
    assert own.fingerprint() == named.fingerprint()
    with pytest.raises(UserError, match="is not the vocabulary"):
        load_tokenizer(options(do_lower_case=False, **start))
