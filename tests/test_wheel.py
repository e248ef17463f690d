"""The installed package works outside the checkout."""

import os
import re
import subprocess
import zipfile

import pytest

from albert_tf.cli.commands import COMMANDS

_IMPORT_ALL = """
import importlib, pkgutil, sys
import albert_tf, data_pipeline
assert albert_tf.__file__.startswith(sys.prefix), albert_tf.__file__
for package in (albert_tf, data_pipeline):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
from albert_tf.cli import commands
for name in commands.COMMANDS:
    try:
        commands.main(["albert-tf", name, "--help"])
    except SystemExit as end:
        assert not end.code
"""


@pytest.fixture
def run(environment, project, tmp_path):
    """Runs one of the environment's programs far from the checkout."""
    variables = {**os.environ, "PYTHONPATH": str(project / "tests" / "absent")}

    def call(program, *arguments):
        command = [environment / program, *map(str, arguments)]
        done = subprocess.run(
            command, cwd=tmp_path, env=variables, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


@pytest.mark.slow
def test_every_module_is_there_and_every_command_explains_itself(run):
    assert run("python", "-c", _IMPORT_ALL).count("--config=FILE") == len(COMMANDS)


@pytest.mark.slow
def test_recipes_travel_along(run):
    printed = run("albert-tf", "describe", "--albert_config_file=albert/base_v2")
    assert "11,683,584" in printed


@pytest.mark.nightly
def test_from_pretraining_to_a_served_model(run, flags, tmp_path):
    run("albert-tf", "pretrain", *flags(num_train_steps=2, eval_file=None))
    for name in ("train", "dev"):
        rows = "sentence\tlabel\nthe cat sat\tcat\nthe dog ran\tdog\n"
        (tmp_path / f"{name}.tsv").write_text(rows)
    run(
        "albert-tf",
        "classify",
        "--do_train",
        "--task_name=custom",
        f"--data_dir={tmp_path}",
        f"--init_checkpoint={tmp_path / 'model'}",
        f"--output_dir={tmp_path / 'classifier'}",
        "--max_seq_length=16",
        "--train_batch_size=2",
        "--train_step=2",
        "--use_xla=false",
    )
    model = tmp_path / "classifier" / "model"
    served = tmp_path / "served"
    run("albert-tf", "export", f"--model_dir={model}", f"--export_dir={served}")
    assert (served / "1" / "saved_model.pb").exists()


@pytest.mark.slow
def test_the_page_of_an_index_links_to_no_file(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (name,) = (n for n in names if n.endswith("/METADATA"))
        page = archive.read(name).decode()
    assert "docs/finetuning.md" in page
    assert not re.findall(r"\]\((?!https?://)[^)]*\)", page)
    assert "albert_tf/families/remote_code/modeling_albert_tf.py" in names
    top = {name.split("/")[0] for name in names} - {name.split("/")[0]}
    assert top == {"albert_tf", "data_pipeline"}
