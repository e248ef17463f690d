"""Treatment of variables by path: weight decay, adaptation, and rates by depth."""

import collections
import re

from albert_tf.errors import UserError

RATES, GRADIENTS = DECAYED = ("rates", "gradients")
"""Quantities that `layer_decay` can scale in lower layers."""


Rule = collections.namedtuple("Rule", "name pattern excluded")
"""A rule for variables whose path matches; excluded: neither decayed nor adapted."""

RELATIVE_BIASES = "relative biases"
"""The name of the rule for XLNet's attention biases."""

# The official list of exclusions is "LayerNorm|layer_norm|bias"; Keras calls the
# scale and offset of a normalization gamma and beta.
RULES = (
    Rule("normalizations", r"LayerNorm|layer_norm|(^|/)(gamma|beta)$", True),
    Rule("biases", r"^(?!.*LayerNorm|.*layer_norm|.*\br_[wrs]_bias$).*bias$", True),
    Rule("weights", r"(kernel|embeddings|weights|_emb|_embed)$", False),
    # Without a trust ratio, LAMB's rate is too high for adapters.
    Rule("depth adapters", r"(^|/)depth_adapters/", False),
    # Official XLNet decays them; it checks for them before its list.
    Rule(RELATIVE_BIASES, r"\br_[wrs]_bias$", False),
)
# The official code treats every variable that is not on its list as a weight.
OTHER = Rule("others", "", False)


def rule_of(path):
    """Returns the `Rule` that matches a variable's path; `OTHER` if none does.

    Raises:
        UserError: several rules match.
    """
    claiming = [rule for rule in RULES if re.search(rule.pattern, path)]
    if len(claiming) > 1:
        names = " and ".join(rule.name for rule in claiming)
        raise UserError(
            f"The variable {path!r} matches the rules for {names}, which differ on "
            "weight decay; rename it."
        )
    return claiming[0] if claiming else OTHER


def layer_decay(config, decay, decayed=RATES):
    """Returns the arguments of a `MomentsOptimizer` for layer-wise decay.

    `RATES` scales the learning rates by `layer_factors`; `GRADIENTS` scales the clipped
    gradients by `official_factors`, as the official XLNet does.
    """
    if decayed == GRADIENTS:
        return {"gradient_factors": official_factors(config, decay)}
    return {"learning_rate_factors": layer_factors(config, decay)}


def official_factors(config, decay):
    """Returns factors of clipped gradients by depth, as `get_train_op` of XLNet's code.

    The top set of parameters has the factor 1, the one below `decay`, and so on;
    embeddings and everything else have 1. Adam divides by the size of earlier
    gradients, which have the same factor, so that the steps hardly change. Arguments
    and result are those of `layer_factors`.
    """
    sets = _sets(config)
    return _by_depth(sets, [decay ** (len(sets) - 1 - i) for i in range(len(sets))])


def _sets(config):
    """Lists the distinct blocks of the layers, from the lowest up."""
    return list(dict.fromkeys(b for layer in config.layer_schedule() for b in layer))


def _by_depth(sets, factors):
    """Maps each set's sublayers to a factor; if sets share one, the highest counts."""
    found = {}
    for (attention, feed_forward), factor in zip(sets, factors, strict=True):
        found[f"attention_{attention}"] = factor
        found[f"feed_forward_{feed_forward}"] = factor
    return found


def layer_factors(config, decay):
    """Returns factors of the rate by depth (Howard and Ruder, arXiv 1801.06146).

    Shared parameters have one learning rate, so depth counts sets of parameters, not
    layers: the top set has the factor `decay`, the one below `decay ** 2`, and so on
    down to the embeddings with their projection. A sublayer that sets share belongs to
    the highest, as do depth adapters. The pooler and the heads keep the full rate. With
    all layers shared: head 1, layers `decay`, embeddings `decay ** 2`.

    Args:
        config: an `AlbertConfig`.
        decay: factor from a set of parameters to the one below, 1 for none.

    Returns:
        `{part of a variable's path: factor}`, as `MomentsOptimizer` takes it.
    """
    sets = _sets(config)
    factors = _by_depth(sets, [decay ** (len(sets) - i) for i in range(len(sets))])
    if config.depth_adapter_rank:
        factors["depth_adapters"] = decay
    distances = ("relative_positions",) if config.is_disentangled else ()
    for name in ("embeddings", "embedding_mapping", *distances):
        factors[name] = decay ** (len(sets) + 1)
    return factors
