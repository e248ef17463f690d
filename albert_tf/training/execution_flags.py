"""How a model is computed, from flags that pretraining and fine-tuning share."""

PRECISIONS = ("float32", "bfloat16", "float16")


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
