"""Replaced-token detection: draws, losses, and the variables that they train."""

import dataclasses
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf import bundle
from albert_tf.config import AlbertConfig
from albert_tf.engine.flags import TrainerOptions
from albert_tf.engine.train_step import TrainStep
from albert_tf.errors import UserError
from albert_tf.layers.base import fold_seed
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.models.replaced_tokens import AlbertForReplacedTokens
from albert_tf.objectives.flags import GeneratorFlags
from albert_tf.objectives.replaced_tokens import ReplacedTokensObjective
from albert_tf.objectives.replaced_tokens import drawn
from albert_tf.objectives.replaced_tokens import with_tokens
from albert_tf.optimizers import create_optimizer
from albert_tf.pretraining import run as command
from albert_tf.pretraining.by_objective import KINDS

SEED = tf.constant([3, 4])


@pytest.fixture
def batch():
    return {
        "input_ids": tf.constant([[2, 4, 7, 4, 3], [2, 8, 4, 3, 0]]),
        "input_mask": tf.constant([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]]),
        "segment_ids": tf.zeros([2, 5], tf.int32),
        "masked_lm_positions": tf.constant([[1, 3], [2, 0]]),
        "masked_lm_ids": tf.constant([[5, 6], [9, 0]]),
        "masked_lm_weights": tf.constant([[1.0, 1.0], [1.0, 0.0]]),
    }


@pytest.fixture
def model(tiny_config):
    return AlbertForReplacedTokens(tiny_config(), generator={"num_hidden_layers": 1})


def test_the_generators_shape_and_the_cost_of_both_networks(model):
    config = AlbertConfig.released("base_v2")
    sizes = {
        "num_attention_heads": 3,
        "hidden_size": 192,
        "intermediate_size": 768,
        "num_hidden_layers": 12,
        "num_hidden_groups": 1,
        "depth_adapter_rank": 0,
    }
    assert GeneratorFlags().config_changes(config) == sizes
    assert GeneratorFlags().config_changes(model.config)["num_attention_heads"] == 1
    least = GeneratorFlags(generator_hidden_size=0.01, generator_layers=0.01)
    found = least.config_changes(model.config)  # of heads of 4
    ones = {"num_attention_heads": 1, "intermediate_size": 1, "num_hidden_layers": 1}
    assert found == {**sizes, **ones, "hidden_size": 4}
    unshared = AlbertConfig.released("base_v2", num_hidden_groups=12)
    found = GeneratorFlags(generator_layers=0.2).config_changes(unshared)
    assert (found["num_hidden_layers"], found["num_hidden_groups"]) == (2, 2)
    kind = KINDS["replaced_tokens"]
    found = kind.networks(model, 3)
    assert found == [(model.config, 0), (model.generator.config, 3)]
    alone = KINDS["masked_lm"].training_flops(model, 8, 0)
    assert kind.training_flops(model, 8, 3) > alone


def test_tokens_are_drawn_by_their_probabilities(batch):
    placed = with_tokens(batch, batch["masked_lm_ids"])
    assert placed.numpy().tolist() == [[2, 5, 7, 6, 3], [2, 8, 9, 3, 0]]
    logits = tf.math.log(tf.tile([[[0.1, 0.6, 0.3]]], [4, 5000, 1]))
    found = drawn(logits, SEED).numpy()
    shares = np.bincount(found.ravel()) / found.size
    np.testing.assert_allclose(shares, [0.1, 0.6, 0.3], atol=0.01)
    np.testing.assert_array_equal(drawn(logits, SEED), found)
    assert (drawn(logits, SEED + 1).numpy() != found).any()
    assert (drawn(logits / 1e-6, SEED).numpy() == 1).all()


