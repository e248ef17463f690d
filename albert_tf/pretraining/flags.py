"""Pretrains ALBERT on TFRecords of create_pretraining_data.

  python run_pretraining.py --input_file='data/train*.tfrecord' \\
      --eval_file='data/held_out/*.tfrecord' --spm_model_file=vocab/my_corpus.model \\
      --albert_config_file=configs/albert/base_v2.json --output_dir=my_model

The flags of the official run_pretraining keep their meaning and defaults; new ones
stand beside them. Re-running a command resumes its run exactly where it stopped.

The command writes to --output_dir: the model directory (albert_config.json,
model.weights.h5, the tokenizer, training_info.json), eval_results.txt, history.json
(every held-out evaluation), curves.png (with matplotlib), train/ and eval/ (for
TensorBoard), and checkpoints/. The latter holds what a run resumes from, and
best-<step>, the model directory with the best held-out masked LM accuracy.
docs/pretraining.md says more.
"""

import dataclasses
import re

from albert_tf.command_line import option
from albert_tf.engine.flags import DeviceFlags
from albert_tf.engine.flags import ExecutionFlags
from albert_tf.engine.resumption import RESTART_DATA
from albert_tf.errors import UserError
from albert_tf.optimizers import SCHEDULES


@dataclasses.dataclass(frozen=True)
class PretrainingOptions(DeviceFlags, ExecutionFlags):
    """The flags of run_pretraining.py."""

    input_file: str = option(
        "TFRecord files: a comma list of names, globs, folders.",
        may_change=RESTART_DATA,
    )
    output_dir: str = option("Folder for everything that is written.", may_change=True)
    albert_config_file: str = option(
        "The model's configuration (JSON).", may_change=True
    )
    eval_file: str | None = option(
        "Held-out TFRecord files, likewise.", None, may_change=True
    )
    spm_model_file: str | None = option(
        "SentencePiece model of the data.", None, may_change=True
    )
    vocab_file: str | None = option(
        "WordPiece vocabulary of the data.", None, may_change=True
    )
    do_lower_case: bool = option(
        "Whether the vocabulary is uncased.", True, may_change=True
    )
    init_checkpoint: str | None = option(
        "Model directory, official archive or Hugging Face directory to start from, "
        "or one to download: hf://owner/name or the URL of an archive.",
        None,
        may_change=True,
    )
    init_from_group0: bool = option(
        "Give groups of layers that init_checkpoint lacks the weights of its group 0; "
        "by default, those of the layer at the same share of the depth.",
        False,
        may_change=True,
    )
    max_seq_length: int | None = option(
        "Tokens a sequence, as the data; by default what its description says, or 512.",
        None,
        minimum=1,
        may_change=RESTART_DATA,
    )
    max_predictions_per_seq: int | None = option(
        "Predictions a sequence, likewise, or 20.",
        None,
        minimum=1,
        may_change=RESTART_DATA,
    )
    masked_lm_prob: float | None = option(
        "Share of the tokens to predict, for data of --masking=dynamic; by default the "
        "one it was made for.",
        None,
        minimum=0,
        may_change=RESTART_DATA,
    )
    sentence_objective: str = option(
        "data: what the data was made for, sentence order, next sentence or none; "
        "none: the masked LM alone.",
        "data",
        ("data", "none"),
        may_change=True,
    )
    do_train: bool = option("Train, or continue to train.", True, may_change=True)
    do_eval: bool = option(
        "Evaluate on --eval_file at the end; without it, on --input_file.",
        False,
        may_change=True,
    )
    dry_run: bool = option(
        "Print the plan, measure a few steps and stop; nothing is written.",
        False,
        may_change=True,
    )
    train_batch_size: int = option(
        "Sequences a step, over all devices.", 4096, minimum=1, may_change=RESTART_DATA
    )
    eval_batch_size: int = option(
        "Sequences of an evaluation batch.", 64, minimum=1, may_change=True
    )
    max_eval_steps: int = option(
        "Batches of an evaluation at most.", 100, minimum=1, may_change=True
    )
    eval_steps: int = option(
        "Steps between two evaluations on --eval_file while training; 0 for none.",
        0,
        minimum=0,
        may_change=True,
    )
    optimizer: str = option("Optimizer.", "lamb", ("adamw", "lamb"))
    learning_rate: float = option(
        "Learning rate that the warm-up leads to.", 0.00176, minimum=0, may_change=True
    )
    scale_learning_rate: bool = option(
        "learning_rate is for batches of 4096: multiply it by the root of "
        "train_batch_size / 4096.",
        False,
        may_change=True,
    )
    lr_schedule: str = option(
        "How the learning rate decays.", "polynomial", SCHEDULES, may_change=True
    )
    poly_power: float = option(
        "Exponent of the polynomial decay.", 1.0, minimum=0, may_change=True
    )
    num_train_steps: int = option("Training steps.", 125000, minimum=1, may_change=True)
    num_warmup_steps: int = option(
        "Steps of linear warm-up.", 3125, minimum=0, may_change=True
    )
    start_warmup_step: int = option(
        "Steps before the warm-up, at the learning rate 0.",
        0,
        minimum=0,
        may_change=True,
    )
    batch_ramp_steps: int = option(
        "Steps in which the batch grows to train_batch_size: 1, 2, 4 … of the "
        "gradient_accumulation_steps parts; 0: it has its size from the start.",
        0,
        minimum=0,
        may_change=RESTART_DATA,
    )
    first_phase_steps: int = option(
        "Step at which the second phase begins; 0: there is none. What it does not "
        "set is as in the first, but for the lengths of a data set of its own; the "
        "held-out data has the lengths of the last.",
        0,
        minimum=0,
        may_change=True,
    )
    second_phase_input_file: str | None = option(
        "TFRecord files, likewise.", None, may_change=RESTART_DATA
    )
    second_phase_max_seq_length: int | None = option(
        "Likewise.", None, minimum=1, may_change=RESTART_DATA
    )
    second_phase_max_predictions_per_seq: int | None = option(
        "Likewise.", None, minimum=1, may_change=RESTART_DATA
    )
    second_phase_train_batch_size: int | None = option(
        "Likewise.", None, minimum=1, may_change=RESTART_DATA
    )
    second_phase_gradient_accumulation_steps: int | None = option(
        "Likewise.", None, minimum=1, may_change=True
    )
    verify_data: bool = option(
        "Read all data files once before the first step and compare their checksums "
        "with dataset_info.json; their sizes are always compared.",
        False,
        may_change=True,
    )
    restart_data: bool = option(
        "Continue, but read the data from its beginning: it was moved, made anew or "
        "is to be another.",
        False,
        may_change=True,
    )
    save_checkpoints_steps: int = option(
        "Steps between two checkpoints.", 5000, minimum=1, may_change=True
    )
    keep_checkpoint_max: int = option(
        "Checkpoints to keep; 0 for all.", 5, minimum=0, may_change=True
    )
    iterations_per_loop: int = option(
        "Steps between two looks at the run.", 1000, minimum=1, may_change=True
    )
    gradient_accumulation_steps: int = option(
        "Parts that a batch is computed in, one after the other.",
        1,
        minimum=1,
        may_change=True,
    )
    histogram_steps: int = option(
        "Steps between two recordings of gradient norm, weight norm and trust ratio of "
        "every variable for TensorBoard; 0 for none.",
        0,
        minimum=0,
        may_change=True,
    )
    profile_steps: str | None = option(
        "first:end, steps between which to trace into <output_dir>/profile.",
        None,
        may_change=True,
    )
    peak_teraflops: float | None = option(
        "What a device can do at best, in 1e12 operations a second, to show the "
        "utilisation; by default that of well-known GPUs and TPUs.",
        None,
        minimum=0,
        may_change=True,
    )
    random_seed: int = option(
        "Seed of weights, order and dropout.",
        12345,
        minimum=0,
        maximum=2**32 - 1,
        may_change=RESTART_DATA,
    )
    deterministic: bool = option(
        "Take operations only that give the same bits in every run; slower.",
        False,
        may_change=True,
    )
    use_xla: bool = option("Compile the training step with XLA.", True, may_change=True)


def profile_range(text):
    """Turns `"a:b"` into `(a, b)`; None stays None.

    Raises:
        UserError: it is not of this form, or the range is empty.
    """
    if text is None:
        return None
    match = re.fullmatch(r"(\d+):(\d+)", text)
    if not match or int(match[1]) >= int(match[2]):
        raise UserError(
            f"--profile_steps={text} is no range of steps; expected first:end with "
            "first below end, such as 100:110."
        )
    return int(match[1]), int(match[2])
