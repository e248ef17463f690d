"""The heads of tasks, on encoders of one layer."""

import functools
import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.models.classification import NO_CHOICE
from albert_tf.models.classification import AlbertForMultipleChoice
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.classification import AlbertForTokenClassification
from albert_tf.models.pretraining import AlbertForMaskedLM
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.models.question_answering import AlbertForAnswerableQuestions
from albert_tf.models.question_answering import AlbertForQuestionAnswering
from albert_tf.models.replaced_tokens import AlbertForReplacedTokens
from albert_tf.models.text_embedding import AlbertForTextEmbedding
from albert_tf.tasks.registry import task_of
from albert_tf.xlnet.heads import XLNetForTextEmbedding


@pytest.fixture(scope="session")
def tiny_config(tiny_config):
    """Of one layer, which is enough below a head."""
    return lambda **changes: tiny_config(**{"num_hidden_layers": 1, **changes})


def test_head_initialiser_ignores_the_config(tiny_config):
    config = tiny_config(hidden_size=192, initializer_range=0.3)
    model = AlbertForSequenceClassification(config, num_labels=9)
    weights = model.classifier.output_weights.numpy()
    assert 0.015 < weights.std() < 0.02  # truncated at two deviations
    assert np.abs(weights).max() <= 0.04
    kernel = model.albert.pooler.kernel.numpy()
    assert 0.24 < kernel.std() < 0.28


_TASK = {"name": "mood", "kind": "single_label", "labels": ["sad", "glad"]}


def task_of_head(model):
    return task_of({}, "the model", type(model), model.head_config())


def test_of_other_classes_nobody_knows_what_to_make(tiny_config):
    for labels in (["B-PER", "I-PER"], ["O", "person"], ["LABEL_0", "LABEL_1"]):
        model = AlbertForTokenClassification(tiny_config(), labels=labels)
        assert task_of_head(model) is None
    model = AlbertForTokenClassification(tiny_config(), labels=["NOUN", "VERB"])
    assert task_of_head(model).scheme == "plain"
    with pytest.raises(UserError, match="labels must be 3 different names, got O, O"):
        AlbertForTokenClassification(tiny_config(), 3, labels=["O", "O", "B-A"])
    for count in (None, 0):
        message = f"num_labels must be at least 1, got {count}"
        with pytest.raises(UserError, match=message):
            AlbertForTokenClassification(tiny_config(), count)
    for kind, labels, message in (
        ("ordinal", ["a"], "'ordinal': expected one of single_label, multi_label, reg"),
        ("regression", ["a"], "'regression' has no labels; leave them out"),
        ("multi_label", None, "'multi_label' needs labels"),
    ):
        with pytest.raises(UserError, match=f"^label_kind={message}"):
            AlbertForSequenceClassification(tiny_config(), 1, 0.1, labels, kind)


@pytest.mark.slow
def test_the_task_of_the_directory_is_kept(tiny_config, tmp_path):
    info = {"task": _TASK, "max_seq_length": 12, "step": 7, "dev": {"accuracy": 1.0}}
    own = AlbertForSequenceClassification(tiny_config(), num_labels=2)
    own.save_pretrained(tmp_path / "a", None, info)
    load = functools.partial(type(own).from_pretrained, tmp_path / "a")
    task = {name: _TASK[name] for name in ("name", "kind")}  # head.json has the labels
    kept = {"task": task, "max_seq_length": 12}  # and nothing of that run
    for changes in ({}, {"hidden_dropout_prob": 0.1}, {"depth_loop": True}):
        model = load(**changes)
        model.save_pretrained(tmp_path / "b")
        assert json.loads((tmp_path / "b" / "training_info.json").read_text()) == kept
    for changes in ({"num_labels": 3}, {"labels": ["LABEL_0", "LABEL_1"]}):
        assert load(**changes).task_info() is None  # other labels
    assert AlbertModel.from_pretrained(tmp_path / "a").task_info() is None
    model.save_pretrained(tmp_path / "c", training_info={"step": 1})
    info = json.loads((tmp_path / "c" / "training_info.json").read_text())
    assert info == {"step": 1}


