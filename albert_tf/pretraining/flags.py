"""Pretrains ALBERT or XLNet on TFRecords of create_pretraining_data.

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

from albert_tf.checkpoints.flags import ReadingFlags
from albert_tf.cli.command_line import option
from albert_tf.engine.flags import DeviceFlags
from albert_tf.engine.flags import ExecutionFlags
from albert_tf.engine.resumption import RESTART_DATA
from albert_tf.families.layer_sharing import FIRST
from albert_tf.families.layer_sharing import MEAN
from albert_tf.optimizers.flags import OptimizerFlags
from albert_tf.pretraining.objective_flags import GeneratorFlags
from albert_tf.pretraining.objective_flags import ObjectiveFlags
from albert_tf.pretraining.phase_flags import PhaseFlags


@dataclasses.dataclass(frozen=True)
class PretrainingOptions(
    ObjectiveFlags,
    GeneratorFlags,
    PhaseFlags,
    OptimizerFlags,
    DeviceFlags,
    ExecutionFlags,
    ReadingFlags,
):
    """The flags of run_pretraining.py."""

    input_file: str = option(
        "TFRecord files to train on: names, globs and folders, separated by commas.",
        may_change=RESTART_DATA,
    )
    output_dir: str = option(
        "Folder to write the model, its checkpoints and its reports to.",
        may_change=True,
    )
    albert_config_file: str = option(
        "Configuration of the model, a JSON file or a name such as albert/base_v2 or "
        "xlnet/base.",
        may_change=True,
    )
    objective: str = option(
        "What is trained. masked_lm: ALBERT; replaced_tokens: ALBERT as ELECTRA's "
        "discriminator, which finds the guesses of a small generator; permutation_lm: "
        "XLNet, with the memory that its configuration asks for.",
        "masked_lm",
        ("masked_lm", "replaced_tokens", "permutation_lm"),
    )
    eval_file: str | None = option(
        "Held-out TFRecord files to evaluate on: names, globs and folders, "
        "separated by commas.",
        None,
        may_change=True,
    )
    spm_model_file: str | None = option(
        "SentencePiece model that the data was made with.", None, may_change=True
    )
    vocab_file: str | None = option(
        "WordPiece vocabulary that the data was made with.", None, may_change=True
    )
    do_lower_case: bool = option(
        "Whether the vocabulary is uncased.", True, may_change=True
    )
    init_checkpoint: str | None = option(
        "Model to start from: a model directory, an official archive, a Hugging "
        "Face directory, or one to download, hf://owner/name or the URL of an "
        "archive.",
        None,
        may_change=True,
    )
    init_layers: str = option(
        "Where --init_checkpoint has several layers in the place of one, what that one "
        "takes: the weights of the first of them, or the mean of all.",
        FIRST,
        (FIRST, MEAN),
        may_change=True,
    )
    init_from_group0: bool = option(
        "Give the groups of layers that --init_checkpoint lacks the weights of its "
        "group 0; by default they take those of the layer at the same relative depth.",
        False,
        may_change=True,
    )
    max_seq_length: int | None = option(
        "Length of a sequence in tokens; by default that of the data, or 512 where "
        "the data does not say.",
        None,
        minimum=1,
        may_change=RESTART_DATA,
    )
    max_predictions_per_seq: int | None = option(
        "Number of predictions in a sequence; by default that of the data, or 20 "
        "where the data does not say.",
        None,
        minimum=1,
        may_change=RESTART_DATA,
    )
    do_train: bool = option(
        "Train, or continue an interrupted run.", True, may_change=True
    )
    do_eval: bool = option(
        "Evaluate at the end on --eval_file, or on --input_file without one.",
        False,
        may_change=True,
    )
    dry_run: bool = option(
        "Print the plan, measure a few steps and stop without writing anything.",
        False,
        may_change=True,
    )
    train_batch_size: int = option(
        "Number of sequences in a step, over all devices.",
        4096,
        minimum=1,
        may_change=RESTART_DATA,
    )
    eval_batch_size: int = option(
        "Number of sequences in an evaluation batch.", 64, minimum=1, may_change=True
    )
    max_eval_steps: int = option(
        "Largest number of batches in an evaluation.", 100, minimum=1, may_change=True
    )
    eval_steps: int = option(
        "Number of steps from one evaluation on --eval_file to the next during "
        "training; 0 evaluates only at the end.",
        0,
        minimum=0,
        may_change=True,
    )
    decay_relative_biases: bool = option(
        "Decay the three biases of XLNet's attention, as the official code does, "
        "unlike all other biases.",
        True,
    )
    learning_rate: float = option(
        "Learning rate at the end of the warm-up.", 0.00176, minimum=0, may_change=True
    )
    scale_learning_rate: bool = option(
        "Read --learning_rate as the rate for batches of 4096, and multiply it by the "
        "square root of train_batch_size / 4096.",
        False,
        may_change=True,
    )
    num_train_steps: int = option(
        "Number of training steps.", 125000, minimum=1, may_change=True
    )
    num_warmup_steps: int = option(
        "Number of steps in which the learning rate rises linearly.",
        3125,
        minimum=0,
        may_change=True,
    )
    start_warmup_step: int = option(
        "Number of steps before the warm-up, with a learning rate of 0.",
        0,
        minimum=0,
        may_change=True,
    )
    batch_ramp_steps: int = option(
        "Number of steps in which the batch grows to --train_batch_size: it has 1, "
        "2, 4 and so on of the --gradient_accumulation_steps parts; 0 starts with "
        "the full size.",
        0,
        minimum=0,
        may_change=RESTART_DATA,
    )
    verify_data: bool = option(
        "Read all data files before the first step and compare their checksums with "
        "dataset_info.json; their sizes are always compared.",
        False,
        may_change=True,
    )
    restart_data: bool = option(
        "Continue the run, but read the data from its beginning: for data that was "
        "moved, made again or replaced.",
        False,
        may_change=True,
    )
    save_checkpoints_steps: int = option(
        "Number of steps from one checkpoint to the next.",
        5000,
        minimum=1,
        may_change=True,
    )
    keep_checkpoint_max: int = option(
        "Number of checkpoints to keep; 0 keeps all.", 5, minimum=0, may_change=True
    )
    iterations_per_loop: int = option(
        "Largest number of steps in one call of the training loop; the program "
        "shows its progress and obeys signals between two calls.",
        1000,
        minimum=1,
        may_change=True,
    )
    gradient_accumulation_steps: int = option(
        "Number of parts in which a batch is computed, one after the other, to save "
        "memory.",
        1,
        minimum=1,
        may_change=True,
    )
    histogram_steps: int = option(
        "Number of steps from one recording of every variable's gradient norm, "
        "weight norm and trust ratio for TensorBoard to the next; 0 records none.",
        0,
        minimum=0,
        may_change=True,
    )
    profile_steps: str | None = option(
        "Range of steps to trace into the folder profile in --output_dir, written "
        "as first:end.",
        None,
        may_change=True,
    )
    peak_teraflops: float | None = option(
        "Peak speed of one device, in 1e12 operations per second, for the utilisation "
        "in the log; well-known GPUs and TPUs need no number.",
        None,
        minimum=0,
        may_change=True,
    )
    random_seed: int = option(
        "Seed of the weights, the order of the data and dropout.",
        12345,
        minimum=0,
        maximum=2**32 - 1,
        may_change=RESTART_DATA,
    )
    deterministic: bool = option(
        "Use only operations that give the same bits in every run; training is slower.",
        False,
        may_change=True,
    )
    use_xla: bool | None = option(
        "Compile the training step with XLA; by default where that is faster: "
        "everywhere but in bfloat16 on a CPU that has units for it, where XLA compiles "
        "activations and the update.",
        None,
        may_change=True,
    )
