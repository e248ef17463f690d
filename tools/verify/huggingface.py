"""Recordings of Hugging Face models: hidden states, logits, losses and gradients.

A folder is recognised by its checkpoint, an encoder of the `_ENCODERS` or an XLNet with
a task head, whose `config.json` names the model.
`inputs.npz` holds `input_ids` and `attention_mask` `[batch, tokens]` and labels under
Hugging Face's names; `odd/…` are inputs of a call of their own. `expected.npz` may hold

    hidden              embeddings and each layer, [layers + 1, batch, tokens, hidden]
    logits, or start_logits and end_logits
    loss                the mean
    token_loss          of labels of tokens, 0 without label
    grad/<name>         of the loss, by Hugging Face's names
    odd/…               of the other call

Of XLNet's head that says whether there is an answer, inputs are also `p_mask`,
`start_positions`, `end_positions`, `is_impossible` and `cls_index`, which is the last
token of each row; expected are `hidden` and

    train/…             start_logits, end_logits, cls_logits, with the true start;
                        start_loss, end_loss, cls_loss, loss
    train_no_cls/loss, train_no_p_mask/loss
                        without is_impossible, without p_mask
    beam/…, beam_no_p_mask/…
                        start_top_log_probs, start_top_index [batch, starts],
                        end_top_log_probs, end_top_index [batch, ends * starts], and
                        cls_logits; the "log_probs" are probabilities
    grad/<name>         of train/loss
"""

import tensorflow as tf

from albert_tf import bundle
from albert_tf.checkpoints.huggingface import architectures
from albert_tf.families import registry
from albert_tf.xlnet.heads import XLNetForQuestionAnswering
from tools.verify.recordings import Compared
from tools.verify.recordings import gradients_of
from tools.verify.recordings import huggingface_entries
from tools.verify.recordings import in_huggingface
from tools.verify.recordings import model_with_head
from tools.verify.recordings import prefixed
from tools.verify.recordings import read_recording
from tools.verify.recordings import require_inputs
from tools.verify.recordings import stacked_states
from tools.verify.recordings import without_masked

_ENCODERS = (
    "roberta",
    "xlm-roberta",
    "modernbert",
    "distilbert",
    "electra",
    "deberta-v2",
)
_FEATURES = ("input_ids", "attention_mask", "token_type_ids")
_ODD = "odd/"
_NO_LABEL = -100
_XLNET_HEADS = (
    "XLNetForMultipleChoice",
    "XLNetForQuestionAnswering",
    "XLNetForQuestionAnsweringSimple",
    "XLNetForTokenClassification",
)
_OF_ANSWERS = (
    *(*_FEATURES, "p_mask"),
    *("start_positions", "end_positions", "is_impossible"),
)
_LOG_PROBS = ("start_top_log_probs", "end_top_log_probs")


def knows(directory):
    """Returns whether a folder holds a Hugging Face model that this module verifies."""
    entries = huggingface_entries(directory)
    is_head = any(name in _XLNET_HEADS for name in architectures(entries))
    return entries.get("model_type") in _ENCODERS or is_head


def compare(directory, vocabulary=None):
    """Yields the `Compared` of the folder, which `knows` knows."""
    inputs, expected = read_recording(directory, "input_ids")
    checkpoint = bundle.open(directory)
    names = architectures(checkpoint.huggingface)
    model_class = _named_class(checkpoint.family, names) or registry.recognise(
        checkpoint.tensors, checkpoint.family, names
    )
    told = checkpoint.head_arguments(model_class)
    model = model_with_head(checkpoint, model_class, told)
    if model_class is XLNetForQuestionAnswering:
        require_inputs(directory, inputs, *_OF_ANSWERS)
        found = _answers(model, inputs)
        expected = _comparable(found, expected)
    else:
        found = _outputs(model, _features(inputs, ""))
        if f"{_ODD}input_ids" in inputs:
            found |= prefixed(_ODD, _outputs(model, _features(inputs, _ODD)))
        found |= _losses_and_gradients(model, inputs)
    yield Compared("", found, expected)


def _named_class(family, names):
    """Returns the class with a head for Hugging Face's names of a model, or None."""
    heads = {
        m.huggingface_architecture(): m
        for m in registry.models(family)
        if m.head_names()
    }
    return next((heads[name] for name in names if name in heads), None)


def _features(inputs, prefix):
    names = [name for name in _FEATURES if prefix + name in inputs]
    return {name: tf.constant(inputs[prefix + name]) for name in names}


