"""The flags of run_squad.py are the official ones."""

import dataclasses

import pytest

from albert_tf.cli.command_line import parse
from albert_tf.tasks.question_answering import flags
from albert_tf.tasks.question_answering.flags import SquadOptions

_README = """
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


@pytest.mark.parametrize("more", [_VERSION_1, _VERSION_2])
def test_official_command_lines(more):
    """Those of the official README, but for the names of scripts and files."""
    options = parse(SquadOptions, (_README + more).split(), flags._IGNORED)
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
