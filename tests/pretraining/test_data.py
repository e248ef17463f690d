"""Training and held-out data of a pretraining run must go together."""

import json
import shutil

import pytest
import tensorflow as tf

import albert_tf
from albert_tf.errors import UserError
from albert_tf.pretraining.data import PretrainingData
from albert_tf.pretraining.data import naming_unreadable
from albert_tf.pretraining.run import pretrain
from albert_tf.pretraining.settings import resolve


@pytest.fixture
def evaluate(options):
    """Trains a step with changed flags; returns the held-out metrics."""

    def run(**changes):
        return pretrain(resolve(options(num_train_steps=1, do_eval=True, **changes)))

    return run


@pytest.fixture
def data_of(options, material):
    """Makes the data of a run with changed flags."""
    tokenizer = albert_tf.load_tokenizer(material / "vocab.model")
    return lambda **changes: PretrainingData(resolve(options(**changes)), tokenizer)


@pytest.fixture
def held_out_for(material, tmp_path):
    """Copies held-out data, described as made for another objective; None: not."""

    def make(objective):
        folder = tmp_path / f"for_{objective}"
        shutil.copytree(material / "data" / "held_out", folder)
        path = folder / "dataset_info.json"
        info = json.loads(path.read_text())
        path.write_text(json.dumps({**info, "sentence_objective": objective}))
        (path.parent / "SHA256SUMS").unlink()
        if objective is None:
            path.unlink()
        return folder / "*.tfrecord"

    return make


def test_the_damaged_file_of_several_is_named(material, tmp_path):
    for name in ("data", "more"):
        shutil.copytree(material / "data", tmp_path / name)
    paths = [str(tmp_path / name / "train.tfrecord") for name in ("data", "more")]
    damaged = bytearray((tmp_path / "more" / "train.tfrecord").read_bytes())
    damaged[-20] ^= 1
    (tmp_path / "more" / "train.tfrecord").write_bytes(damaged)
    with (
        pytest.raises(UserError, match=f"^{paths[1]} has another SHA-256 than"),
        naming_unreadable(",".join(paths)),
    ):
        list(tf.data.TFRecordDataset(paths))


def test_replaced_tokens_learn_no_sentences(data_of, held_out_for):
    """So held-out data may have been made for any of them."""
    data_of(objective="replaced_tokens", eval_file=held_out_for("none")).check()


@pytest.mark.parametrize("objective", ["none", "nsp"])
def test_held_out_data_for_another_objective(data_of, held_out_for, objective):
    """Its sentence labels mean something else, or nothing."""
    held_out = held_out_for(objective)
    message = f"{held_out} was made with --sentence_objective={objective}, but the "
    with pytest.raises(UserError) as error:
        data_of(eval_file=held_out).check()
    assert f"--eval_file={message}training data with sop;" in str(error.value)
    data_of(eval_file=held_out, sentence_objective="none").check()
    compared = data_of(eval_file=held_out, eval_any_objective=True)
    if objective == "nsp":
        compared.check()
        return
    with pytest.raises(UserError, match="none, but the training data with sop"):
        compared.check()


@pytest.mark.slow
def test_held_out_data_that_nobody_described(evaluate, held_out_for):
    results = evaluate(eval_file=held_out_for(None))
    assert 0 < results["sentence_order_accuracy"] < 1


def test_sentence_pairs_do_not_evaluate_a_masked_lm(data_of, dynamic):
    """The data of training has the objective none, which no flag says."""
    with pytest.raises(UserError, match="=sop, but the training data with none;"):
        data_of(input_file=dynamic / "train.tfrecord").check()


def test_the_mask_rate_is_for_data_that_is_not_masked_yet(data_of, dynamic):
    changes = {"sentence_objective": "none", "masked_lm_prob": 0.2}
    # Static held-out data with dynamic training data.
    data_of(input_file=dynamic / "train.tfrecord", **changes).check()
    with pytest.raises(UserError, match="train.tfrecord was masked when it was made"):
        data_of(eval_file=dynamic / "held_out" / "*.tfrecord", **changes).check()


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
    assert (
        few
        == many
        == masked(eval_file=held_out)
        == masked(eval_file=held_out, **falling)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "use_xla", [False, pytest.param(True, marks=pytest.mark.nightly)]
)
def test_an_id_out_of_range_behind_the_first_batch_is_an_error(
    evaluate, material, tmp_path, use_xla
):
    """Of the model's vocabulary, whichever batch it is in; XLA would clip it."""
    records = tf.data.TFRecordDataset(str(material / "data" / "train.tfrecord"))
    *first, last = records.take(16).as_numpy_iterator()
    example = tf.train.Example.FromString(last)
    example.features.feature["input_ids"].int64_list.value[1] = 2**32 + 5
    data = tmp_path / "official.tfrecord"
    with tf.io.TFRecordWriter(str(data)) as writer:
        for record in [*first, example.SerializeToString()]:
            writer.write(record)
    message = f"{data} holds the id {2**32 + 5}, but the model has vocab"
    with pytest.raises(UserError, match=message):
        evaluate(input_file=data, eval_batch_size=4, use_xla=use_xla)


