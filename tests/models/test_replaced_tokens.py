"""The discriminator and its generator: their shared parts, results and files."""

import numpy as np
import pytest

from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.models.replaced_tokens import AlbertForReplacedTokens

SMALL = {"hidden_size": 4, "num_attention_heads": 1, "intermediate_size": 6}


@pytest.fixture
def model(tiny_config):
    return AlbertForReplacedTokens(tiny_config(), generator=SMALL)


def test_the_generator_shares_the_embeddings_alone(model, tiny_features):
    shared = {v.path for v in model.albert.embeddings.weights}
    of_generator = {v.path for v in model.generator.weights}
    of_discriminator = {v.path for v in model.albert.weights}
    assert of_generator & of_discriminator == shared
    names = [v.path for v in model.trainable_variables]
    assert len(set(names)) == len(names)
    before = np.array(model.guesses(tiny_features))
    assert before.shape == (2, 3, model.config.vocab_size)
    table = model.albert.embeddings.word_embeddings
    table.assign(np.array(table) * 1.5)
    assert np.abs(np.array(model.guesses(tiny_features)) - before).max() > 1e-3


@pytest.mark.slow
def test_it_is_saved_with_and_without_its_generator(model, tiny_features, tmp_path):
    model.save_pretrained(tmp_path / "both")
    both = AlbertForReplacedTokens.from_pretrained(tmp_path / "both")
    assert both.generator_changes == SMALL
    features = {k: v for k, v in tiny_features.items() if k != "masked_lm_positions"}
    np.testing.assert_array_equal(both(features), model(features))
    np.testing.assert_array_equal(
        both.guesses(tiny_features), model.guesses(tiny_features)
    )
    alone = AlbertForReplacedTokens.from_pretrained(tmp_path / "both", generator=None)
    assert alone.generator is None
    np.testing.assert_array_equal(alone(features), model(features))
    alone.save_pretrained(tmp_path / "alone")
    again = AlbertForReplacedTokens.from_pretrained(tmp_path / "alone")
    assert again.generator is None
    encoder = AlbertModel.from_pretrained(tmp_path / "alone")
    np.testing.assert_array_equal(
        encoder(features)["sequence_output"], model.albert(features)["sequence_output"]
    )


def test_a_generator_that_is_not_kept_leaves_no_weights(tiny_config, tmp_path):
    model = AlbertForReplacedTokens(tiny_config(), SMALL, keep_generator=False)
    model.save_pretrained(tmp_path)
    names = set(bundle.open(tmp_path).tensors)
    for own in (names, model.official_variables()):
        assert not [name for name in own if name.startswith("generator")]
    assert {"discriminator_predictions/dense/kernel"} < names
    with pytest.raises(UserError, match="leave its embedding_size out"):
        AlbertForReplacedTokens(tiny_config(), generator={"embedding_size": 4})