def test_a_choice_that_is_padding_has_no_chance(tiny_config, tiny_features):
    random = np.random.default_rng(5)
    features = {
        "input_ids": random.integers(0, 37, (2, 3, 7), dtype="int32"),
        "input_mask": np.stack([tiny_features["input_mask"]] * 3, axis=1),
        "segment_ids": np.stack([tiny_features["segment_ids"]] * 3, axis=1),
    }
    model = AlbertForMultipleChoice(tiny_config())
    logits = model(features).numpy()
    features["input_mask"][0, 2] = 0
    features["input_ids"][1, :] = 0
    features["input_mask"][1, :] = 0
    found = model(features).numpy()
    assert found[0, 2] == NO_CHOICE
    np.testing.assert_allclose(found[0, :2], logits[0, :2], atol=1e-6)
    # The official padding of a batch is a question without any choice.
    assert np.all(found[1] > NO_CHOICE)
    rows = {name: value[0] for name, value in features.items()}
    with pytest.raises(UserError, match=r"2 axes, but .* \[batch, choices, tokens\]"):
        model(rows)


@pytest.mark.slow
def test_a_masked_lm_has_the_same_logits(tiny_config, tiny_features, tmp_path):
    keras.utils.set_random_seed(1)  # some weights magnify rounding
    pretrained = AlbertForPreTraining(tiny_config())
    pretrained.save_pretrained(tmp_path)
    model = AlbertForMaskedLM.from_pretrained(tmp_path)
    expected = pretrained(tiny_features)["masked_lm_logits"]
    np.testing.assert_allclose(model(tiny_features), expected, atol=1e-6)
    positions = tiny_features.pop("masked_lm_positions")
    everywhere = tf.gather(model(tiny_features), positions, batch_dims=1)
    np.testing.assert_allclose(everywhere, expected, atol=1e-6)
    states = pretrained(tiny_features, hidden_states=True)["hidden_states"]
    expected = pretrained(tiny_features)
    assert len(states) == 1 and "hidden_states" not in expected
    np.testing.assert_array_equal(states[0], expected["sequence_output"])
    # The best of the first 30 pieces.
    shares = tf.nn.softmax(everywhere[..., :30]).numpy()
    tiny_features["masked_lm_positions"] = positions
    for own in (model, pretrained):
        probabilities, ids = own.best_tokens(tiny_features, 3, vocab_size=30)
        np.testing.assert_array_equal(ids, np.argsort(-shares, -1)[..., :3])
        best = np.sort(shares, -1)[..., ::-1][..., :3]
        np.testing.assert_allclose(probabilities, best, atol=1e-6)


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name], name)


def test_the_default_mask(tiny_config, tiny_features):
    # [CLS] q [SEP] a b c [SEP], and the second [CLS] q [SEP] a [SEP] pad pad
    model = AlbertForAnswerableQuestions(tiny_config())
    p_mask = np.array([[0, 1, 1, 0, 0, 0, 1], [0, 1, 1, 0, 1, 1, 1]])
    assert_same(model(tiny_features), model({**tiny_features, "p_mask": p_mask}))
    del tiny_features["input_mask"]
    p_mask[1] = p_mask[0]
    assert_same(model(tiny_features), model({**tiny_features, "p_mask": p_mask}))
    del tiny_features["segment_ids"]
    with pytest.raises(UserError, match="needs p_mask or segment_ids"):
        model(tiny_features)


def test_the_default_mask_of_roberta(tiny_config):
    #      <s> q </s></s> a b </s> <pad>
    ids = np.array([[0, 9, 2, 2, 8, 7, 2, 1], [0, 2, 2, 8, 2, 1, 1, 1]], "int32")
    features = {"input_ids": ids, "input_mask": (ids != 1).astype("int32")}
    config = tiny_config(padding_idx=1, parameter_sharing="none", type_vocab_size=1)
    model = AlbertForAnswerableQuestions(config)
    p_mask = np.array([[0, 1, 1, 1, 0, 0, 1, 1], [0, 1, 1, 0, 1, 1, 1, 1]])
    assert_same(model(features), model({**features, "p_mask": p_mask}))


