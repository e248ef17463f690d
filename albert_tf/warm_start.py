"""Starts a model from a checkpoint of fewer layers, or of other groups of layers."""

import dataclasses

from albert_tf.bundle import build_model
from albert_tf.errors import UserError
from albert_tf.families.layer_sharing import move_layers_and_adapters

# What neither the shapes nor the meaning of a single tensor depends on.
_MAY_DIFFER = (
    "num_hidden_layers",
    "num_hidden_groups",
    "parameter_sharing",
    "depth_adapter_rank",
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "initializer_range",
)


def warm_start(model_class, opened, config, rule, allow_missing, **arguments):
    """Builds a model of `config` with the weights of another one.

    The paper trains deep networks from shallow ones: xxlarge from its first 6 layers
    (appendix A.1). See `move_layers` for which layer takes whose parameters,
    and `move_layers_and_adapters` for what adapters begin with.

    Args:
        model_class: a `PretrainedModel`.
        opened: the `Bundle` of the other one.
        config: the `AlbertConfig` of the model.
        rule: see `move_layers`.
        allow_missing: beginnings of official names that may be absent, and are new.
        **arguments: constructor arguments of the model.

    Returns:
        The model, and lines that report the origin of each part.

    Raises:
        UserError: the checkpoint does not fit, or its configuration differs in more
            than layers, groups, sharing and dropout.
    """
    opened.check_family(model_class)
    source = opened.config or config
    _check(source, config, opened.source)
    tensors, origins = move_layers_and_adapters(opened.tensors, source, config, rule)
    opened = dataclasses.replace(opened, config=config, read=lambda: tensors)
    model = build_model(model_class, opened, allow_missing, arguments)
    return model, _report(model.load_report, source, config, origins)


def _check(source, config, name):
    for field in dataclasses.fields(config):
        old, new = getattr(source, field.name), getattr(config, field.name)
        if old != new and field.name not in _MAY_DIFFER:
            raise UserError(
                f"{name} has {field.name}={old}, but the new model has {new}; the two "
                f"may differ only in {', '.join(_MAY_DIFFER)}."
            )


def _report(load_report, source, config, origins):
    lines = [
        f"Starting from {load_report}",
        f"  layers: {config.num_hidden_layers}, from {source.num_hidden_layers}",
    ]
    for (scope, is_feed_forward), scopes in origins.items():
        if scopes != [scope]:
            part = "feed-forward layer" if is_feed_forward else "attention"
            whose = ", ".join(map(_short, dict.fromkeys(scopes)))
            whose = f"the mean of {whose}" if len(scopes) > 1 else whose
            lines.append(f"  {_short(scope)}, {part}: from {whose}")
    ranks = config.depth_adapter_rank, source.depth_adapter_rank
    if any(ranks):
        lines.append("  rank of depth adapters: {}, from {}".format(*ranks))
    return [*lines, "  optimizer, schedule and place in the data: new"]


def _short(scope):
    return scope.split("transformer/")[-1]
