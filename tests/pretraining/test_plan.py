"""The numbers of a plan: costs of each phase, time of the run, and what speed is."""

import types

from albert_tf.costs import albert
from albert_tf.pretraining.by_objective import KINDS
from albert_tf.pretraining.plan import measured_lines
from albert_tf.pretraining.plan import plan_lines
from albert_tf.pretraining.run import _prepare


def test_the_costs_of_each_phase_and_the_speed_of_the_devices(
    settings, short, material
):
    chosen = settings(
        peak_teraflops=0.5,
        input_file=short / "train.tfrecord",
        max_seq_length=8,
        max_predictions_per_seq=2,
        num_train_steps=8,
        first_phase_steps=6,
        second_phase_input_file=material / "data" / "train.tfrecord",
        second_phase_max_seq_length=16,
        second_phase_max_predictions_per_seq=3,
        second_phase_train_batch_size=8,
        second_phase_gradient_accumulation_steps=2,
    )
    *_, trainer = _prepare(chosen)
    kind, config = KINDS[chosen.objective], trainer.model.config
    lines = plan_lines(chosen, trainer, kind)
    costs = []
    for rows, shape in ((16, (8, 2)), (4, (16, 3))):
        flops = albert.training_flops(albert.forward_flops(config, *shape))
        memory = sum(albert.training_memory(config, rows, *shape).values())
        costs.append(
            f"{flops / 1e6:,.1f} MFLOP a token, about {memory / 2**30:,.2f} GiB"
        )
    assert [line.strip() for line in lines[1:8]] == [
        f"steps 0 to 6: {short / 'train.tfrecord'}",
        "batches of 16 sequences of 8 tokens (2 predictions), 1 x 16 a replica",
        f"{costs[0]} a replica",
        f"steps 6 to 8: {material / 'data' / 'train.tfrecord'}",
        "batches of 8 sequences of 16 tokens (3 predictions), 2 x 4 a replica",
        f"{costs[1]} a replica",
        f"in all {6 * 16 * 8 + 2 * 8 * 16:,} tokens, padding included",
    ]
    assert trainer.options.peak_flops == 0.5e12
    found = trainer.options.flops_per_token(8)
    assert found == kind.training_flops(trainer.model, 8, 2)


def test_what_was_measured_is_added_up():
    trainer = types.SimpleNamespace(seconds_per_step=lambda stage, _: stage.batch_size)
    stages = [
        types.SimpleNamespace(batch_size=size, last_step=last)
        for size, last in ((30, 100), (60, 160))
    ]
    assert measured_lines(trainer, stages)[1:] == [
        "  steps 0 to 100: 30 seconds a step, 1 sequences a second",
        "  steps 100 to 160: 60 seconds a step, 1 sequences a second",
        "  training takes 1.83 hours, evaluation and checkpoints apart",
    ]
