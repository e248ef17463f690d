"""The flags of a pretraining run: its actions, its model and its optimizer."""

import dataclasses

from albert_tf.cli.command_line import changeable
from albert_tf.cli.command_line import option
from albert_tf.engine.flags import ExecutionFlags
from albert_tf.errors import UserError
from albert_tf.families.layer_sharing import FIRST
from albert_tf.families.layer_sharing import GROUP0
from albert_tf.families.layer_sharing import MEAN
from albert_tf.objectives.flags import LayersFlags
from albert_tf.optimizers import scaled_learning_rate
from albert_tf.optimizers.flags import OptimizerFlags
from albert_tf.optimizers.rules import RELATIVE_BIASES
from albert_tf.pretraining.data_flags import StepFlags


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunFlags:
    """Actions."""

    do_train: bool = changeable("Train, or continue an interrupted run.", True)
    do_eval: bool = changeable(
        "Evaluate at the end on --eval_file, or on --input_file without one.", False
    )
    train_minutes: float = option(
        "Minutes to train, in place of --num_train_steps: the run measures its steps "
        "first and fixes how many fit; from its first checkpoint on it keeps that "
        "number, which is in train_minutes.json, and resumes exactly. Compiling "
        "counts, evaluation and checkpoints do not. 0: --num_train_steps decides.",
        0.0,
        minimum=0,
    )
    dry_run: bool = changeable(
        "Print the plan, measure a few steps and stop without writing anything.", False
    )
    deterministic: bool = changeable(
        "Use only operations that give the same bits in every run; training is slower.",
        False,
    )
    use_xla: bool | None = changeable(
        "Compile the training step with XLA; by default where that is faster: "
        "everywhere but in bfloat16 on a CPU that has units for it, where XLA compiles "
        "activations and the update.",
        None,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class GeneratorFlags:
    """Replaced tokens: the generator, with names and defaults of ELECTRA's."""

    generator_hidden_size: float = option(
        "Width of the generator as a share of the model's, in whole heads; its "
        "feed-forward layer shrinks alike. Of --objective=replaced_tokens.",
        0.25,
        minimum=0.01,
        maximum=1.0,
    )
    generator_layers: float = option(
        "Layers of the generator as a share of the model's.",
        1.0,
        minimum=0.01,
        maximum=1.0,
    )
    gen_weight: float = option("Weight of the generator's loss.", 1.0, minimum=0)
    disc_weight: float = option("Weight of the discriminator's loss.", 50.0, minimum=0)
    temperature: float = option(
        "Divisor of the generator's logits before a token is drawn.", 1.0, minimum=0.01
    )
    keep_generator: bool = changeable(
        "Write the generator into the model directory, too; --do_eval of a finished "
        "run needs it.",
        False,
    )

    def config_changes(self, config):
        """Returns the fields in which the generator's `AlbertConfig` differs."""
        share = self.generator_hidden_size
        heads = max(1, round(config.num_attention_heads * share))
        layers = max(1, round(config.num_hidden_layers * self.generator_layers))
        return {
            "num_attention_heads": heads,
            "hidden_size": heads * config.head_size,
            "intermediate_size": max(1, round(config.intermediate_size * share)),
            "num_hidden_layers": layers,
            "num_hidden_groups": min(config.num_hidden_groups, layers),
            "depth_adapter_rank": 0,
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelFlags(GeneratorFlags, LayersFlags, ExecutionFlags):
    """The model."""

    albert_config_file: str = changeable(
        "Configuration of the model, a JSON file or a name such as albert/base_v2 or "
        "xlnet/base."
    )
    spm_model_file: str | None = changeable(
        "SentencePiece model that the data was made with.", None, names="vocabulary"
    )
    vocab_file: str | None = changeable(
        "WordPiece vocabulary that the data was made with.", None, names="vocabulary"
    )
    do_lower_case: bool = changeable("Lower letters: the vocabulary is uncased.", True)
    init_checkpoint: str | None = changeable(
        "Model to start from: a model directory, an official archive, a Hugging "
        "Face directory, or one to download, hf://owner/name or the URL of an "
        "archive.",
        None,
        names="model",
    )
    init_layers: str = changeable(
        "Where --init_checkpoint has several layers in the place of one, what that one "
        "takes: the weights of the first of them, or the mean of all.",
        FIRST,
        (FIRST, MEAN),
    )
    init_from_group0: bool = changeable(
        "Give the groups of layers that --init_checkpoint lacks the weights of its "
        "group 0; by default they take those of the layer at the same relative depth.",
        False,
    )

    @property
    def init_rule(self):
        """Rule by which `init_checkpoint` fills each layer; see `move_layers`.

        Raises:
            UserError: two flags say it.
        """
        if self.init_from_group0 and self.init_layers != FIRST:
            raise UserError(
                f"--init_from_group0 and --init_layers={self.init_layers} exclude each "
                "other; pass one of them."
            )
        return GROUP0 if self.init_from_group0 else self.init_layers


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScheduleFlags(StepFlags, OptimizerFlags):
    """Warm-up and learning rate."""

    num_warmup_steps: int = changeable(
        "Number of steps in which the learning rate rises linearly.", 3125, minimum=0
    )
    start_warmup_step: int = changeable(
        "Number of steps before the warm-up, with a learning rate of 0.", 0, minimum=0
    )
    scale_learning_rate: bool = changeable(
        "Read --learning_rate as the rate for batches of 4096, and multiply it by the "
        "square root of train_batch_size / 4096.",
        False,
    )
    decay_relative_biases: bool = option(
        "Decay the three biases of XLNet's attention, as the official code does, "
        "unlike all other biases.",
        True,
    )

    @property
    def peak_learning_rate(self):
        """The rate at the end of the warm-up."""
        if self.scale_learning_rate:
            return scaled_learning_rate(self.learning_rate, self.train_batch_size)
        return self.learning_rate

    def create_scheduled(self):
        """Returns the optimizer with its schedule."""
        scaled = dataclasses.replace(self, learning_rate=self.peak_learning_rate)
        return scaled.create(
            self.num_train_steps,
            self.num_warmup_steps,
            start_warmup_step=self.start_warmup_step,
            also_excluded=() if self.decay_relative_biases else (RELATIVE_BIASES,),
        )
