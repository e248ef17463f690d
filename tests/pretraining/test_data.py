"""Data of a run: training and held-out data go together; shares that are predicted."""

import shutil

import pytest
import tensorflow as tf
from tensorflow.python.framework.config import is_op_determinism_enabled

from albert_tf.errors import UserError
from albert_tf.objectives.masked_lm import OBJECTIVES
from albert_tf.pretraining import by_objective
from albert_tf.pretraining.data import naming_unreadable
from albert_tf.pretraining.run import _prepare
from data_pipeline.input_pipeline import pretraining_dataset


@pytest.fixture
def official(material, tmp_path):
    """Writes a few records, the last one changed, as data that nobody describes."""

    def write(count, change):
        records = tf.data.TFRecordDataset(str(material / "data" / "train.tfrecord"))
        *first, last = records.take(count).as_numpy_iterator()
        path = tmp_path / "official.tfrecord"
        with tf.io.TFRecordWriter(str(path)) as writer:
            for record in [*first, change(last)]:
                writer.write(record)
        return path

    return write


def with_number(name, value):
    """Returns a change of one number of a record."""

    def change(record):
        example = tf.train.Example.FromString(record)
        example.features.feature[name].int64_list.value[1] = value
        return example.SerializeToString()

    return change


def test_without_held_out_data_the_last_phase_is_evaluated(
    data_of, settings, deterministic, short, caplog
):
    later = short / "train.tfrecord"
    data = data_of(eval_file=None, first_phase_steps=6, second_phase_input_file=later)
    assert data.eval_files == str(later)
    *_, trainer = _prepare(settings(eval_file=None))
    assert trainer.options.evaluated == "training data"
    assert not is_op_determinism_enabled()
    _prepare(settings(**deterministic))
    assert is_op_determinism_enabled()
    assert data.evaluation() is None
    data_of(eval_file=None).evaluation(on_training_data=True)
    assert "evaluates on the training data" in caplog.text


def test_each_phase_is_shuffled_in_an_order_of_its_own(data_of, monkeypatch):
    """By a seed of its own, with which a run goes on in another process."""
    seeds = []

    def read(*arguments, **named):
        seeds.append(arguments[5])
        return pretraining_dataset(*arguments, **named)

    monkeypatch.setattr(by_objective, "pretraining_dataset", read)
    twice = {"first_phase_steps": 1, "second_phase_gradient_accumulation_steps": 2}
    data = data_of(**twice)
    first, second = (
        next(iter(stage.dataset))["input_ids"].numpy() for stage in data.stages()
    )
    data.evaluation()
    assert first.shape == second.shape and (first != second).any()
    assert seeds == [12345, 12346, 12345]


def damage(path):
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)


def test_damaged_files_are_named(data_of, material, tmp_path):
    """One of several by its checksum; others on request before they are read."""
    for name in ("data", "more"):
        shutil.copytree(material / "data", tmp_path / name)
    paths = [str(tmp_path / name / "train.tfrecord") for name in ("data", "more")]
    damage(tmp_path / "more" / "train.tfrecord")
    named = pytest.raises(UserError, match=f"^{paths[1]} has another SHA-256 than")
    with named, naming_unreadable(",".join(paths)):
        list(tf.data.TFRecordDataset(paths))
    folder = tmp_path / "data"
    files = {"input_file": paths[0], "eval_file": folder / "held_out" / "*.tfrecord"}
    for changed in (folder / "held_out", folder):
        (path,) = changed.glob("*.tfrecord")
        damage(path)
        with pytest.raises(UserError, match=f"{path} has another SHA"):
            data_of(verify_data=True, **files).check()


@pytest.mark.parametrize(
    ("objective", "refused"),  # without --eval_any_objective, and with it
    [("none", (True, True)), ("nsp", (True, False)), (None, (False, False))],
)
def test_held_out_data_for_another_objective(
    data_of, described, official, material, objective, refused
):
    """Its sentence labels mean something else, or nothing."""
    source = material / "data" / "held_out"
    folder = described(source, "held_out", sentence_objective=objective)
    held_out = folder / "*.tfrecord"
    if objective is None:  # nobody described it
        (folder / "dataset_info.json").unlink()
    data_of(eval_file=held_out, sentence_objective="none").check()
    data_of(eval_file=held_out, objective="replaced_tokens").check()
    # Nobody knows what undescribed data was made for.
    data_of(eval_file=held_out, input_file=official(16, lambda last: last)).check()
    message = f"--eval_file={held_out} was made with --sentence_objective={objective}, "
    for compares, is_refused in zip((False, True), refused, strict=True):
        data = data_of(eval_file=held_out, eval_any_objective=compares)
        if is_refused:
            with pytest.raises(UserError) as error:
                data.check()
            assert f"{message}but the training data with sop;" in str(error.value)
        else:
            data.check()


