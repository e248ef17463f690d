"""Treatment of variables by path: weight decay, adaptation, and rates by depth."""

import collections
import re

from albert_tf.errors import UserError

RATES, GRADIENTS = DECAYED = ("rates", "gradients")
"""By which `layer_decay` scales the steps of lower layers."""


Rule = collections.namedtuple("Rule", "name pattern excluded")
"""A rule for the variables whose path matches; excluded: not decayed nor adapted."""

RELATIVE_BIASES = "relative biases"
"""The name of the rule for XLNet's biases of attention."""

# The official list of exclusions is "LayerNorm|layer_norm|bias"; Keras calls the
# scale and offset of a normalization gamma and beta.
RULES = (
    Rule("normalizations", r"LayerNorm|layer_norm|(^|/)(gamma|beta)$", True),
    Rule("biases", r"^(?!.*LayerNorm|.*layer_norm|.*\br_[wrs]_bias$).*bias$", True),
    Rule("weights", r"(kernel|embeddings|weights|_emb|_embed)$", False),
    # Without a trust ratio, LAMB's rate overruns what adapters have found.
    Rule("depth adapters", r"(^|/)depth_adapters/", False),
    # Official XLNet decays them, and looks them up before its list.
    Rule(RELATIVE_BIASES, r"\br_[wrs]_bias$", False),
)
# The official code treats whatever is not on its list as a weight.
OTHER = Rule("others", "", False)


def rule_of(path):
    """Returns the one `Rule` that claims the variable of a path; `OTHER` if none does.

    Raises:
        UserError: several do.
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
    """Returns factors of clipped gradients by depth; `get_train_op` of the XLNet code.

    The top set of parameters keeps its gradients, the one below has the factor `decay`,
    and so on; embeddings and all else keep theirs, too. Adam divides by the size of
    earlier gradients, which have the same factor, so that the steps hardly change.
    Arguments and result are those of `layer_factors`.
    """
    sets = _sets(config)
    return _by_depth(sets, [decay ** (len(sets) - 1 - i) for i in range(len(sets))])


def _sets(config):
    """Lists the different blocks of the layers, from the lowest on."""
    return list(dict.fromkeys(b for layer in config.layer_schedule() for b in layer))


def _by_depth(sets, factors):
    """Names the factor of each set's sublayers; the highest set's counts."""
    found = {}
    for (attention, feed_forward), factor in zip(sets, factors, strict=True):
        found[f"attention_{attention}"] = factor
        found[f"feed_forward_{feed_forward}"] = factor
    return found


def layer_factors(config, decay):
    """Returns factors of the rate by depth (Howard and Ruder, arXiv 1801.06146).

    Shared parameters of ALBERT have one learning rate, so depth is counted in sets of
    parameters, not in layers: the top set has the factor `decay`, the one below
    `decay ** 2`, and so on to the embeddings, whose projection goes with them. A
    sublayer that sets share counts as part of the highest, as do depth adapters. The
    pooler and the heads keep the full rate. With all layers shared: head 1, layers
    `decay`, embeddings `decay ** 2`.

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
    for name in ("embeddings", "embedding_mapping"):
        factors[name] = decay ** (len(sets) + 1)
    return factors
