"""Takes turns with our training steps, on one batch or on records."""

import keras
import tensorflow as tf

from albert_tf.engine.compilation import pretraining_xla
from albert_tf.engine.flags import TrainerOptions
from albert_tf.engine.strategies import create_strategy
from albert_tf.engine.train_step import TrainStep
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.objectives.masked_lm import PermutationObjective
from albert_tf.objectives.masked_lm import PretrainingObjective
from albert_tf.optimizers import create_optimizer
from albert_tf.tokenization import load_tokenizer
from albert_tf.xlnet.model import XLNetLMHeadModel
from benchmarks.measuring import turns
from benchmarks.measuring.shapes import modern
from data_pipeline.input_pipeline import pretraining_dataset

# By the model's name: its class, its objective, and its batches.
_MODELS = {
    "albert": (AlbertForPreTraining, PretrainingObjective, turns.make_batch),
    "xlnet": (XLNetLMHeadModel, PermutationObjective, turns.make_permutation_batch),
}
# More batches than the input pipeline prepares in advance.
_PREPARED = 12
# A turn on records has this many times as many steps, because its first step also
# pays for the batches that the pipeline prepares for the later ones.
_RECORDS_FACTOR = 4


def main(setting):
    """Answers with the seconds of a step; a request names the batches, as `_batches`.

    To the request "memory" it answers with the megabytes of the process's peak.
    The steps run as the trainer runs them, in a loop on the device.
    """
    tf.config.threading.set_intra_op_parallelism_threads(setting["threads"])
    keras.utils.set_random_seed(1)
    model_class, objective, _ = _MODELS[setting["model"]]
    config = model_class.family.config_class.from_dict(setting["config"])
    if setting.get("modern"):
        config = modern(config)
    dtype = "mixed_bfloat16" if setting["bfloat16"] else "float32"
    optimizer = create_optimizer("adamw", 1e-5, num_train_steps=1000000)
    step = make_step(model_class(config, dtype=dtype), objective(), optimizer)

    @tf.function
    def run(iterator, count):
        sums = step(next(iterator))
        for _ in tf.range(count - 1):
            sums += step(next(iterator))
        return sums

    iterators = {name: iter(dataset) for name, dataset in _batches(setting).items()}

    def take_turn(request):
        if request == "memory":
            return turns.peak_megabytes()
        iterator, count = iterators[request or "cached"], setting["steps"]
        if request == "records":
            count *= _RECORDS_FACTOR
            # Batches that were prepared in others' turns would cost nothing in this.
            for _ in range(_PREPARED):
                next(iterator)
        steps = tf.constant(count)
        return turns.seconds_per_step(lambda: run(iterator, steps).numpy(), 1) / count

    details = f"tensorflow {tf.__version__}, keras {keras.__version__}"
    return take_turn, details


def make_step(model, objective, optimizer):
    """Makes the `TrainStep` that pretraining has by default."""
    optimizer.build(model.trainable_variables)
    options = TrainerOptions(
        output_dir="",
        num_train_steps=1,
        **pretraining_xla(create_strategy("auto"), model),
    )
    return TrainStep(model, objective, optimizer, options)


def _batches(setting):
    """Yields batches for ever: `cached` is one batch, `records` are read and masked."""
    batch = setting["batch"]
    make_batch = _MODELS[setting["model"]][2]
    cached = tf.data.Dataset.from_tensors(make_batch(**batch))
    datasets = {"cached": cached.repeat()}
    records = setting.get("records")
    if records:
        datasets["records"] = pretraining_dataset(
            records["input_file"],
            load_tokenizer(records["tokenizer"]),
            batch["batch_size"],
            batch["tokens"],
            batch["predictions"],
            seed=1,
            training=True,
        )
    return datasets
