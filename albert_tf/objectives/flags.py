"""Flags of distillation and of replaced-token detection."""

import dataclasses

from albert_tf.cli.command_line import changeable
from albert_tf.cli.command_line import option
from albert_tf.errors import UserError


@dataclasses.dataclass(frozen=True, kw_only=True)
class DistillationFlags:
    """A teacher."""

    teacher: str | None = option(
        "Model of the same task, or pretrained with the same vocabulary, whose outputs "
        "on the training set the new model learns beside the labels; a folder, or one "
        "to download.",
        None,
        may_change=True,
        names="model",
    )
    teacher_weight: float = option(
        "Share of the teacher in the loss; the labels have the rest.",
        0.5,
        minimum=0,
        maximum=1,
    )
    teacher_temperature: float = option(
        "Divisor of both models' logits before they are compared; a higher one shows "
        "more of what the teacher thinks of wrong answers. Numbers have none.",
        2.0,
        minimum=0.01,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class LayersFlags(DistillationFlags):
    """A teacher of pretraining."""

    teacher_layers: str | None = option(
        "Layers whose outputs the new model learns, too: pairs of an own layer and the "
        "teacher's, counted from 1, such as 2:6,4:12.",
        None,
    )
    teacher_layers_weight: float = option(
        "Weight of the loss of --teacher_layers.", 1.0, minimum=0
    )

    def layer_pairs(self):
        """Parses `teacher_layers` into pairs `(own, teacher's)`, numbered from 0.

        Raises:
            UserError: the flag has another form.
        """
        pairs = self.teacher_layers.split(",") if self.teacher_layers else ()
        try:
            pairs = [map(int, pair.split(":")) for pair in pairs]
            return tuple((own - 1, teachers - 1) for own, teachers in pairs)
        except ValueError as error:
            raise UserError(
                f"--teacher_layers={self.teacher_layers}: expected pairs of layers "
                "such as 2:6,4:12."
            ) from error


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
        """Returns the `AlbertConfig` fields in which the generator differs."""
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
