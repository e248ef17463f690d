"""Takes turns with training steps of keras-hub's AlbertMaskedLM on TensorFlow."""

import functools
import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import keras_hub
import tensorflow as tf

from benchmarks.measuring import turns


def main(setting):
    """Answers with the seconds of a step; `setting` comes from `train_step.py`."""
    tf.config.threading.set_intra_op_parallelism_threads(setting["threads"])
    keras.utils.set_random_seed(1)
    if setting["bfloat16"]:
        keras.config.set_dtype_policy("mixed_bfloat16")
    model = make_model(setting["config"])
    model.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=keras.optimizers.AdamW(1e-5, weight_decay=0.01, global_clipnorm=1.0),
        jit_compile=setting.get("compile", "auto"),
    )
    batch = turns.make_batch(**setting["batch"])
    inputs = {
        "token_ids": batch["input_ids"],
        "padding_mask": batch["input_mask"],
        "segment_ids": batch["segment_ids"],
        "mask_positions": batch["masked_lm_positions"],
    }
    labels = batch["masked_lm_ids"]
    details = f"keras-hub {keras_hub.__version__}, tensorflow {tf.__version__}"

    def take_turn(_):
        step = functools.partial(model.train_on_batch, inputs, labels)
        return turns.seconds_per_step(step, setting["steps"])

    return take_turn, details


def make_model(config):
    """Makes the model of an `AlbertConfig` as a dict; it has no sentence objective."""
    backbone = keras_hub.models.AlbertBackbone(
        vocabulary_size=config["vocab_size"],
        num_layers=config["num_hidden_layers"],
        num_heads=config["num_attention_heads"],
        embedding_dim=config["embedding_size"],
        hidden_dim=config["hidden_size"],
        intermediate_dim=config["intermediate_size"],
        max_sequence_length=config["max_position_embeddings"],
        dropout=0.0,
    )
    return keras_hub.models.AlbertMaskedLM(backbone)
