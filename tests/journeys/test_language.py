"""Whoever has text in another language pretrains a model that other libraries open."""

import itertools
import json

import pytest

pytestmark = pytest.mark.slow

# Subjects, verbs and places: accents, vowel signs and a joiner among them.
_TEXTS = """
suomi: sää, työ, yö, äiti; muuttuu, näkyy, häviää; huomenna, mökillä, järvellä
русский: йод, ёлка, мой брат; стоит, идёт, лежит; в лесу, у моря, дома
हिन्दी: हिन्दी, क्\u200dषमा, मेरी माँ; अच्छी है, सुन्दर है, नहीं है; आज, यहाँ, घर में
"""
_CONFIG = {
    "vocab_size": 80,
    "embedding_size": 16,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}
_DATA = {"max_seq_length": 32, "num_shards": 1, "workers": 1, "held_out_fraction": 0.2}
_TRAINING = {
    "albert_config_file": "config.json",
    "train_batch_size": 4,
    "num_train_steps": 3,
    "iterations_per_loop": 1,
    "use_xla": "false",
}
_SMALLER = {"vocab": {"vocab_size": 80}, "data": _DATA, "pretrain": _TRAINING}
_COMPARE = """
import json, sys, transformers, albert_tf
theirs = transformers.AutoTokenizer.from_pretrained("hf")
ours = albert_tf.load_tokenizer("mine")
lines = json.load(sys.stdin)
for line in lines:
    ids = theirs(line, add_special_tokens=False)["input_ids"]
    assert ids == list(ours.encode(line)), line
    assert theirs.decode(ids) == line, (line, theirs.decode(ids))
print(len(lines))
"""


def test_text_in_three_scripts(newcomer):
    corpus = newcomer.folder / "corpus"
    corpus.mkdir()
    lines = []
    for row in _TEXTS.strip().splitlines():
        name, _, parts = row.partition(": ")
        words = (part.split(", ") for part in parts.split("; "))
        own = [" ".join(line) for line in itertools.product(*words)]
        documents = ["\n".join(own[i:] + own[:i]) for i in range(0, len(own), 3)]
        (corpus / f"{name}.txt").write_text("\n\n".join(documents), "utf-8")
        lines += own
    (newcomer.folder / "config.json").write_text(json.dumps(_CONFIG))
    block = newcomer.block("README.md", "The path").strip().splitlines()[:3]
    convert = "albert-tf convert --from=mine --to=hf --to_format=huggingface"
    newcomer.types("\n".join([*block, convert]), _SMALLER)
    assert newcomer.runs(_COMPARE, json.dumps(lines)).split()[-1] == str(len(lines))