def test_static_held_out_data_beside_dynamic_training_data(data_of, dynamic):
    """The data of training has the objective none, which no flag says."""
    files = {"input_file": dynamic / "train.tfrecord"}
    alone = data_of(**files)
    assert alone.sentence_terms() == OBJECTIVES["none"]
    with pytest.raises(UserError, match="=sop, but the training data with none;"):
        alone.check()
    share = {"sentence_objective": "none", "masked_lm_prob": 0.2}
    data_of(**files, **share).check()


@pytest.mark.slow
def test_an_id_out_of_range_behind_the_first_batch_is_an_error(run, official):
    """Of the model's vocabulary, whichever batch it is in; XLA would clip it."""
    data = official(16, with_number("input_ids", 2**32 + 5))
    message = f"{data} holds the id {2**32 + 5}, but the model has vocab"
    with pytest.raises(UserError, match=message):
        run(input_file=data, eval_file=None, num_train_steps=1, eval_batch_size=4)


def test_records_that_cannot_be_are_an_error(data_of, official):
    """TensorFlow's error quotes bytes, and is a `UnicodeDecodeError` for them."""
    held_out = official(1, with_number("segment_ids", 7))
    message = f"{held_out} holds segment_ids of 7, expected 0 to 1; a file is damaged"
    with pytest.raises(UserError, match=message):
        data_of(eval_file=held_out).check()
    data = official(2, lambda _: b"\xff no example")
    message = f"{data} holds a record that is not an example;"
    with pytest.raises(UserError, match=message):
        data_of(input_file=data).check()
    data.write_bytes(b"")
    with pytest.raises(UserError, match=f"{data} holds no sequences; make the data ag"):
        data_of(input_file=data).check()


@pytest.mark.slow
def test_the_mask_rate_of_held_out_data(data_of, dynamic):
    """Dynamic data keeps the share that it was made for, whatever the flags say."""

    def masked(**changes):
        data = data_of(input_file=dynamic / "train.tfrecord", **changes)
        batch = next(iter(data.evaluation()))
        return batch["masked_lm_weights"].numpy().sum()

    assert masked(masked_lm_prob=0.1) == masked(masked_lm_prob=0.2)
    held_out = dynamic / "held_out" / "*.tfrecord"
    few, many = (masked(eval_file=held_out, masked_lm_prob=p) for p in (0.05, 0.3))
    falling = {"masked_lm_prob": 0.3, "final_masked_lm_prob": 0.05}
    assert few == many == masked(eval_file=held_out, **falling)


@pytest.mark.slow
def test_the_mask_rate_moves_on_a_line_through_both_phases(data_of, settings, dynamic):
    changes = {"input_file": dynamic / "train.tfrecord", "masked_lm_prob": 0.4}
    changes |= dict.fromkeys(("max_seq_length", "max_predictions_per_seq"))
    changes |= {"num_train_steps": 4, "first_phase_steps": 2}
    changes |= {"final_masked_lm_prob": 0.1, "second_phase_train_batch_size": 8}
    first, _ = settings(**changes).phases()
    assert first.max_predictions_per_seq == 6  # of 16 tokens
    most = [
        batch["masked_lm_weights"].numpy().sum(axis=1).max()
        for stage in data_of(**changes).stages()
        for batch in stage.dataset.take(2)
    ]
    # 16 tokens times 0.4, 0.3, 0.2 and 0.1; a row whose words do not fit has fewer.
    assert most == [6, 5, 3, 2]
    with pytest.raises(UserError, match=" final_masked_lm_prob=0.2 comes too late"):
        data_of(masked_lm_prob=0.1, final_masked_lm_prob=0.2).stages()


@pytest.mark.slow
def test_a_share_without_room_is_blamed_on_its_flag(data_of, dynamic):
    """The greatest share that fits is said, and is taken."""

    def check(share, **changes):
        shares = {"masked_lm_prob": 0.1, "final_masked_lm_prob": share}
        files = {"input_file": dynamic / "train.tfrecord", "eval_file": None}
        data_of(**files, **shares, **changes).check()

    check(0.2187)
    check(0.3, max_predictions_per_seq=5)
    message = "final_masked_lm_prob=0.2188 .* 4 predictio.* lower it to 0.2187 or less"
    with pytest.raises(UserError, match=message):
        check(0.2188)