def test_the_loss_is_that_of_its_parts(model, batch):
    objective = ReplacedTokensObjective(2.0, 10.0)
    outputs = objective.outputs(model, batch, training=False, dropout_seed=None)
    losses, metrics = objective(model, batch, training=False, dropout_seed=None)
    logits = outputs["replaced_logits"].numpy()
    labels = outputs["is_replaced"].numpy()
    real = batch["input_mask"].numpy()
    sigmoid = 1 / (1 + np.exp(-logits))
    entropy = -np.where(labels > 0, np.log(sigmoid), np.log(1 - sigmoid))
    expected = (entropy * real).sum()
    np.testing.assert_allclose(losses["replaced_tokens"], expected, rtol=1e-5)
    right = ((logits > 0) == (labels > 0)) * real
    assert metrics["replaced_tokens_accuracy"] == (right.sum(), 9)
    found = metrics["replaced_tokens_recall"]
    assert [float(value) for value in found] == [(right * labels).sum(), labels.sum()]
    denominators = objective.denominators(batch)
    assert denominators == {"masked_lm": 3, "replaced_tokens": 9}
    assert objective.scales == {"masked_lm": 2.0, "replaced_tokens": 10.0}


def test_generator_and_discriminator_drop_apart(batch):
    """And apart from the draws; an evaluation always draws the same."""
    model = mock.Mock(return_value=tf.zeros([2, 5]))
    model.guesses.return_value = tf.zeros([2, 2, 10])
    for seed, of_generator in ((SEED, fold_seed(SEED, 7)), (None, None)):
        ReplacedTokensObjective().outputs(model, batch, True, seed)
        calls = model.guesses.call_args, model.call_args
        found = [call.kwargs["dropout_seed"] for call in calls]
        for one, expected in zip(found, (of_generator, seed), strict=True):
            np.testing.assert_array_equal(one, expected)
        of_draws = fold_seed([0, 0] if seed is None else seed, -5)
        expected = with_tokens(batch, drawn(tf.zeros([2, 2, 10]), of_draws))
        np.testing.assert_array_equal(model.call_args.args[0]["input_ids"], expected)


def test_a_right_guess_is_not_replaced(model, batch):
    """At a low temperature the likeliest token is drawn."""
    likeliest = with_tokens(batch, np.argmax(model.guesses(batch), axis=-1))
    cold = ReplacedTokensObjective(temperature=1e-5)
    for seed in (SEED, SEED + 1):
        found = cold.outputs(model, batch, False, seed)["is_replaced"]
        whole = with_tokens(batch, batch["masked_lm_ids"])
        np.testing.assert_array_equal(found, likeliest != whole)
    # One token is certain, and is that of the text in one of its three places.
    bias = np.full(model.config.vocab_size, -1e4, np.float32)
    bias[5] = 0.0
    model.generator_head.output_bias.assign(bias)
    outputs = ReplacedTokensObjective().outputs(model, batch, False, SEED)
    expected = [[0, 0, 0, 1, 0], [0, 0, 1, 0, 0]]
    assert outputs["is_replaced"].numpy().tolist() == expected


def test_the_discriminator_does_not_teach_the_generator(model, batch):
    objective = ReplacedTokensObjective()
    with tf.GradientTape(persistent=True) as tape:
        losses, _ = objective(model, batch, training=True, dropout_seed=SEED)
    generator = model.generator.transformer.trainable_variables[0].value
    discriminator = model.albert.transformer.trainable_variables[0].value
    words = model.albert.embeddings.word_embeddings.value
    found = losses["replaced_tokens"]
    assert tape.gradient(found, generator) is None
    assert tape.gradient(found, discriminator) is not None
    assert tape.gradient(losses["masked_lm"], discriminator) is None
    for loss in losses.values():  # the shared table learns from both
        assert tape.gradient(loss, words) is not None