def test_fewer_tokens_than_beams(tiny_config, tiny_features):
    model = AlbertForAnswerableQuestions(tiny_config(), start_n_top=9, end_n_top=8)
    outputs = model(tiny_features)
    assert outputs["start_top_index"].shape == (2, 7)
    assert outputs["end_top_index"].shape == (2, 49)
    for name in ("start_n_top", "end_n_top"):
        with pytest.raises(UserError, match=f"{name} must be at least 1, got 0"):
            AlbertForAnswerableQuestions(tiny_config(), **{name: 0})
    single = AlbertForAnswerableQuestions(tiny_config(), start_n_top=1, end_n_top=1)
    assert single(tiny_features)["end_top_index"].shape == (2, 1)


@pytest.mark.slow
def test_head_dropout(tiny_config, tiny_features):
    features = {**tiny_features, "start_positions": np.array([3, 3])}
    seed = np.array([1, 2], "int32")
    for probability, same in ((0.5, False), (0.0, True)):
        options = {"head_dropout_prob": probability}
        model = AlbertForAnswerableQuestions(tiny_config(), **options)
        found = model(features, training=True, dropout_seed=seed)
        plain = model(features)
        np.testing.assert_array_equal(found["end_log_probs"], plain["end_log_probs"])
        assert np.array_equal(found["cls_logits"], plain["cls_logits"]) is same


def test_the_pooler_is_left_alone(tiny_config):
    for model_class in (AlbertForQuestionAnswering, AlbertForAnswerableQuestions):
        names = [v.path for v in model_class(tiny_config()).trainable_variables]
        assert len(names) > 20
        assert not any("pooler" in name for name in names)
    config, unread = tiny_config(), ("bert/pooler",)
    assert AlbertForQuestionAnswering(config).unused_variables == unread
    assert AlbertForTokenClassification(config, 2).unused_variables == unread
    assert AlbertForSequenceClassification(config, 2).unused_variables == ()
    pooled = AlbertForTokenClassification(tiny_config(pooler_norm=True), 2)
    assert pooled.unused_variables == ()


@pytest.mark.slow
def test_poolings(tiny_config, features, tmp_path):
    AlbertModel(tiny_config(num_hidden_layers=3)).save_pretrained(tmp_path)
    encoder = AlbertModel.from_pretrained(tmp_path)(features)
    hidden, mask = np.array(encoder["sequence_output"]), features["input_mask"]
    mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    expected = {"mean": mean, "cls": hidden[:, 0], "pooler": encoder["pooled_output"]}
    for pooling, vectors in expected.items():
        options = {"pooling": pooling, "normalize": False}
        model = AlbertForTextEmbedding.from_pretrained(tmp_path, **options)
        np.testing.assert_allclose(model(features), vectors, atol=1e-5)
    second = np.array(encoder["hidden_states"][1])[:, 0]
    for options in ({"layer": 2}, {"layer": -2}, {"layer": 2, "depth_loop": True}):
        options["pooling"] = "cls"
        model = AlbertForTextEmbedding.from_pretrained(tmp_path, **options)
        np.testing.assert_allclose(model(features), second, atol=1e-5)


def test_a_prompt_may_be_left_out_of_the_mean(tiny_config, features):
    prompted = {**features, "input_mask": features["input_mask"].copy()}
    prompted["input_mask"][:, :2] = 2
    model = AlbertForTextEmbedding(tiny_config(), include_prompt=False)
    hidden = np.array(model.encoder()(features)["sequence_output"])  # sees it
    kept = prompted["input_mask"][..., None] == 1
    mean = (hidden * kept).sum(axis=1) / kept.sum(axis=1)
    np.testing.assert_allclose(model(prompted), mean, atol=1e-5)
    whole = AlbertForTextEmbedding(tiny_config())
    whole.set_weights(model.get_weights())
    np.testing.assert_allclose(whole(features), model(features), atol=1e-6)
    assert np.abs(whole(features) - model(prompted)).max() > 1e-3


def test_several_texts_of_a_row(tiny_config, features):
    model = AlbertForTextEmbedding(tiny_config())
    expected = model(features).numpy()
    two = {name: np.stack([value, value[::-1]], 1) for name, value in features.items()}
    found = model(two).numpy()
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-6)
    np.testing.assert_allclose(found[:, 1], expected[::-1], atol=1e-6)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("pool", [np.mean, np.max])