def _outputs(model, features):
    outputs = _named(model(features))
    rows = features
    if model.feature_axes == 3:
        rows = {n: tf.reshape(v, (-1, v.shape[-1])) for n, v in features.items()}
    encoder = model.encoder()
    encoded = encoder(rows)
    if getattr(encoder, "embedding_mapping", None) is not None:
        # Theirs are as wide as the layers.
        mapped = encoder.first_block_input(encoded["embedding_output"])
        encoded = {**encoded, "embedding_output": mapped}
    return {"hidden": stacked_states(encoded), **outputs}


def _named(outputs):
    return outputs if isinstance(outputs, dict) else {"logits": outputs}


def _losses_and_gradients(model, inputs):
    """Computes losses, and gradients by Hugging Face's names; none without labels."""
    if not {"labels", "start_positions", "end_positions"} & inputs.keys():
        return {}
    with tf.GradientTape() as tape:
        outputs = _named(model(_features(inputs, "")))
        losses = _losses(outputs, inputs)
    gradients = in_huggingface(model, gradients_of(tape, losses["loss"], model))
    return {**losses, **prefixed("grad/", gradients)}


def _losses(outputs, inputs):
    cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits
    if "start_logits" in outputs:
        ends = [
            tf.reduce_mean(
                cross_entropy(inputs[f"{end}_positions"], outputs[f"{end}_logits"])
            )
            for end in ("start", "end")
        ]
        return {"loss": (ends[0] + ends[1]) / 2}
    labels, logits = tf.constant(inputs["labels"]), outputs["logits"]
    counts = labels != _NO_LABEL
    losses = cross_entropy(tf.where(counts, labels, 0), logits)
    losses = tf.where(counts, losses, 0.0)
    mean = tf.reduce_sum(losses) / tf.reduce_sum(tf.cast(counts, tf.float32))
    return {"loss": mean, "token_loss": losses}


def _answers(model, inputs):
    """Computes the arrays of the head that decides whether there is an answer."""
    features = {**_features(inputs, ""), "p_mask": tf.constant(inputs["p_mask"])}
    bare = {**features, "p_mask": tf.zeros_like(features["p_mask"])}
    with tf.GradientTape() as tape:
        training, without_class = _training(model, features, inputs)
    gradients = in_huggingface(model, gradients_of(tape, training["loss"], model))
    return {
        "hidden": stacked_states(model.encoder()(features)),
        **prefixed("beam/", _beams(model, features)),
        **prefixed("beam_no_p_mask/", _beams(model, bare)),
        **prefixed("train_no_p_mask/", _training(model, bare, inputs)[0]),
        **prefixed("train/", training),
        "train_no_cls/loss": without_class,
        **prefixed("grad/", gradients),
    }


def _beams(model, features):
    """Returns the beams in their order: all the best ends, then all the second best."""
    outputs = model(features)
    grid = (-1, *outputs["start_top_index"].shape[1:], model.head_config()["end_n_top"])
    for name in ("end_top_log_probs", "end_top_index"):
        by_start = tf.transpose(tf.reshape(outputs[name], grid), (0, 2, 1))
        outputs[name] = tf.reshape(by_start, outputs[name].shape)
    return {**outputs, **{name: tf.exp(outputs[name]) for name in _LOG_PROBS}}


def _training(model, features, inputs):
    """Returns the outputs and losses with the true start, and the loss without class.

    Logits are log-probabilities: both differ by a number for each row.
    """
    starts = inputs["start_positions"]
    outputs = model({**features, "start_positions": starts})
    logits = {f"{end}_logits": outputs[f"{end}_log_probs"] for end in ("start", "end")}
    losses = {
        f"{end}_loss": -tf.reduce_mean(
            tf.gather(
                outputs[f"{end}_log_probs"], inputs[f"{end}_positions"], batch_dims=1
            )
        )
        for end in ("start", "end")
    }
    losses["cls_loss"] = tf.reduce_mean(
        tf.nn.sigmoid_cross_entropy_with_logits(
            tf.constant(inputs["is_impossible"], tf.float32), outputs["cls_logits"]
        )
    )
    spans = (losses["start_loss"] + losses["end_loss"]) / 2
    loss = spans + 0.5 * losses["cls_loss"]
    cls = {"cls_logits": outputs["cls_logits"]}
    return {**logits, **cls, **losses, "loss": loss}, spans


def _comparable(found, expected):
    """Replaces logits in the expected arrays by log-probabilities."""
    expected = dict(expected)
    for name in ("train/start_logits", "train/end_logits"):
        if name in expected:
            log_probs = tf.nn.log_softmax(expected[name]).numpy()
            found[name], expected[name] = without_masked(found[name], log_probs)
    return expected
