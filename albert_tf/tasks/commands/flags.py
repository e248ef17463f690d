"""The flags that several task commands share."""

import dataclasses
import functools
import os

from albert_tf.checkpoints.flags import ReadingFlags
from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli.command_line import altered
from albert_tf.cli.command_line import group_of
from albert_tf.cli.command_line import option
from albert_tf.engine.flags import DeviceFlags
from albert_tf.engine.flags import ExecutionFlags
from albert_tf.engine.flags import TrainerFlags
from albert_tf.families.layer_sharing import FIRST
from albert_tf.families.layer_sharing import MEAN
from albert_tf.models.flags import EarlyExitFlags
from albert_tf.objectives.flags import DistillationFlags
from albert_tf.optimizers.flags import OptimizerFlags
from albert_tf.optimizers.rules import DECAYED
from albert_tf.optimizers.rules import RATES
from albert_tf.tasks.long_texts import LongTexts


@dataclasses.dataclass(frozen=True, kw_only=True)
class StartFlags(ExecutionFlags):
    """The model to start from."""

    init_checkpoint: str | None = option(
        "Model to start from: a model directory, an official archive, a Hugging "
        "Face directory, a TF-Hub module, the prefix of a TF1 checkpoint, or one to "
        "download, such as hf://albert/albert-base-v2.",
        None,
        aliases=("albert_hub_module_handle",),
        names="model",
        may_change=True,  # its weights are a fact
    )
    from_scratch: bool = option(
        "Start from random weights instead of --init_checkpoint.", False
    )
    albert_config_file: str | None = option(
        "Configuration of the model, if it does not lie beside --init_checkpoint.",
        None,
        may_change=True,  # its fields are facts
    )
    init_layers: str | None = option(
        "Layers of --albert_config_file that differ from those of --init_checkpoint in "
        "number, groups, sharing or adapters by depth take the ones at the same share "
        "of the depth: the first of them, or the mean of all. By default another "
        "configuration is refused.",
        None,
        (FIRST, MEAN),
    )
    spm_model_file: str | None = option(
        "SentencePiece model, if it does not lie beside --init_checkpoint.",
        None,
        names="vocabulary",
        may_change=True,  # its fingerprint is a fact
    )
    vocab_file: str | None = option(
        "WordPiece vocabulary, if it does not lie beside --init_checkpoint.",
        None,
        names="vocabulary",
        replaces=("spm_model_file",),
        may_change=True,
    )
    do_lower_case: bool | None = option(
        "Lower the case of letters, for an uncased vocabulary; by default what lies "
        "beside the model says, or else whether it is ALBERT's and not XLNet's.",
        None,
    )
    max_seq_length: int = option(
        "Largest length of an input, in tokens.", 512, minimum=5
    )
    albert_dropout_prob: float | None = option(
        "Dropout inside the encoder; by default the configuration's.",
        None,
        minimum=0,
    )
    random_seed: int = option(
        "Seed of the new head, the order of the data and dropout.",
        12345,
        minimum=0,
        maximum=2**32 - 1,
    )

    @functools.cached_property
    def opened(self):
        """The `Bundle` of `init_checkpoint`; None without one."""
        # Imported here, so that --help does not wait for TensorFlow.
        from albert_tf import bundle

        return bundle.open(self.init_checkpoint) if self.init_checkpoint else None

    @property
    def vocabulary(self):
        """The vocabulary file, if a flag names one."""
        return self.spm_model_file or self.vocab_file

    @functools.cached_property
    def start(self):
        """The `Start` of training."""
        from albert_tf.tasks.loading import Start

        return Start(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ApplyingFlags:
    """Output and batches of evaluation."""

    output_dir: str = altered(
        TrainerFlags,
        "output_dir",
        help="Folder to write the model, the scores and the predictions to.",
    )
    cached_dir: str | None = option(
        "Folder to keep tokenized data in; by default cache in --output_dir.",
        None,
        may_change=True,
    )
    eval_batch_size: int = option(
        "Number of rows in an evaluation batch.", 8, minimum=1, may_change=True
    )
    predict_batch_size: int = option(
        "Number of rows in a prediction batch.", 8, minimum=1, may_change=True
    )

    @property
    def cache_dir(self):
        """The folder of tokenized data."""
        return self.cached_dir or os.path.join(self.output_dir, "cache")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingFlags(ApplyingFlags, TrainerFlags, OptimizerFlags, DistillationFlags):
    """Training."""

    learning_rate: float = altered(
        OptimizerFlags, "learning_rate", default=5e-5, may_change=False
    )
    optimizer: str = altered(OptimizerFlags, "optimizer", default="adamw")
    train_batch_size: int = option("Number of rows in a training batch.", 32, minimum=1)
    train_step: int = option(
        "Number of training steps.", 1000, minimum=1, replaces=("num_train_epochs",)
    )
    num_train_epochs: float | None = option(
        "Number of passes over the training set; it replaces --train_step.",
        None,
        minimum=0,
    )
    warmup_step: int = option(
        "Number of steps in which the learning rate rises linearly.",
        0,
        minimum=0,
        replaces=("warmup_proportion",),
    )
    warmup_proportion: float | None = option(
        "Share of all steps in which the learning rate rises linearly; it replaces "
        "--warmup_step.",
        None,
        minimum=0,
        maximum=1,
    )
    layer_decay: float = option(
        "Factor of the learning rate from one set of layers to the one below, down "
        "to the embeddings; 1 gives all the same rate.",
        1.0,
        minimum=0,
    )
    layer_decay_of: str = option(
        "Scaled by --layer_decay: the learning rates; or the clipped gradients, those "
        "of the top layer and of the embeddings as they are, which is the official "
        "XLNet's rule and hardly changes Adam's steps.",
        RATES,
        DECAYED,
    )
    freeze_encoder: bool = option(
        "Train the head only; several heads on the same encoder can be served as "
        "one model.",
        False,
    )
    gradient_accumulation_steps: int = option(
        "Number of parts in which a batch is computed, one after the other, to save "
        "memory.",
        1,
        minimum=1,
    )
    best_metric: str | None = option(
        "Score on dev that picks the best checkpoint, such as macro_f1, auc or loss "
        "(the lowest of loss, MSE and calibration_error is the best); by default the "
        "first of the task.",
        None,
    )
    early_stopping_patience: int = option(
        "Number of evaluations in a row without a better result after which "
        "training stops; 0 never stops early.",
        0,
        minimum=0,
    )
    pad_to_max_length: bool = option(
        "Pad every batch to --max_seq_length, which TPUs need in any case.", False
    )
    use_xla: bool | None = option(
        "Compile the training step with XLA; by default only on an accelerator, "
        "since on a CPU it is no faster and compiles each length anew.",
        None,
    )
    save_checkpoints_steps: int = altered(
        TrainerFlags,
        "save_checkpoints_steps",
        default=1000,
        help="Number of steps from one checkpoint to the next; the dev set is scored "
        "at each.",
        may_change=False,
    )
    iterations_per_loop: int = altered(
        TrainerFlags, "iterations_per_loop", default=50, may_change=False
    )

    @functools.cached_property
    def teacher_bundle(self):
        """The `Bundle` of `teacher`; None without one."""
        from albert_tf import bundle

        return bundle.open(self.teacher) if self.teacher else None


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaskOptions(StartFlags, TrainingFlags, DeviceFlags, ReadingFlags):
    """Actions."""

    do_train: bool = option(
        "Fine-tune the model, or continue an interrupted run.", False, may_change=True
    )
    do_eval: bool = option(
        "Score the dev set, and a test set that has labels.", False, may_change=True
    )
    do_predict: bool = option("Predict the test set.", False, may_change=True)
    export_dir: str | None = option(
        "Folder to which the command also exports the model as a SavedModel.",
        None,
        may_change=True,
    )
    skip_bad_rows: bool = option(
        "Leave out rows that do not fit the table, and count them, instead of "
        "stopping.",
        False,
    )
    num_runs: int = option(
        "Number of runs with different seeds, each in a folder of its own; the "
        "command reports the median and the spread of their results.",
        1,
        minimum=1,
        may_change=True,
    )

    @property
    def command(self):
        """The module that implements the command.

        Its `check_flags` raises `UserError` for options that are invalid or would have
        no effect. Its `train_and_apply` takes the options of one run, whose models and
        vocabularies are local, and returns the result of `run_task`; it is called
        unless only an export is requested.
        """
        raise NotImplementedError

    def completed(self):
        """Fills in the values that follow from other flags."""
        return self

    @property
    def training(self):
        """The `TrainingFlags` alone."""
        return group_of(TrainingFlags, self)

    def tuned(self, **asked):
        """Returns the result of `fine_tuned`; None if the command trains a model."""
        from albert_tf.tasks.loading import fine_tuned

        if self.do_train:
            return None
        return fine_tuned(self.output_dir, self.opened, **asked)

    def applied_to(self, task):
        """Returns the task as the flags have its model trained."""
        if isinstance(self, LongTexts):
            asked = dataclasses.asdict(group_of(LongTexts, self))
            task = dataclasses.replace(task, **asked)
        if not getattr(self, "early_exit", False):
            return task
        return dataclasses.replace(task, early_exit=group_of(EarlyExitFlags, self))

    @property
    def reads_examples(self):
        """True unless only an export is requested."""
        return self.do_train or self.do_eval or self.do_predict

    @property
    def needed_roles(self):
        """The roles of the examples to read: some of "train", "dev" and "test".

        The dev set picks the best checkpoint in training.
        """
        needed = {
            "train": self.do_train,
            "dev": self.do_train or self.do_eval,
            "test": self.do_predict,
        }
        return [role for role, is_needed in needed.items() if is_needed]


@obeys_reading_flags
def obey(options):
    """Runs a command with `TaskOptions`."""
    # Imported here, so that --help does not wait for TensorFlow.
    from albert_tf.tasks.commands.run import run_repeatedly

    run_repeatedly(options)
