"""From the flags of a run to its phases."""

from albert_tf.pretraining.flags import DataFlags


def phases(**flags):
    flags = {
        "max_seq_length": 128,
        "train_batch_size": 24,
        "num_train_steps": 100,
        **flags,
    }
    return DataFlags(input_file="data", **flags).phases()


def test_a_run_is_one_phase():
    (phase,) = phases(gradient_accumulation_steps=2)
    assert vars(phase) == {
        "input_file": "data",
        "max_seq_length": 128,
        "max_predictions_per_seq": None,
        "train_batch_size": 24,
        "gradient_accumulation_steps": 2,
        "num_train_steps": 100,
    }


def test_the_second_phase_changes_what_it_says():
    first, second = phases(
        first_phase_steps=90,
        second_phase_input_file="long",
        second_phase_max_seq_length=512,
        second_phase_max_predictions_per_seq=77,
        second_phase_train_batch_size=8,
        second_phase_gradient_accumulation_steps=4,
    )
    assert [*vars(first).values()] == [24, 90, "data", 128, None, 1]
    assert [*vars(second).values()] == [8, 100, "long", 512, 77, 4]
    _, second = phases(first_phase_steps=90, second_phase_max_seq_length=512)
    assert (second.input_file, second.train_batch_size) == ("data", 24)


def test_the_ramp_doubles_the_batch_in_equal_steps_of_the_first_phase():
    ramp = phases(
        gradient_accumulation_steps=6,
        batch_ramp_steps=30,
        first_phase_steps=40,
        second_phase_train_batch_size=12,
    )
    found = [
        (p.train_batch_size, p.gradient_accumulation_steps, p.num_train_steps)
        for p in ramp
    ]
    assert found == [(4, 1, 10), (8, 2, 20), (16, 4, 30), (24, 6, 40), (12, 6, 100)]