def test_both_losses_count_by_their_weights(model, batch):
    objective = ReplacedTokensObjective(2.0, 10.0)
    optimizer = create_optimizer("adamw", 1e-3, 10)
    optimizer.build(model.trainable_variables)
    options = TrainerOptions(output_dir="", num_train_steps=1, use_xla=False)
    step = TrainStep(model, objective, optimizer, options)
    denominators = objective.denominators(batch)
    found, *_ = step._micro_batch_gradients(batch, denominators, SEED)
    words = model.albert.embeddings.word_embeddings  # which both losses reach
    with tf.GradientTape() as tape:
        losses, _ = objective(model, batch, training=True, dropout_seed=SEED)
        means = {name: loss / denominators[name] for name, loss in losses.items()}
        loss = 2.0 * means["masked_lm"] + 10.0 * means["replaced_tokens"]
    expected = tf.convert_to_tensor(tape.gradient(loss, words.value))
    place = [v.path for v in model.trainable_variables].index(words.path)
    np.testing.assert_allclose(found[place], expected, rtol=1e-4, atol=1e-6)


@pytest.fixture
def settings(settings):
    """Makes the settings of a run on the records of the masked LM."""
    values = {"objective": "replaced_tokens", "generator_hidden_size": 0.5}
    return lambda **changes: settings(**{**values, "disc_weight": 5, **changes})


@pytest.mark.slow
def test_train_evaluate_and_fine_tune(run, settings, tmp_path):
    kind = KINDS["replaced_tokens"]
    objective = kind.objective(None, settings(gen_weight=2, temperature=0.5))
    assert objective.scales == {"masked_lm": 2.0, "replaced_tokens": 5.0}
    assert objective.temperature == 0.5
    found = run(num_train_steps=2, keep_generator=True, do_eval=True)
    loss = found["masked_lm_loss"] + 5 * found["replaced_tokens_loss"]
    np.testing.assert_allclose(found["loss"], loss)
    folder = tmp_path / "model"
    assert not list((folder / "checkpoints").glob("best-*"))
    saved = AlbertForReplacedTokens.from_pretrained(folder)
    assert saved(np.array([[2, 7, 8, 3]])).shape == (1, 4)
    sizes = saved.generator.config
    assert (sizes.hidden_size, sizes.intermediate_size) == (4, 8)
    config = AlbertConfig.from_json_file(folder / "albert_config.json")
    evaluated = kind.trained_model(folder, settings(), config)
    np.testing.assert_equal(evaluated.get_weights(), saved.get_weights())
    other = dataclasses.replace(config, hidden_dropout_prob=0.25)
    with pytest.raises(UserError, match="holds a model whose configuration differs fr"):
        kind.trained_model(folder, settings(), other)
    alone = {"do_train": False, "do_eval": True, "init_checkpoint": folder}
    again = run(**alone, output_dir=tmp_path / "evaluated")
    assert again == pytest.approx(found)
    assert [path.name for path in (tmp_path / "evaluated").glob("*.txt")]
    assert command._trained_model(settings()) == str(folder)
    classifier_class = albert_tf.AlbertForSequenceClassification
    classifier = classifier_class.from_pretrained(folder, num_labels=2)
    words = [m.albert.embeddings.word_embeddings for m in (classifier, saved)]
    np.testing.assert_array_equal(*words)
    saved.keep_generator = False
    saved.save_pretrained(tmp_path / "without")
    with pytest.raises(UserError, match="keeps no generator.*--keep_generator"):
        kind.trained_model(tmp_path / "without", settings(), config)


@pytest.mark.parametrize("model_class", [AlbertForReplacedTokens, AlbertForPreTraining])
def test_a_run_starts_from_a_model_with_and_without_generator(
    settings, model_class, tmp_path, material
):
    config = AlbertConfig.from_json_file(material / "config.json")
    arguments = {"generator": settings().config_changes(config), "keep_generator": True}
    keeps = model_class is AlbertForReplacedTokens
    trained = model_class(config, **(arguments if keeps else {}))
    trained.save_pretrained(tmp_path / "start")
    start = settings(init_checkpoint=tmp_path / "start", keep_generator=True)
    kind, terms = KINDS["replaced_tokens"], ReplacedTokensObjective().terms
    model = kind.initial_model(start, config, terms, bundle.open(tmp_path / "start"))
    found, expected = model.official_variables(), trained.official_variables()
    shared = [name for name in expected if not name.startswith("cls/")]
    assert "bert/embeddings/word_embeddings" in shared
    for name in expected if keeps else shared:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)
