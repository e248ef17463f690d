"""What a `config.json` means if it leaves entries out, and what is written into one."""

import types

import pytest
import transformers

from albert_tf.errors import UserError
from albert_tf.families.albert import ALBERT
from albert_tf.families.albert_tf import ALBERT_TF
from albert_tf.families.bert import BERT
from albert_tf.families.bert import ROBERTA
from albert_tf.families.bert import XLM_ROBERTA
from albert_tf.families.deberta import DEBERTA
from albert_tf.families.distilbert import DISTILBERT
from albert_tf.families.electra import ELECTRA
from albert_tf.families.modernbert import MODERNBERT
from albert_tf.xlnet.family import XLNET

_PATH = "config.json"
_DEBERTA = {
    "relative_attention": True,
    "share_att_key": True,
    "position_biased_input": False,
    "pos_att_type": ["c2p", "p2c"],
    "norm_rel_ebd": "layer_norm",
}
_ROBERTA = {"max_position_embeddings": 514, "type_vocab_size": 1}
# What released models tell, and have otherwise than transformers' classes by default.
_RELEASED = {DEBERTA: _DEBERTA, ROBERTA: _ROBERTA, XLM_ROBERTA: _ROBERTA}
_ABSOLUTE = {"position_embedding_type": "absolute"}
_OLDER = {"global_rope_theta": 160_000.0, "local_rope_theta": 10_000.0}
# What is written otherwise than transformers' defaults, most of it for its version 4.
_WRITTEN = {
    ALBERT: _ABSOLUTE,
    BERT: _ABSOLUTE,
    ROBERTA: _ABSOLUTE,
    XLM_ROBERTA: _ABSOLUTE,
    DEBERTA: {"position_buckets": -1},
    DISTILBERT: {},
    ELECTRA: _ABSOLUTE,
    MODERNBERT: {**_OLDER, "global_attn_every_n_layers": 3, "pad_token_id": None},
    XLNET: {"reuse_len": 0, "untie_r": True},
}


@pytest.mark.parametrize("family", _WRITTEN, ids=lambda f: f.huggingface_type)
def test_defaults_are_theirs(family):
    theirs = transformers.AutoConfig.for_model(family.huggingface_type).to_dict()
    theirs |= _RELEASED.get(family, {})
    told = family.config_from_huggingface(theirs, _PATH)
    untold = _DEBERTA if family is DEBERTA else {}
    if family in (ALBERT, BERT, ROBERTA, XLM_ROBERTA):
        untold = {"vocab_size": theirs["vocab_size"]}
        with pytest.raises(UserError, match="lacks the key 'vocab_size'"):
            family.config_from_huggingface({}, _PATH)
    assert family.config_from_huggingface(untold, _PATH) == told
    written, _ = family.to_huggingface(told, {}, {}, "AlbertForMaskedLM")
    if family not in (BERT, ELECTRA, MODERNBERT):
        for key in ("pad_token_id", "bos_token_id", "eos_token_id"):
            assert written.get(key) == theirs.get(key), key
    same = [key for key in written if key in theirs and theirs[key] == written[key]]
    assert {k: v for k, v in written.items() if k not in same} == _WRITTEN[family]


def test_special_tokens_of_a_tokenizer():
    tokenizer = types.SimpleNamespace(cls_id=7, sep_id=8, pad_id=9)
    padding = {"pad_token_id": 9}
    ends = {"cls_token_id": 7, "sep_token_id": 8}
    ends |= {"bos_token_id": 7, "eos_token_id": 8}
    expected = dict.fromkeys(_WRITTEN, padding) | {MODERNBERT: {**padding, **ends}}
    for family, tokens in {**expected, **dict.fromkeys((ALBERT, XLNET), {})}.items():
        assert family.special_tokens(tokenizer) == tokens, family.title


_LEAST = {"vocab_size": 30, "hidden_size": 8, "num_attention_heads": 2}
_ONE_HEAD = {"hidden_size": 6, "num_attention_heads": 1}
_FULL, _LOCAL = "full_attention", "sliding_attention"
_BASES = {_FULL: {"rope_theta": 1}, _LOCAL: {"rope_theta": 2}}
_CHOICES = {"architectures": ["ElectraForMultipleChoice"]}


