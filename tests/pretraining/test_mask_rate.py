"""The share of tokens that training predicts, fixed or moving from step to step."""

import itertools

import pytest

from albert_tf.errors import UserError
from albert_tf.pretraining.data import PretrainingData


@pytest.fixture
def data_of(settings, tokenizer):
    """Makes the data of a run with changed flags."""
    return lambda **changes: PretrainingData(settings(**changes), tokenizer)


@pytest.mark.slow
def test_mask_rate(data_of, dynamic):
    masked = []
    for rate in (0.05, 0.2):  # one of 16 tokens, and three
        data = data_of(input_file=dynamic / "train.tfrecord", masked_lm_prob=rate)
        (stage,) = data.stages()
        batches = itertools.islice(stage.dataset, 8)
        masked.append(sum(b["masked_lm_weights"].numpy().sum() for b in batches))
    assert masked[1] > 1.5 * masked[0]
    with pytest.raises(UserError, match=" final_masked_lm_prob=0.2 comes too late"):
        data_of(masked_lm_prob=0.1, final_masked_lm_prob=0.2).stages()


@pytest.mark.slow
def test_a_share_without_room_is_blamed_on_its_flag(data_of, dynamic):
    """The greatest share that fits is said, and is taken."""

    def check(**shares):
        files = {"input_file": dynamic / "train.tfrecord", "eval_file": None}
        data_of(**files, **shares).check()

    two = {"masked_lm_prob": 0.3, "final_masked_lm_prob": 0.3}
    for flag, shares in (
        ("masked_lm_prob", {"masked_lm_prob": 0.3}),
        ("masked_lm_prob", {**two, "final_masked_lm_prob": 0.1}),
        ("final_masked_lm_prob", {**two, "masked_lm_prob": 0.1}),
    ):
        with pytest.raises(UserError) as error:
            check(**shares)
        assert str(error.value) == (
            f"{flag}=0.3 of 16 tokens, as {dynamic} has them, needs 5 predictions, but "
            "max_predictions_per_seq=3; lower it to 0.2187 or less, or pass "
            "max_predictions_per_seq=5."
        )
    check(masked_lm_prob=0.2187)
    check(masked_lm_prob=0.3, max_predictions_per_seq=5)
    with pytest.raises(UserError, match="masked_lm_prob=0.2188 .* needs 4 predictio"):
        check(masked_lm_prob=0.2188)


@pytest.mark.slow
def test_mask_rate_by_step(data_of, settings, dynamic):
    """The share moves on a line, through both phases."""
    changes = {
        "input_file": dynamic / "train.tfrecord",
        "masked_lm_prob": 0.4,
        "final_masked_lm_prob": 0.1,
        "num_train_steps": 4,
        "first_phase_steps": 2,
        "max_seq_length": None,
        "max_predictions_per_seq": None,
        "second_phase_train_batch_size": 8,
    }
    first, _ = settings(**changes).phases()
    assert first.max_predictions_per_seq == 6  # of 16 tokens
    most = [
        batch["masked_lm_weights"].numpy().sum(axis=1).max()
        for stage in data_of(**changes).stages()
        for batch in stage.dataset.take(2)
    ]
    # 16 tokens times 0.4, 0.3, 0.2 and 0.1; a row whose words do not fit has fewer.
    assert most == [6, 5, 3, 2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"masked_lm_prob": 0.5, "restart_data": True},
            "at which the share of tokens would be 0.5",
        ),
        ({}, "--final_masked_lm_prob needs --masked_lm_prob"),
    ],
)
def test_a_moving_share_that_makes_no_sense_is_refused(settings, changes, message):
    with pytest.raises(UserError, match=message):
        settings(final_masked_lm_prob=0.1, **changes)
