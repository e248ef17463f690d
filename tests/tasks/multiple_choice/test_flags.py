"""The flags of run_race.py are the official ones, with their defaults."""

import pytest

from albert_tf.cli.command_line import parse
from albert_tf.tasks.multiple_choice import flags
from albert_tf.tasks.multiple_choice.flags import RaceOptions

_OFFICIAL_DEFAULTS = {
    "task_name": "race",
    "dropout_prob": 0.1,
    "max_seq_length": 512,
    "max_qa_length": 128,
    "high_only": False,
    "middle_only": False,
    "do_predict": False,
    "train_batch_size": 32,
    "eval_batch_size": 8,
    "predict_batch_size": 8,
    "learning_rate": 1e-5,
    "train_step": 12000,
    "warmup_step": 1000,
    "save_checkpoints_steps": 100,
}


def test_official_defaults():
    options = parse(RaceOptions, ["run_race.py", "--output_dir=out"])
    found = {name: getattr(options, name) for name in _OFFICIAL_DEFAULTS}
    assert found == _OFFICIAL_DEFAULTS
    # The vocabulary decides; ALBERT's are lowered, as in the official code.
    assert options.do_lower_case is None


_README = """
run_race.py --albert_config_file=albert_config.json --output_dir=out
--train_file=train.tf_record --eval_file=eval.tf_record --predict_file=test.tf_record
--data_dir=data --init_checkpoint=model.ckpt --spm_model_file=30k-clean.model
--max_seq_length=512 --max_qa_length=128 --do_train --do_eval --train_batch_size=32
--eval_batch_size=8 --learning_rate=1e-5 --train_step=12000 --warmup_step=1000
--save_checkpoints_steps=100 --num_keep_checkpoint=5 --use_tpu=false
"""


@pytest.mark.parametrize("name", ["init_checkpoint", "albert_hub_module_handle"])
def test_official_command_line(name):
    """That of the official README, but for the names of scripts and files."""
    argv = _README.replace("init_checkpoint", name).split()
    options = parse(RaceOptions, argv, flags._IGNORED)
    assert (options.do_train, options.do_eval) == (True, True)
    assert options.init_checkpoint == "model.ckpt"
