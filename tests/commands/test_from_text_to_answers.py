"""The commands of docs/roberta.md and docs/xlnet.md, from text to answers."""

import json
import re
import shlex

import numpy as np
import pytest

import albert_tf
from albert_tf.cli import commands
from albert_tf.commands import convert
from albert_tf.commands import fill_mask
from tests.corpus import write_squad

_TEXT = (
    "The cat sat on the mat. It didn't bark.\n\n"
    "A dog barked at the cat. Then it slept.\n"
)
_QUESTION = "Where did it sit?"
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


@pytest.fixture(
    scope="module",
    params=["roberta", pytest.param("xlnet", marks=pytest.mark.nightly)],
)
def family(request):
    return request.param


@pytest.fixture(scope="module")
def folder(family, tmp_path_factory, project):
    """A folder in which the commands of the family's page were run."""
    folder = tmp_path_factory.mktemp(family)
    config = json.loads(_CONFIGS[family])
    (folder / "corpus").mkdir()
    (folder / "corpus" / "a.txt").write_text(_TEXT * 40)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "configs").symlink_to(project / "configs")
    asked = ("1", _QUESTION, [("the mat", _TEXT.index("the mat"))])
    for name in ("train.json", "dev.json"):
        write_squad(folder, (_TEXT.strip(), [asked]), name=name, version="1.1")
    size = config.get("vocab_size", config.get("n_token"))
    small = {**_SMALL, "vocab": f"vocab_size={size}"}
    typed = list(_commands(project / "docs" / f"{family}.md"))
    assert len(typed) == 5
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(project)
        for name, *words in typed:
            flags = [f"--{flag}" for flag in small[name].split()]
            given = {flag.partition("=")[0] for flag in flags}
            kept = [word for word in words if word.partition("=")[0] not in given]
            commands.main(["albert-tf", name, *kept, *flags])
    return folder


def _commands(page):
    """The commands of the first block of the shell below a heading on text."""
    text = page.read_text("utf-8").split("## From raw text")[1]
    block = re.search(r"```sh\n(.*?)```", text, re.DOTALL)[1]
    for line in block.replace("\\\n", " ").strip().splitlines():
        yield shlex.split(line)[1:]


@pytest.mark.slow
def test_a_served_model_answers(folder):
    served = albert_tf.Predictor(folder / "served")
    found = served(question=_QUESTION, context=_TEXT.strip())["answer"]
    assert found in _TEXT
    written = json.loads((folder / "answers" / "predictions.json").read_text())
    assert written == {"1": found}


@pytest.mark.slow
def test_the_pretrained_model_in_the_other_commands(family, folder, tmp_path, capsys):
    model = str(folder / "pretrained")
    mask = "<mask>" if family == "roberta" else "[MASK]"
    fill_mask.main(["fill_mask", f"--model_dir={model}", f"The cat {mask} on the mat."])
    assert len(capsys.readouterr().out.splitlines()) == 6
    if family == "xlnet":
        return
    there = [f"--from={model}", f"--to={tmp_path}", "--to_format=huggingface"]
    convert.main(["convert", *there])
    entries = json.loads((tmp_path / "config.json").read_text())
    assert entries["model_type"] == "roberta"
    theirs = albert_tf.AlbertForMaskedLM.from_pretrained(tmp_path)
    ours = albert_tf.AlbertForMaskedLM.from_pretrained(model)
    features = albert_tf.load_tokenizer(tmp_path)("The cat <mask> on the mat.")
    np.testing.assert_allclose(theirs(features), ours(features), rtol=0, atol=1e-6)
