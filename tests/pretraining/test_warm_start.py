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


@pytest.fixture
def config(material):
    return AlbertConfig.from_json_file(material / "config.json")


@pytest.fixture
def started(options, tmp_path):
    """Starts a model of a configuration from one of another; returns both weights."""

    def start(config, other, **flags):
        saved = albert_tf.AlbertForPreTraining(other)
        saved.save_pretrained(tmp_path / "start")
        bundled = bundle.open(tmp_path / "start")
        model = initial_model(options(**flags), config, OBJECTIVES["sop"], bundled)
        return model.official_variables(), saved.official_variables()

    return start


def test_a_deeper_model_starts_from_a_shallower_one(config, started, lines):
    deep = dataclasses.replace(config, num_hidden_layers=4, num_hidden_groups=2)
    found, weights = started(deep, config)
    assert "  layers: 4, from 1" in lines
    for name, value in found.items():
        origin = weights[name.replace("group_1", "group_0")]
        np.testing.assert_array_equal(value, origin, err_msg=name)


@pytest.mark.slow
def test_init_from_group0_is_the_official_rule(config, started, lines):
    two, four = (
        dataclasses.replace(config, num_hidden_layers=n, num_hidden_groups=n)
        for n in (2, 4)
    )
    origins = []
    for official in (False, True):
        lines.clear()
        started(four, two, init_from_group0=official)
        moved = [line for line in lines if ", attention: from" in line]
        origins.append([line.split("from ")[1][:7] for line in moved])
    assert origins == [["group_0", "group_1", "group_1"], ["group_0", "group_0"]]


def test_init_layers_may_be_the_mean_of_the_checkpoints(config, started):
    two = dataclasses.replace(config, num_hidden_layers=2, parameter_sharing="none")
    shared = dataclasses.replace(two, parameter_sharing="all")
    for init_layers, share in (("first", 0.0), ("mean", 0.5)):
        found, old = started(shared, two, init_layers=init_layers)
        for name in (name for name in old if "group_1/" in name):
            first = name.replace("group_1/", "group_0/")
            expected = (1 - share) * old[first] + share * old[name]
            np.testing.assert_allclose(found[first], expected, atol=1e-7)


def test_a_checkpoint_of_another_vocabulary_is_refused(options, tokenizer, tmp_path):
    tokenizer.save(tmp_path / "start")
    start = {"init_checkpoint": tmp_path / "start"}
    own, named = (
        load_tokenizer(options(**start, **changes))
        for changes in ({"spm_model_file": None}, {})
    )
    assert own.fingerprint() == named.fingerprint()
    with pytest.raises(UserError, match="is not the vocabulary"):
        load_tokenizer(options(do_lower_case=False, **start))
