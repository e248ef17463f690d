"""Variables of XLNet that official AdamW decays."""

from albert_tf.optimizers.adam import AdamW
from albert_tf.optimizers.rules import OTHER
from albert_tf.optimizers.rules import RELATIVE_BIASES
from albert_tf.optimizers.rules import rule_of
from albert_tf.xlnet.model import XLNetLMHeadModel


def test_biases_and_norms_are_not_decayed_but_relative_biases_are(xlnet_config):
    model = XLNetLMHeadModel(xlnet_config(embedding_size=5))
    rules = {
        model.official_names()[variable.path]: rule_of(variable.path)
        for variable in model.trainable_variables
    }
    assert len(rules) == 34 and OTHER not in rules.values()
    for name, rule in rules.items():
        last = name.split("/")[-1]
        assert rule.excluded == (last in ("gamma", "beta", "bias")), name
    assert {n.split("/")[-1] for n, r in rules.items() if r.name[:8] == "relative"} == {
        "r_w_bias",
        "r_r_bias",
        "r_s_bias",
    }


def test_relative_biases_may_be_treated_as_other_biases(xlnet_config):
    model = XLNetLMHeadModel(xlnet_config())
    treated = {}
    for also in ((), (RELATIVE_BIASES,)):
        optimizer = AdamW(0.1, weight_decay_rate=0.5, also_excluded=also)
        optimizer.build(model.trainable_variables)
        for variable, excluded in zip(
            model.trainable_variables, optimizer.excluded, strict=True
        ):
            treated.setdefault(variable.path, []).append(excluded)
    changed = {path for path, (first, second) in treated.items() if first != second}
    changed = {path.split("/")[-1] for path in changed}
    assert changed == {"r_w_bias", "r_r_bias", "r_s_bias"}
