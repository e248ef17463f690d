"""The flags of run_race.py are the official ones."""

import pytest

from albert_tf.cli.command_line import parse
from albert_tf.tasks.multiple_choice import flags
from albert_tf.tasks.multiple_choice.flags import RaceOptions

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