def test_windows_of_a_text(pool, normalize, tiny_config, features):
    model = AlbertForTextEmbedding(tiny_config(), normalize=normalize)
    one, two = model(features).numpy()
    options = {"normalize": normalize, "window_pooling": pool.__name__}
    pooling = AlbertForTextEmbedding(tiny_config(), **options)
    pooling.set_weights(model.get_weights())
    texts = {  # of two windows, of the second alone, and of none
        name: np.stack(
            [[*rows, 0 * rows[0]], [rows[1], *(0 * rows)], [0 * rows[0]] * 3]
        )
        for name, rows in features.items()
    }
    both = pool([one, two], axis=0)
    size = np.linalg.norm(both) if normalize else 1
    expected = [both / size, two, 0 * two]
    np.testing.assert_allclose(pooling(texts), expected, atol=1e-5)


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


def test_what_a_model_cannot_pool(tiny_config):
    config = tiny_config(num_hidden_layers=2, inner_group_num=2)
    assert AlbertForTextEmbedding(config, "pooler", 4).layer == -1
    for pooling, layer, message in (
        ("max", -1, "pooling='max': expected one of mean, cls, pooler"),
        ("mean", 0, "layer=0: the model has the layers 1 to 4"),
        ("mean", 5, "layer=5: the model has the layers 1 to 4"),
        ("mean", -5, "layer=-5: the model has the layers 1 to 4"),
        ("pooler", 1, "pooling='pooler' reads the last layer, not layer=1"),
    ):
        with pytest.raises(UserError, match=message):
            AlbertForTextEmbedding(config, pooling, layer)


@pytest.mark.parametrize(
    ("arguments", "form", "message"),
    [
        ({"layer": 1}, "huggingface", "reads the last layer, not layer=1"),
        ({"pooling": "pooler"}, "huggingface", "has no pooling 'pooler'"),
        ({"window_pooling": "max"}, "huggingface", "place for window_pooling='max'"),
        ({"window_pooling": "mean"}, "tf1", "place for window_pooling='mean'"),
    ],
)
def test_what_others_cannot_pool(arguments, form, message, tiny_config, tmp_path):
    model = AlbertForTextEmbedding(tiny_config(num_hidden_layers=2), **arguments)
    with pytest.raises(UserError, match=message):
        model.save_pretrained(tmp_path, format=form)


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
    copied = type(model).from_config(model.get_config())
    assert (copied.generator_changes, copied.keep_generator) == (SMALL, True)
    features = {k: v for k, v in tiny_features.items() if k != "masked_lm_positions"}
    np.testing.assert_array_equal(both(features), model(features))
    found, expected = both.guesses(tiny_features), model.guesses(tiny_features)
    np.testing.assert_array_equal(found, expected)
    alone = AlbertForReplacedTokens.from_pretrained(tmp_path / "both", generator=None)
    assert alone.generator is None
    np.testing.assert_array_equal(alone(features), model(features))
    alone.save_pretrained(tmp_path / "alone")
    again = AlbertForReplacedTokens.from_pretrained(tmp_path / "alone")
    assert again.generator is None
    encoder = AlbertModel.from_pretrained(tmp_path / "alone")
    found, own = (m(features)["sequence_output"] for m in (encoder, model.albert))
    np.testing.assert_array_equal(found, own)


def test_a_generator_that_is_not_kept_leaves_no_weights(tiny_config, tmp_path):
    model = AlbertForReplacedTokens(tiny_config(), SMALL, keep_generator=False)
    assert not type(model).from_config(model.get_config()).keep_generator
    model.save_pretrained(tmp_path)
    names = set(bundle.open(tmp_path).tensors)
    for own in (names, model.official_variables()):
        assert not [name for name in own if name.startswith("generator")]
    assert {"discriminator_predictions/dense/kernel"} < names
    with pytest.raises(UserError, match="leave its embedding_size out"):
        AlbertForReplacedTokens(tiny_config(), generator={"embedding_size": 4})
