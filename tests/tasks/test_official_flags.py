"""The official README's command lines are taken, but for names of scripts and files."""

import dataclasses

import pytest

from albert_tf.cli.command_line import parse
from albert_tf.tasks.multiple_choice import flags as of_race
from albert_tf.tasks.multiple_choice.flags import RaceOptions
from albert_tf.tasks.question_answering import flags as of_squad
from albert_tf.tasks.question_answering.flags import SquadOptions

_SQUAD = """
run_squad.py --albert_config_file=albert_config.json --output_dir=out
--train_file=train.json --predict_file=dev.json --train_feature_file=train.tf
--predict_feature_file=dev.tf --predict_feature_left_file=dev.pkl
--init_checkpoint=model.ckpt --spm_model_file=30k-clean.model --do_lower_case
--max_seq_length=384 --doc_stride=128 --max_query_length=64 --do_train=true
--do_predict=true --train_batch_size=48 --predict_batch_size=8 --learning_rate=5e-5
--num_train_epochs=2.0 --warmup_proportion=.1 --save_checkpoints_steps=5000
--n_best_size=20 --max_answer_length=30
"""
_VERSION_1 = "--use_einsum=true"
_VERSION_2 = "--start_n_top=5 --end_n_top=5 --dropout_prob=0.1"
_RACE = """
run_race.py --albert_config_file=albert_config.json --output_dir=out
--train_file=train.tf_record --eval_file=eval.tf_record --predict_file=test.tf_record
--data_dir=data --init_checkpoint=model.ckpt --spm_model_file=30k-clean.model
--max_seq_length=512 --max_qa_length=128 --do_train --do_eval --train_batch_size=32
--eval_batch_size=8 --learning_rate=1e-5 --train_step=12000 --warmup_step=1000
--save_checkpoints_steps=100 --num_keep_checkpoint=5 --use_tpu=false
"""


@pytest.mark.parametrize("more", [_VERSION_1, _VERSION_2])
def test_run_squad(more):
    options = parse(SquadOptions, (_SQUAD + more).split(), of_squad._IGNORED)
    defaults = parse(SquadOptions, ["run_squad.py", "--output_dir=out"])
    changed = {
        field.name
        for field in dataclasses.fields(SquadOptions)
        if getattr(options, field.name) != getattr(defaults, field.name)
    }
    # The others name files or say what to do, or are the official defaults: without
    # --do_lower_case the vocabulary decides, and ALBERT's are lowered.
    files = {n for n in changed if n.endswith(("_file", "_checkpoint", "_steps"))}
    given = {"learning_rate", "train_batch_size", "num_train_epochs"}
    assert changed - files - {"do_train", "do_predict", "do_lower_case"} <= given


@pytest.mark.parametrize("name", ["init_checkpoint", "albert_hub_module_handle"])
def test_run_race(name):
    argv = _RACE.replace("init_checkpoint", name).split()
    options = parse(RaceOptions, argv, of_race._IGNORED)
    assert options.do_train and options.do_eval
    assert options.init_checkpoint == "model.ckpt"
