"""Fine-tunes and applies a model that answers questions on paragraphs.

  python run_squad.py --train_file=train-v1.1.json --predict_file=dev-v1.1.json
      --init_checkpoint=albert_base --output_dir=out --do_train --do_predict

The flags are those of the official run_squad_v1 and run_squad_v2, with the same meaning
and defaults; new ones stand beside them. --init_checkpoint is as in run_classifier.

Written to --output_dir: model/ (the best checkpoint by F1 on --predict_file),
checkpoints/, predictions.json, nbest_predictions.json, null_odds.json (SQuAD 2.0),
eval_results.txt, and dev_errors.html, a page of the wrong answers.
"""

import dataclasses

from albert_tf.command_line import option
from albert_tf.tasks.flags import TaskOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class SquadOptions(TaskOptions):
    """The flags of run_squad.py."""

    do_eval: bool = option("Score --predict_file.", False, may_change=True)
    do_predict: bool = option(
        "Predict --predict_file, and score it if it has answers.",
        False,
        may_change=True,
    )
    train_file: str | None = option("Questions to learn from, JSON as SQuAD's.", None)
    predict_file: str | None = option(
        "Questions to predict; with answers they are scored, too.", None
    )
    version: int | None = option(
        "1 or 2, of SQuAD; by default 2 where a question of --train_file is marked as "
        "impossible, and without --do_train that of the model.",
        None,
        minimum=1,
        maximum=2,
    )
    max_seq_length: int = option(
        "Tokens of a window at most; without --do_train that of the model.",
        384,
        minimum=5,
    )
    doc_stride: int = option(
        "Tokens from a window to the next; without --do_train that of the model.",
        128,
        minimum=1,
    )
    max_query_length: int = option(
        "Tokens of a question that are kept; without --do_train that of the model.",
        64,
        minimum=0,
    )
    n_best_size: int = option(
        "Candidates of an answer in nbest_predictions.json.", 20, minimum=1
    )
    max_answer_length: int = option("Tokens of an answer at most.", 30, minimum=1)
    null_score_diff_threshold: float | None = option(
        "SQuAD 2.0: null odds from which on there is no answer; by default the best on "
        "--predict_file, and for one without answers the best in training.",
        None,
    )
    start_n_top: int = option("SQuAD 2.0: starts that are followed.", 5, minimum=1)
    end_n_top: int = option("SQuAD 2.0: ends for each of them.", 5, minimum=1)
    dropout_prob: float = option(
        "SQuAD 2.0: dropout of the answer class.", 0.1, minimum=0
    )
    num_train_epochs: float = option("Epochs, counted in questions.", 3.0, minimum=0)
    train_step: int | None = option(
        "Training steps, in place of num_train_epochs.", None, minimum=1
    )
    warmup_proportion: float = option(
        "Share of all steps that warms up.", 0.1, minimum=0, maximum=1
    )
    warmup_step: int | None = option(
        "Steps of linear warm-up, in place of warmup_proportion.", None, minimum=0
    )