@pytest.mark.parametrize(
    ("family", "entries", "expected"),
    [
        (ROBERTA, {"max_position_embeddings": 3}, {"max_position_embeddings": 1}),
        (
            ROBERTA,
            {"pad_token_id": 0},
            {"max_position_embeddings": 513, "padding_idx": 0},
        ),
        (DEBERTA, {**_DEBERTA, "pos_att_type": "P2C | c2p"}, {}),
        (DEBERTA, {**_DEBERTA, "max_relative_positions": 512}, {}),
        (DEBERTA, {**_DEBERTA, "max_relative_positions": 0}, {}),
        (DEBERTA, {**_DEBERTA, "position_buckets": 0}, {"position_buckets": None}),
        (DEBERTA, {**_DEBERTA, "position_buckets": -1}, {"position_buckets": None}),
        (DEBERTA, {**_DEBERTA, "position_buckets": 2}, {"position_buckets": 2}),
        (DEBERTA, {**_DEBERTA, "conv_kernel_size": 0, "attention_head_size": 4}, {}),
        (DEBERTA, {**_DEBERTA, "pooler_hidden_act": "relu"}, {"pooler_act": "relu"}),
        (ELECTRA, {"summary_type": "mean"}, {}),
        (ELECTRA, {**_CHOICES, "summary_type": "first"}, {}),
        (ELECTRA, {**_CHOICES, "summary_activation": "gelu"}, {}),
        (ELECTRA, {**_CHOICES, "summary_use_proj": True}, {}),
        (ELECTRA, {**_CHOICES, "summary_proj_to_labels": False}, {}),
        (MODERNBERT, {"global_rope_theta": 1}, {"rotary_base": 1.0}),
        (
            MODERNBERT,
            {"rope_parameters": _BASES, "global_rope_theta": 7},
            {"rotary_base": 1.0, "local_rotary_base": 2.0},
        ),
        (
            MODERNBERT,
            {"layer_types": [_FULL, _LOCAL] * 11, "local_attention": 1},
            {"global_attention_every": 2, "local_attention_window": 1},
        ),
        (
            MODERNBERT,
            {"global_attn_every_n_layers": 1},
            {"global_attention_every": 3, "local_attention_window": None},
        ),
        (
            MODERNBERT,
            {"norm_bias": True, "mlp_bias": True, "decoder_bias": False},
            {"unbiased": ("attention", "head", "decoder")},
        ),
    ],
)
def test_what_is_followed(family, entries, expected):
    config = family.config_from_huggingface({**_LEAST, **entries}, _PATH)
    assert {name: getattr(config, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("family", "entries", "message"),
    [
        (ROBERTA, {"max_position_embeddings": 2}, "embeddings to 2 and pad_token_id"),
        (ROBERTA, {"max_position_embeddings": 2.5}, "to 2.5 and pad_token_id to 1, e"),
        (ROBERTA, {"pad_token_id": None}, "to 514 and pad_token_id to None, expected"),
        (ALBERT_TF, {"position_embedding_type": "disentangled"}, "'learned' or 'rot"),
        (ELECTRA, {"position_embedding_type": "relative_key"}, "expected 'absolute'"),
        (ELECTRA, {**_CHOICES, "summary_type": "mean"}, "'mean', expected 'first'"),
        (ELECTRA, {**_CHOICES, "summary_activation": "relu"}, "'relu', expected 'gel"),
        (ELECTRA, {**_CHOICES, "summary_use_proj": False}, "False, expected True"),
        (ELECTRA, {**_CHOICES, "summary_proj_to_labels": True}, "True, expected False"),
        (DEBERTA, {**_DEBERTA, "pos_att_type": "c2p"}, r"pos_att_type to \['c2p'\]"),
        (DEBERTA, {**_DEBERTA, "max_relative_positions": 7}, "expected -1 or 0 or 512"),
        (DEBERTA, {**_DEBERTA, "position_buckets": 1}, "position_buckets must be"),
        (DEBERTA, {**_DEBERTA, "hidden_size": "12"}, "embedding_size must be"),
        (DEBERTA, {**_DEBERTA, "num_attention_heads": 0}, "num_attention_heads must"),
        (DEBERTA, {**_DEBERTA, "attention_head_size": 5}, "to 5, expected 4"),
        (DEBERTA, {**_DEBERTA, **_ONE_HEAD, "attention_head_size": 5}, "expected 6"),
        (DEBERTA, {**_DEBERTA, "conv_kernel_size": 3}, "sets conv_kernel_size to 3"),
        (DEBERTA, {**_DEBERTA, "tie_word_embeddings": False}, "False, expected True"),
        (DEBERTA, {**_DEBERTA, "pooler_hidden_size": 9}, "to 9, expected 8"),
        (DEBERTA, {**_DEBERTA, "embedding_size": 9}, "to 9, expected 8"),
        *(
            (DEBERTA, {**_DEBERTA, key: None}, rf"sets {key} to {usual}, expected ")
            for key, usual in (
                ("relative_attention", "False"),
                ("share_att_key", "False"),
                ("position_biased_input", "True"),
                ("pos_att_type", r"\[\]"),
                ("norm_rel_ebd", "'none'"),
            )
        ),
        (MODERNBERT, {"global_rope_theta": 0.9}, "to 0.9, expected a number of at"),
        (MODERNBERT, {"local_rope_theta": True}, "to True, expected a number of at"),
        (MODERNBERT, {"rope_parameters": 3}, "rope_parameters to 3, expected an obj"),
        (MODERNBERT, {"rope_parameters": {_FULL: 3}}, "full_attention to 3, expected"),
        (MODERNBERT, {"rope_parameters": {"x": 3}}, "rope_parameters sets x to 3"),
        (MODERNBERT, {"norm_bias": 1}, "norm_bias to 1, expected False or True"),
        (MODERNBERT, {"classifier_pooling": "max"}, "'max', expected 'cls' or 'mean'"),
        (MODERNBERT, {"layer_types": [_LOCAL] * 22}, "sets layer_types to .*expected"),
        (MODERNBERT, {"rope_scaling": {"type": "yarn"}}, "sets rope_scaling to"),
        (
            MODERNBERT,
            {"rope_parameters": {_FULL: {"rope_type": "yarn"}}},
            "full_attention sets rope_type to 'yarn', expected",
        ),
        (MODERNBERT, {"local_attention": 0}, "to 0, expected a positive integer"),
        (MODERNBERT, {"local_attention": 2.0}, "to 2.0, expected a positive integer"),
        (MODERNBERT, {"global_attn_every_n_layers": 0}, "to 0, expected a positive in"),
        (MODERNBERT, {"global_attn_every_n_layers": "2"}, "to '2', expected a positiv"),
        (MODERNBERT, {"query_norm": True}, "sets query_norm to True, which albert_tf"),
    ],
)
def test_what_is_refused(family, entries, message):
    with pytest.raises(UserError, match=message):
        family.config_from_huggingface({**_LEAST, **entries}, _PATH)
