"""The flags that the commands of all tasks share."""

import dataclasses

from albert_tf.command_line import option
from albert_tf.engine.flags import DeviceFlags
from albert_tf.engine.flags import ExecutionFlags

REPLACED = {
    "albert_hub_module_handle": "name the module's folder, its archive or the "
    "archive's URL with --init_checkpoint"
}
"""Official flags that are not accepted, and what to do instead."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaskOptions(DeviceFlags, ExecutionFlags):
    """Flags of every command that fine-tunes."""

    output_dir: str = option("Folder for everything that is written.", may_change=True)
    # What to do.
    do_train: bool = option(
        "Fine-tune; an interrupted run goes on.", False, may_change=True
    )
    do_eval: bool = option(
        "Score the dev set (and a labelled test set).", False, may_change=True
    )
    do_predict: bool = option("Predict the test set.", False, may_change=True)
    export_dir: str | None = option(
        "Also export a SavedModel to this folder.", None, may_change=True
    )
    # Data.
    skip_bad_rows: bool = option("Leave bad rows out and count them.", False)
    cached_dir: str | None = option(
        "Folder of tokenized tables; by default cache/ in output_dir.",
        None,
        may_change=True,
    )
    max_seq_length: int = option("Tokens of an input at most.", 512, minimum=5)
    pad_to_max_length: bool = option(
        "Pad every batch to max_seq_length, as is done on TPUs anyway.", False
    )
    # Model.
    init_checkpoint: str | None = option("What fine-tuning starts from.", None)
    from_scratch: bool = option("Start from random weights instead.", False)
    albert_config_file: str | None = option(
        "Config, where it does not lie beside init_checkpoint.", None
    )
    spm_model_file: str | None = option(
        "SentencePiece model, where it does not lie beside init_checkpoint.", None
    )
    vocab_file: str | None = option(
        "WordPiece vocabulary, where it does not lie beside init_checkpoint.", None
    )
    do_lower_case: bool = option("Lower the case of letters.", True)
    albert_dropout_prob: float | None = option(
        "Dropout inside the encoder; by default that of its config.", None, minimum=0
    )
    # Training.
    freeze_encoder: bool = option(
        "Train the head only; models that share their encoder so can be served as one.",
        False,
    )
    train_batch_size: int = option("Rows of a training batch.", 32, minimum=1)
    eval_batch_size: int = option(
        "Rows of an evaluation batch.", 8, minimum=1, may_change=True
    )
    predict_batch_size: int = option(
        "Rows of a prediction batch.", 8, minimum=1, may_change=True
    )
    learning_rate: float = option("Peak learning rate.", 5e-5, minimum=0)
    train_step: int = option("Training steps.", 1000, minimum=1)
    num_train_epochs: float | None = option(
        "Epochs, in place of train_step.", None, minimum=0
    )
    warmup_step: int = option("Steps of linear warm-up.", 0, minimum=0)
    warmup_proportion: float | None = option(
        "Share of all steps, in place of warmup_step.", None, minimum=0, maximum=1
    )
    optimizer: str = option("Optimizer.", "adamw", ("adamw", "lamb"))
    layer_decay: float = option(
        "Factor of the learning rate from one set of layers to the one below, down to "
        "the embeddings; 1: the same rate everywhere.",
        1.0,
        minimum=0,
    )
    save_checkpoints_steps: int = option(
        "Steps between checkpoints; the dev set is scored at each.", 1000, minimum=1
    )
    iterations_per_loop: int = option(
        "Steps of one call of the training loop at most, after which progress is "
        "shown and a signal is obeyed.",
        50,
        minimum=1,
    )
    keep_checkpoint_max: int = option(
        "Checkpoints to keep; 0 for all.", 5, minimum=0, may_change=True
    )
    early_stopping_patience: int = option(
        "Stop when so many evaluations in a row brought nothing better; 0: never.",
        0,
        minimum=0,
    )
    num_runs: int = option(
        "Runs with different seeds, each in a folder of its own; the median and the "
        "spread of their results are reported.",
        1,
        minimum=1,
        may_change=True,
    )
    random_seed: int = option(
        "Seed of the new head, the order and dropout.",
        12345,
        minimum=0,
        maximum=2**32 - 1,
    )
    gradient_accumulation_steps: int = option(
        "Parts that a batch is computed in, one after the other.", 1, minimum=1
    )
    use_xla: bool | None = option(
        "Compile the training step with XLA; by default where there is an accelerator, "
        "since on a CPU it is no faster and each length is compiled anew.",
        None,
    )