def test_held_out_numbers_out_of_range_are_an_error(data_of, material, tmp_path):
    (path,) = (material / "data" / "held_out").glob("*.tfrecord")
    record = next(iter(tf.data.TFRecordDataset(str(path)).as_numpy_iterator()))
    example = tf.train.Example.FromString(record)
    example.features.feature["segment_ids"].int64_list.value[1] = 7
    held_out = tmp_path / "official.tfrecord"
    with tf.io.TFRecordWriter(str(held_out)) as writer:
        writer.write(example.SerializeToString())
    message = f"{held_out} holds segment_ids of 7, expected 0 to 1; a file is damaged"
    with pytest.raises(UserError, match=message):
        data_of(eval_file=held_out).check()


def test_a_record_that_is_no_example(data_of, material, tmp_path):
    """TensorFlow's error quotes its bytes, and is a `UnicodeDecodeError` for them."""
    path = material / "data" / "train.tfrecord"
    record = next(iter(tf.data.TFRecordDataset(str(path)).as_numpy_iterator()))
    data = tmp_path / "official.tfrecord"
    with tf.io.TFRecordWriter(str(data)) as writer:
        for contents in (record, b"\xff no example"):
            writer.write(contents)
    with pytest.raises(
        UserError, match=f"{data} holds a record that is not an example;"
    ):
        data_of(input_file=data).check()


def test_checksums_are_compared_on_request(data_of, material, tmp_path):
    folder = shutil.copytree(material / "data", tmp_path / "data")
    infos = {}
    for changed in ("data", "data/held_out"):
        path = tmp_path / changed / "dataset_info.json"
        infos[changed] = path.read_text()
        info = json.loads(infos[changed])
        info["files"]["train.tfrecord"]["sha256"] = "0" * 64
        path.write_text(json.dumps(info))
        (path.parent / "SHA256SUMS").unlink()
    files = {
        "input_file": folder / "train.tfrecord",
        "eval_file": folder / "held_out" / "*.tfrecord",
    }
    data_of(**files).check()
    for changed, info in infos.items():
        message = f"/{changed}/train.tfrecord has another SHA"
        with pytest.raises(UserError, match=message):
            data_of(verify_data=True, **files).check()
        (tmp_path / changed / "dataset_info.json").write_text(info)


def test_data_that_lost_a_file_is_not_trained_on(data_of, material, tmp_path):
    """Under a pattern that still matches others."""
    folder = shutil.copytree(material / "data", tmp_path / "data")
    path = folder / "dataset_info.json"
    info = json.loads(path.read_text())
    info["files"]["train-2.tfrecord"] = info["files"]["train.tfrecord"]
    path.write_text(json.dumps(info))
    (path.parent / "SHA256SUMS").unlink()
    with pytest.raises(UserError, match="lists train-2.tfrecord, which is missing"):
        data_of(input_file=folder / "train*.tfrecord")


@pytest.mark.slow
def test_training_data_are_not_called_held_out(evaluate, caplog):
    caplog.set_level("INFO", logger="absl")
    evaluate(eval_file=None)
    assert "evaluates on the training data" in caplog.text
    assert "Training data at step 1: " in caplog.text
    assert "Held out" not in caplog.text


def test_data_is_known_by_its_files(data_of, material, tmp_path):
    """Earlier versions knew it by what the descriptions say of all files."""
    folder = shutil.copytree(material / "data", tmp_path / "data")
    digest, earlier = data_of(input_file=folder).digests()
    assert digest == earlier == data_of().digests()[0]
    shutil.copy(folder / "train.tfrecord", folder / "more.tfrecord")
    path = folder / "dataset_info.json"
    info = json.loads(path.read_text())
    info["files"]["more.tfrecord"] = info["files"]["train.tfrecord"]
    path.write_text(json.dumps(info))
    (path.parent / "SHA256SUMS").unlink()
    files = folder / "more.tfrecord", folder / "train.tfrecord"
    names = (folder, files[0], f"{files[1]},{files[0]}")
    found = [data_of(input_file=name).digests() for name in names]
    assert len({digest for digest, _ in found}) == 3
    assert len({earlier for _, earlier in found}) == 1
