"""The flags of what is predicted, and of what is learned about sentences."""

import dataclasses

from albert_tf.cli.command_line import option
from albert_tf.engine.resumption import RESTART_DATA


@dataclasses.dataclass(frozen=True, kw_only=True)
class ObjectiveFlags:
    """Flags of run_pretraining.py that belong to one `--objective` each."""

    masked_lm_prob: float | None = option(
        "Share of the tokens to predict, for data made with --masking=dynamic; by "
        "default the share that the data was made for.",
        None,
        minimum=0,
        may_change=RESTART_DATA,
    )
    max_gram: int = option(
        "Longest span that XLNet predicts, in tokens; 1 predicts single tokens.",
        5,
        minimum=1,
        may_change=RESTART_DATA,
    )
    sentence_objective: str = option(
        "What the model learns about two segments. data: what the data was made for "
        "(sentence order, next sentence or nothing); none: nothing, only the masked "
        "LM is trained.",
        "data",
        ("data", "none"),
        may_change=True,
    )
    eval_any_objective: bool = option(
        "Evaluate on --eval_file even if it was made for another sentence objective "
        "than the training data, as in the paper's table 5.",
        False,
        may_change=True,
    )
