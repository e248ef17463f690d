"""Fine-tunes, evaluates and applies a text classifier or regressor.

  python run_classifier.py --task_name=sst-2 --data_dir=glue --output_dir=out
      --init_checkpoint=albert_base --max_seq_length=128 --do_train --do_eval

The flags are those of the official run_classifier, with the same meaning and defaults;
new ones stand beside them. --init_checkpoint may be a model directory of this project,
an official archive (unpacked or not), a Hugging Face directory, the prefix of a TF1
checkpoint or a model to download: hf://albert/albert-base-v2 or the URL of an archive.

A table of one's own: --task_name=custom, with train.*, dev.* and perhaps test.* (.tsv,
.csv or .jsonl) in --data_dir. Raw text: --do_predict --input_text="…" or --input_file.

Written to --output_dir: model/ (the best checkpoint by the first metric on dev; the
official scripts choose so, too), checkpoints/, eval_results.txt, test_results.tsv, and
the file for the GLUE server.
"""

import dataclasses

from albert_tf.command_line import option
from albert_tf.tasks.text_task import KINDS
from albert_tf.training.device_flags import DeviceFlags
from albert_tf.training.execution_flags import ExecutionFlags


@dataclasses.dataclass(frozen=True)
class ClassifierOptions(DeviceFlags, ExecutionFlags):
    """The flags of run_classifier.py."""

    output_dir: str = option("Folder for everything that is written.")
    # What to do.
    do_train: bool = option("Fine-tune; an interrupted run goes on.", False)
    do_eval: bool = option("Score the dev set (and a labelled test set).", False)
    do_predict: bool = option("Predict the test set, or raw text.", False)
    input_text: str | None = option("A text to predict.", None)
    input_text_pair: str | None = option("Its second text, for pair tasks.", None)
    input_file: str | None = option(
        "Texts to predict, one a line (a tab between the two texts of a pair).", None
    )
    export_dir: str | None = option("Also export a SavedModel to this folder.", None)
    # Data.
    task_name: str | None = option("A GLUE task, or custom.", None)
    data_dir: str | None = option("GLUE folder, or the folder of custom tables.", None)
    text_column: str = option("custom: column of the (first) text.", "sentence")
    text_pair_column: str | None = option("custom: column of the second text.", None)
    label_column: str = option("custom: column of the label.", "label")
    label_kind: str = option(
        "custom: what a label is; the labels of a multi_label row are joined by |.",
        "single_label",
        KINDS,
    )
    labels: str | None = option(
        "custom: labels in id order, joined by commas; by default those of the "
        "training table, sorted.",
        None,
    )
    skip_bad_rows: bool = option("Leave bad rows out and count them.", False)
    cached_dir: str | None = option(
        "Folder of tokenized tables; by default cache/ in output_dir.", None
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
    vocab_file: str | None = option("WordPiece vocabulary, likewise.", None)
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
    eval_batch_size: int = option("Rows of an evaluation batch.", 8, minimum=1)
    predict_batch_size: int = option("Rows of a prediction batch.", 8, minimum=1)
    learning_rate: float = option("Peak learning rate.", 5e-5, minimum=0)
    train_step: int = option("Training steps.", 1000, minimum=1)
    num_train_epochs: float | None = option(
        "Epochs, in place of train_step.", None, minimum=0
    )
    warmup_step: int = option("Steps of linear warm-up.", 0, minimum=0)
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
        "Steps between two looks at the run.", 50, minimum=1
    )
    keep_checkpoint_max: int = option("Checkpoints to keep; 0 for all.", 5, minimum=0)
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
