"""Pretraining XLNet: memory from step to step, a killed run, refusals."""

import json
import math
import shutil
import types

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.objectives.masked_lm import PermutationObjective
from albert_tf.xlnet.model import XLNetLMHeadModel
from data_pipeline.xlnet.dataset import stream_dataset


@pytest.fixture
def settings(settings, streams, material):
    """Makes the settings of a run on the streams."""
    values = {
        "objective": "permutation_lm",
        "input_file": streams / "train.tfrecord",
        "eval_file": streams / "held_out" / "train.tfrecord",
        "albert_config_file": material / "xlnet.json",
        "train_batch_size": 8,
        "eval_batch_size": 8,
        "max_eval_steps": 3,
    }
    return lambda **changes: settings(**{**values, **changes})


@pytest.mark.slow
@pytest.mark.usefixtures("untrained")
def test_a_dry_run_says_what_it_costs(run, capsys, tmp_path):
    for decays, said in ((True, "decayed"), (False, "neither decayed")):
        run(dry_run=True, num_train_steps=3, decay_relative_biases=decays)
        plan = capsys.readouterr().out
        assert "1,004 parameters in float32" in plan
        assert f"3 relative biases            24 parameters  {said}" in plan
    assert not (tmp_path / "model").exists()


def test_memories_are_carried_where_there_are_any():
    objective = PermutationObjective()
    logits, old = tf.zeros([2, 1, 5]), tf.ones([2, 3, 4, 8])

    def model(features, training, dropout_seed):
        assert (training, dropout_seed) == (True, 7)
        memories = features.get("memories", tf.zeros([]))
        return {"logits": logits, "memories": tf.cast(memories + 1, tf.float16)}

    batch = {
        "input_ids": tf.ones([2, 6], tf.int32),
        "target_ids": tf.zeros([2, 1], tf.int32),
        "target_weights": tf.ones([2, 1]),
        "stream_starts": tf.constant([0, 1]),
    }
    *_, carried = objective.call_carrying(model, batch, True, 7)
    assert carried == {}
    batch |= objective.resumed({"memories": old}, batch)
    losses, _, carried = objective.call_carrying(model, batch, True, 7)
    assert float(losses["permutation_lm"]) == pytest.approx(2 * math.log(5))
    assert carried["memories"].dtype == tf.float32
    np.testing.assert_array_equal(carried["memories"][:, 0, 0, 0], [2, 1])
    memories = types.SimpleNamespace(first_memories=lambda rows: rows)
    for size, expected in ((0, {}), (4, {"memories": 3})):
        config = types.SimpleNamespace(mem_len=size)
        own = types.SimpleNamespace(config=config, transformer=memories)
        assert objective.first_carried(own, 3) == expected


def losses_by_hand(model, batches):
    """The mean loss of batches, each with the memories of the one before."""
    total = weight = 0.0
    memories = np.zeros((8, 1, 6, 8), np.float32)
    for batch in batches:
        memories[np.array(batch["stream_starts"]) == 1] = 0
        names = ("input_ids", "segment_ids", "query_order", "key_order")
        names += ("target_positions", "reversed_rows")
        outputs = model({**{n: batch[n] for n in names}, "memories": memories})
        memories = outputs["memories"].numpy()
        log_probs = tf.nn.log_softmax(outputs["logits"])
        found = tf.gather(log_probs, batch["target_ids"], batch_dims=2)
        total -= np.sum(found * batch["target_weights"])
        weight += np.sum(batch["target_weights"])
    return total / weight


@pytest.fixture
def trained(run, material, deterministic):
    """A run that was made once: its folder, and the flags that it had."""
    changes = {
        "num_train_steps": 24,
        "save_checkpoints_steps": 22,
        "do_eval": True,
        "max_gram": 1,
        **deterministic,
    }
    folder = material / "trained"
    if not folder.exists():
        run(output_dir=folder, **changes)
    return folder, changes


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_converted")
def test_a_run_from_streams_to_a_model_and_its_perplexity(trained, streams, tokenizer):
    folder, changes = trained
    history = json.loads((folder / "history.json").read_text())
    results = history[-1]
    assert results["loss"] < history[0]["loss"] - 0.3
    assert results["perplexity"] == pytest.approx(math.exp(results["loss"]))
    assert results["bits_per_token"] == pytest.approx(results["loss"] / math.log(2))
    assert list((folder / "checkpoints").glob("best-*"))
    model = XLNetLMHeadModel.from_pretrained(folder)
    reading = (str(streams / "held_out"), tokenizer, 8, 16, 3, 12345, False)
    batches = list(stream_dataset(*reading, max_gram=1).take(3))
    assert results["loss"] == pytest.approx(losses_by_hand(model, batches), rel=1e-5)
    for batch in batches:  # and without memory it is another
        batch["stream_starts"] = np.ones(8, np.int32)
    assert abs(results["loss"] - losses_by_hand(model, batches)) > 1e-4
    batches = list(stream_dataset(*reading).take(3))
    assert abs(results["loss"] - losses_by_hand(model, batches)) > 1e-4


def arrays(checkpoint):
    """The numbers of a checkpoint that say how its run goes on, by name."""
    reader = tf.train.load_checkpoint(str(checkpoint))
    names = reader.get_variable_to_shape_map()
    kept = [n for n in names if n.startswith(("carried/", "model/", "optimizer/"))]
    return {name: reader.get_tensor(name) for name in kept}


@pytest.mark.slow
def test_a_killed_run_continues_bit_for_bit(run, trained, tmp_path):
    folder, changes = trained
    (tmp_path / "rest" / "checkpoints").mkdir(parents=True)
    for path in (folder / "checkpoints").glob("training-22.*"):
        shutil.copy(path, tmp_path / "rest" / "checkpoints")
    run(**{**changes, "eval_file": None, "do_eval": None}, output_dir=tmp_path / "rest")
    whole = arrays(folder / "checkpoints" / "training-24")
    found = arrays(tmp_path / "rest" / "checkpoints" / "training-24")
    (memory,) = (name for name in whole if name.startswith("carried/"))
    assert whole[memory].shape == (8, 1, 6, 8) and whole[memory].any()
    tf.nest.map_structure(np.testing.assert_array_equal, found, whole)


@pytest.mark.slow
@pytest.mark.usefixtures("untrained")
def test_a_run_starts_from_a_model_of_another_memory(
    run, material, tmp_path, lines, tokenizer
):
    config = json.loads((material / "xlnet.json").read_text())
    start = tmp_path / "start"
    small = XLNetLMHeadModel.family.config_class(**{**config, "mem_len": 0})
    XLNetLMHeadModel(small).save_pretrained(start, tokenizer)
    run(init_checkpoint=start)
    assert any(line.startswith("Starting from") for line in lines)
    (material / "wide.json").write_text(json.dumps({**config, "d_inner": 20}))
    with pytest.raises(UserError, match="has d_inner 16, but .* 20; they may differ"):
        run(init_checkpoint=start, albert_config_file=material / "wide.json")
