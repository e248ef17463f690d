"""The commands of docs/roberta.md and docs/xlnet.md, from text to answers."""

import json
import re
import shlex

import pytest

import albert_tf
from albert_tf.cli import commands
from tests.corpus import write_squad

_TEXT = (
    "The cat sat on the mat. It didn't bark.\n\n"
    "A dog barked at the cat. Then it slept.\n"
)
_QUESTION = "Where did it sit?"
_ASKED = ("1", _QUESTION, [("the mat", _TEXT.index("the mat"))])
# What makes the commands small; the pages have the rest.
_SMALL = {
    "data": "max_seq_length=32",
    "pretrain": "albert_config_file=config.json max_seq_length=32 train_batch_size=4 "
    "max_predictions_per_seq=5 num_train_steps=2 num_warmup_steps=1 use_xla=False "
    "iterations_per_loop=1",
    "squad": "max_seq_length=32 doc_stride=8 max_query_length=12 train_batch_size=2 "
    "num_train_epochs=1",
    "export": "max_seq_length=32",
}
_CONFIGS = {
    "roberta": """{"vocab_size": 290, "embedding_size": 16, "hidden_size": 16,
        "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
        "max_position_embeddings": 64, "type_vocab_size": 1, "hidden_act": "gelu_erf",
        "parameter_sharing": "none", "layer_norm_eps": 1e-5, "padding_idx": 1}""",
    "xlnet": """{"n_token": 34, "d_model": 16, "n_layer": 1, "n_head": 2, "d_head": 8,
        "d_inner": 16, "mem_len": 8, "reuse_len": 16}""",
}
_PIECES = {"roberta": 290, "xlnet": 34}


def _commands(page):
    """The commands of the first block of the shell below a heading on text."""
    text = page.read_text("utf-8").split("## From raw text")[1]
    block = re.search(r"```sh\n(.*?)```", text, re.DOTALL)[1]
    for line in block.replace("\\\n", " ").strip().splitlines():
        yield shlex.split(line)[1:]


# By day tests/journeys types the commands of other pages.
@pytest.mark.nightly
@pytest.mark.parametrize("family", _CONFIGS)
def test_the_commands_of_a_page(family, project, tmp_path, monkeypatch):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.txt").write_text(_TEXT * 40)
    (tmp_path / "config.json").write_text(_CONFIGS[family])
    (tmp_path / "configs").symlink_to(project / "configs")
    for name in ("train.json", "dev.json"):
        write_squad(tmp_path, (_TEXT.strip(), [_ASKED]), name=name, version="1.1")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(project)
    small = {**_SMALL, "vocab": f"vocab_size={_PIECES[family]}"}
    typed = list(_commands(project / "docs" / f"{family}.md"))
    assert len(typed) == 5
    for name, *words in typed:
        flags = [f"--{flag}" for flag in small[name].split()]
        given = {flag.partition("=")[0] for flag in flags}
        kept = [word for word in words if word.partition("=")[0] not in given]
        commands.main(["albert-tf", name, *kept, *flags])

    served = albert_tf.Predictor("served")
    found = served(question=_QUESTION, context=_TEXT.strip())["answer"]
    assert found in _TEXT
    written = json.loads((tmp_path / "answers" / "predictions.json").read_text())
    assert written == {"1": found}
