"""Flags of distillation."""

import dataclasses

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
