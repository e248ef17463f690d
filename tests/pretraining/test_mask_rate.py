"""The share of tokens that training predicts, fixed or moving from step to step."""

import itertools

import pytest

from albert_tf.errors import UserError


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
@pytest.mark.parametrize("flag", ["masked_lm_prob", "final_masked_lm_prob"])
def test_a_share_without_room_is_blamed_on_its_flag(data_of, dynamic, flag):
    """The greatest share that fits is said, and is taken."""

    def check(share, **changes):
        shares = {"masked_lm_prob": 0.1, "final_masked_lm_prob": 0.1, flag: share}
        files = {"input_file": dynamic / "train.tfrecord", "eval_file": None}
        data_of(**files, **shares, **changes).check()

    with pytest.raises(UserError) as error:
        check(0.3)
    assert str(error.value) == (
        f"{flag}=0.3 of 16 tokens, as {dynamic} has them, needs 5 predictions, but "
        "max_predictions_per_seq=3; lower it to 0.2187 or less, or pass "
        "max_predictions_per_seq=5."
    )
    check(0.2187)
    check(0.3, max_predictions_per_seq=5)
    with pytest.raises(UserError, match=f"{flag}=0.2188 .* needs 4 predictio"):
        check(0.2188)


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
