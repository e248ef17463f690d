"""How a model is computed, from flags that pretraining and fine-tuning share."""

import dataclasses

from albert_tf.command_line import option

_PRECISIONS = ("float32", "bfloat16", "float16")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExecutionFlags:
    """Flags of every command that trains."""

    mixed_precision: str = option(
        "What layers compute in; weights, losses and optimizer are float32 always.",
        "float32",
        _PRECISIONS,
    )
    depth_loop: bool = option(
        "Compile layers with the same weights once, as a loop.", False
    )
    rematerialize: bool = option(
        "Keep the inputs of the layers only and compute the rest again for the "
        "gradients: less memory, more time.",
        False,
    )


def execution_arguments(options):
    """The constructor arguments of a model; its weights are float32 in any case.

    Args:
        options: has `mixed_precision`, `depth_loop` and `rematerialize`.
    """
    precision = options.mixed_precision
    return {
        "dtype": precision if precision == "float32" else f"mixed_{precision}",
        "depth_loop": options.depth_loop,
        "rematerialize": options.rematerialize,
    }
