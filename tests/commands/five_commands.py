"""The five commands of a page, from raw text to a served model, run at a tiny scale."""

import importlib
import json
import re
import shlex

import pytest

from albert_tf.cli.commands import COMMANDS

TEXT = (
    "The cat sat on the mat. It didn't bark.\n\n"
    "A dog barked at the cat. Then it slept.\n"
)
QUESTION = {"question": "Where did it sit?", "context": TEXT}
# What makes the commands small; the pages have the rest.
SMALL = {
    "data_pipeline.create_pretraining_data": {"max_seq_length": 32},
    "run_pretraining": {
        "albert_config_file": "config.json",
        "max_seq_length": 32,
        "max_predictions_per_seq": 5,
        "train_batch_size": 4,
        "num_train_steps": 2,
        "num_warmup_steps": 1,
        "iterations_per_loop": 1,
        "use_xla": False,
    },
    "run_squad": {
        "max_seq_length": 32,
        "doc_stride": 8,
        "max_query_length": 12,
        "train_batch_size": 2,
        "num_train_epochs": 1,
    },
    "albert_tf.serving.export": {"max_seq_length": 32},
}


def _commands(page):
    """The commands of the first block of the shell below a heading on text."""
    text = page.read_text("utf-8").split("## From raw text")[1]
    block = re.search(r"```sh\n(.*?)```", text, re.DOTALL)[1]
    lines = block.replace("\\\n", " ").strip().splitlines()
    for line in lines:
        words = shlex.split(line)[1:]
        if words[0] == "-m":
            words = words[1:]
        module, _, _ = COMMANDS.get(words[0], words)[0].partition(":")
        yield module.removesuffix(".py"), words[1:]


def run_commands(folder, project, page, small, config):
    """Runs the commands of a page in a folder with a corpus and questions.

    Args:
        folder: an empty `pathlib.Path`.
        project: the project's.
        page: its name in docs/.
        small: flags of further commands that take the place of the page's, besides
            `SMALL`.
        config: contents of config.json.
    """
    (folder / "corpus").mkdir()
    (folder / "corpus" / "a.txt").write_text(TEXT * 40)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "configs").symlink_to(project / "configs")
    answer = {"text": "the mat", "answer_start": TEXT.index("the mat")}
    question = {"id": "1", "question": QUESTION["question"], "answers": [answer]}
    paragraph = {"context": TEXT.strip(), "qas": [question]}
    data = {"version": "1.1", "data": [{"title": "", "paragraphs": [paragraph]}]}
    for name in ("train.json", "dev.json"):
        (folder / name).write_text(json.dumps(data))
    commands = list(_commands(project / "docs" / page))
    assert len(commands) == 5
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(project)
        for name, words in commands:
            own = {**SMALL, **small}[name]
            kept = [w for w in words if w[2:].split("=")[0] not in own]
            flags = [f"--{flag}={value}" for flag, value in own.items()]
            importlib.import_module(name).main([name, *kept, *flags])
