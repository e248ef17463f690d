"""Whoever has text pretrains a model: of another language, or another family."""

import itertools
import json
import types

import pytest

from tests.corpus import write_squad

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


_TEXT = (
    "The cat sat on the mat. It didn't bark.\n\n"
    "A dog barked at the cat. Then it slept.\n"
)
_QUESTION = "Where did it sit?"
_ASKED = ("1", _QUESTION, [("the mat", _TEXT.index("the mat"))])
# What makes the commands of a page small.
_SMALL = {
    "data": {"max_seq_length": 32},
    "pretrain": {**_TRAINING, "max_seq_length": 32, "max_predictions_per_seq": 5},
    "squad": {
        "max_seq_length": 32,
        "doc_stride": 8,
        "max_query_length": 12,
        "train_batch_size": 2,
        "num_train_epochs": 1,
    },
    "export": {"max_seq_length": 32},
}
_ANSWER = """
import json, sys, albert_tf
print(albert_tf.Predictor("served")(**json.load(sys.stdin))["answer"])
"""


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("family", "pieces", "sizes"),
    [
        ("roberta", 290, {"max_position_embeddings": 64}),
        ("xlnet", 34, {"mem_len": 8, "reuse_len": 16}),
    ],
)
def test_a_family_answers_questions(family, pieces, sizes, newcomer, family_config):
    folder, heading = newcomer.folder, "From raw text to a served model that answers"
    (folder / "corpus").mkdir()
    (folder / "corpus" / "a.txt").write_text(_TEXT * 40)
    config = family_config(family, types.SimpleNamespace(vocab_size=pieces), **sizes)
    config.to_json_file(folder / "config.json")
    for name in ("train.json", "dev.json"):
        write_squad(folder, (_TEXT.strip(), [_ASKED]), name=name, version="1.1")
    block = newcomer.block(f"docs/{family}.md", f"{heading} questions", "sh")
    newcomer.types(block, {**_SMALL, "vocab": {"vocab_size": pieces}})
    asked = {"question": _QUESTION, "context": _TEXT.strip()}
    found = newcomer.runs(_ANSWER, json.dumps(asked)).splitlines()[-1]
    assert found in _TEXT
    written = json.loads((folder / "answers" / "predictions.json").read_text())
    assert written == {"1": found}
