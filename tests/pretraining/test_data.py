"""Data of a run: training and held-out data go together; shares that are predicted."""

import itertools
import json
import shutil

import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.objectives.masked_lm import OBJECTIVES
from albert_tf.pretraining.data import naming_unreadable
from albert_tf.pretraining.run import _prepare


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


def test_without_held_out_data_the_last_phase_is_evaluated(data_of, short):
    later = short / "train.tfrecord"
    data = data_of(eval_file=None, first_phase_steps=6, second_phase_input_file=later)
    assert data.eval_files == str(later)


def with_number(name, value):
    """Returns a change of one number of a record."""

    def change(record):
        example = tf.train.Example.FromString(record)
        example.features.feature[name].int64_list.value[1] = value
        return example.SerializeToString()

    return change


@pytest.fixture
def held_out_for(material, tmp_path):
    """Copies held-out data, described as made for another objective; None: not."""

    def make(objective):
        folder = tmp_path / f"for_{objective}"
        shutil.copytree(material / "data" / "held_out", folder)
        (folder / "SHA256SUMS").unlink()
        path = folder / "dataset_info.json"
        info = {**json.loads(path.read_text()), "sentence_objective": objective}
        path.write_text(json.dumps(info))
        if objective is None:
            path.unlink()
        return folder / "*.tfrecord"

    return make


def test_each_phase_is_shuffled_in_an_order_of_its_own(data_of):
    twice = {"first_phase_steps": 1, "second_phase_gradient_accumulation_steps": 2}
    first, second = (
        next(iter(stage.dataset))["input_ids"].numpy()
        for stage in data_of(**twice).stages()
    )
    assert first.shape == second.shape and (first != second).any()


def test_the_damaged_file_of_several_is_named(material, tmp_path):
    for name in ("data", "more"):
        shutil.copytree(material / "data", tmp_path / name)
    paths = [str(tmp_path / name / "train.tfrecord") for name in ("data", "more")]
    damaged = bytearray((tmp_path / "more" / "train.tfrecord").read_bytes())
    damaged[-20] ^= 1
    (tmp_path / "more" / "train.tfrecord").write_bytes(damaged)
    named = pytest.raises(UserError, match=f"^{paths[1]} has another SHA-256 than")
    with named, naming_unreadable(",".join(paths)):
        list(tf.data.TFRecordDataset(paths))


@pytest.mark.parametrize("objective", ["none", "nsp", None])
def test_held_out_data_for_another_objective(data_of, held_out_for, objective):
    """Its sentence labels mean something else, or nothing."""
    held_out = held_out_for(objective)
    data_of(eval_file=held_out, sentence_objective="none").check()
    data_of(eval_file=held_out, objective="replaced_tokens").check()
    if objective is None:  # nobody described it
        data_of(eval_file=held_out).check()
        return
    message = f"{held_out} was made with --sentence_objective={objective}, but the "
    with pytest.raises(UserError) as error:
        data_of(eval_file=held_out).check()
    assert f"--eval_file={message}training data with sop;" in str(error.value)
    compared = data_of(eval_file=held_out, eval_any_objective=True)
    if objective == "nsp":
        compared.check()
        return
    with pytest.raises(UserError, match="none, but the training data with sop"):
        compared.check()


def test_sentence_pairs_do_not_evaluate_a_masked_lm(data_of, dynamic):
    """The data of training has the objective none, which no flag says."""
    alone = data_of(input_file=dynamic / "train.tfrecord")
    assert alone.sentence_terms() == OBJECTIVES["none"]
    with pytest.raises(UserError, match="=sop, but the training data with none;"):
        alone.check()


@pytest.mark.slow
def test_the_mask_rate_is_for_data_that_is_not_masked_yet(data_of, dynamic):
    changes = {"sentence_objective": "none", "masked_lm_prob": 0.2}
    # Static held-out data with dynamic training data.
    data_of(input_file=dynamic / "train.tfrecord", **changes).check()
    with pytest.raises(UserError, match="train.tfrecord was masked when it was made"):
        data_of(eval_file=dynamic / "held_out" / "*.tfrecord", **changes).check()


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


def test_checksums_are_compared_on_request(data_of, material, tmp_path):
    folder = shutil.copytree(material / "data", tmp_path / "data")
    files = {
        "input_file": folder / "train.tfrecord",
        "eval_file": folder / "held_out" / "*.tfrecord",
    }
    for changed in (folder / "held_out", folder):
        (path,) = changed.glob("*.tfrecord")
        data = path.read_bytes()
        path.write_bytes(data[:-30] + bytes([data[-30] ^ 1]) + data[-29:])
        with pytest.raises(UserError, match=f"{path} has another SHA"):
            data_of(verify_data=True, **files).check()


def test_training_data_are_not_called_held_out(settings, data_of, caplog):
    *_, trainer = _prepare(settings(eval_file=None))
    assert trainer.options.evaluated == "training data"
    assert data_of(eval_file=None).evaluation() is None
    data_of(eval_file=None).evaluation(on_training_data=True)
    assert "evaluates on the training data" in caplog.text


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
