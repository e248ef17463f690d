"""Rules for decay of variables and their adaptation by LAMB, by the ends of paths."""

import dataclasses
import math
import re

from albert_tf.errors import UserError


@dataclasses.dataclass(frozen=True)
class Rule:
    """A rule for the variables whose path matches `pattern`."""

    name: str
    pattern: str
    excluded: bool
    """True for variables that are neither decayed nor adapted."""

    def claims(self, path):
        """Returns whether the rule is for the variable of this path."""
        return re.search(self.pattern, path) is not None


RELATIVE_BIASES = "relative biases"
"""The name of the rule for XLNet's biases of attention."""

# The official list of exclusions is "LayerNorm|layer_norm|bias"; Keras calls the
# scale and offset of a normalization gamma and beta.
RULES = (
    Rule("normalizations", r"LayerNorm|layer_norm|(^|/)(gamma|beta)$", True),
    Rule("biases", r"^(?!.*LayerNorm|.*layer_norm|.*\br_[wrs]_bias$).*bias$", True),
    Rule("weights", r"(kernel|embeddings|weights|_emb|_embed)$", False),
    # They begin at 0, where a trust ratio would keep them.
    Rule("depth adapters", r"(^|/)depth_adapters/", True),
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
    claiming = [rule for rule in RULES if rule.claims(path)]
    if len(claiming) > 1:
        names = " and ".join(rule.name for rule in claiming)
        raise UserError(
            f"The variable {path!r} matches the rules for {names}, which differ on "
            "weight decay; rename it."
        )
    return claiming[0] if claiming else OTHER


def is_excluded(rule, also_excluded):
    """Returns whether variables of a `Rule` are neither decayed nor adapted.

    Args:
        rule: the `Rule`.
        also_excluded: names of rules that are, besides those that always are.
    """
    return rule.excluded or rule.name in also_excluded


def rules_table(variables, weight_decay_rate, adapts, also_excluded=()):
    """Lists how many variables each rule has and its effect, unusual ones by name.

    Args:
        variables: Keras variables.
        weight_decay_rate: of those that are not excluded.
        adapts: whether the optimizer scales them by trust ratios.
        also_excluded: see `is_excluded`.
    """
    lines = []
    for rule in (*RULES, OTHER):
        own = [v for v in variables if rule_of(v.path) == rule]
        if not own:
            continue
        parameters = sum(math.prod(v.shape) for v in own)
        treatment = "neither decayed nor adapted" if adapts else "not decayed"
        if not is_excluded(rule, also_excluded):
            treatment = f"decayed by {weight_decay_rate:g}"
            treatment += ", each with its own trust ratio" if adapts else ""
        if rule == OTHER:
            treatment += f": {', '.join(v.path for v in own)}"
        lines.append(
            f"{len(own):5} {rule.name:15}{parameters:>14,} parameters  {treatment}"
        )
    return lines
