"""Training and held-out data of a pretraining run must go together."""

import json
import shutil

import pytest
import tensorflow as tf

import albert_tf
from albert_tf.cli.command_line import parse
from albert_tf.errors import UserError
from albert_tf.pretraining.data import PretrainingData
from albert_tf.pretraining.flags import PretrainingOptions
from albert_tf.pretraining.run import pretrain
from albert_tf.pretraining.settings import resolve


@pytest.fixture
def evaluate(flags):
    """Trains a step with changed flags; returns the held-out metrics."""

    def run(**changes):
        command = flags(num_train_steps=1, do_eval=True, **changes)
        return pretrain(
            resolve(parse(PretrainingOptions, ["run_pretraining.py", *command]))
        )

    return run


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


def test_replaced_tokens_learn_no_sentences(options, held_out_for, material):
    """So held-out data may have been made for any of them."""
    chosen = options(objective="replaced_tokens", eval_file=held_out_for("none"))
    tokenizer = albert_tf.load_tokenizer(material / "vocab.model")
    PretrainingData(resolve(chosen).data, tokenizer).check()


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["none", "nsp"])
def test_held_out_data_for_another_objective(
    evaluate, held_out_for, objective, tmp_path
):
    """Its sentence labels mean something else, or nothing."""
    held_out = held_out_for(objective)
    with pytest.raises(UserError) as error:
        evaluate(eval_file=held_out)
    message = f"{held_out} was made with --sentence_objective={objective}, but the "
    assert f"--eval_file={message}training data with sop;" in str(error.value)
    assert not (tmp_path / "model").exists()
    results = evaluate(eval_file=held_out, sentence_objective="none")
    assert "masked_lm_accuracy" in results
    assert "sentence_order_accuracy" not in results
    changes = {"eval_any_objective": True, "output_dir": tmp_path / "other"}
    if objective == "none":
        with pytest.raises(UserError, match="none and holds no pairs of sentences;"):
            evaluate(eval_file=held_out, **changes)
        return
    results = evaluate(eval_file=held_out, **changes)
    assert 0 <= results["sentence_order_accuracy"] <= 1


@pytest.mark.slow
def test_held_out_data_that_nobody_described(evaluate, held_out_for):
    results = evaluate(eval_file=held_out_for(None))
    assert 0 < results["sentence_order_accuracy"] < 1


def test_sentence_pairs_do_not_evaluate_a_masked_lm(evaluate, dynamic):
    """The data of training has the objective none, which no flag says."""
    with pytest.raises(UserError, match="=sop, but the training data with none;"):
        evaluate(input_file=dynamic / "train.tfrecord")


@pytest.mark.slow
def test_the_mask_rate_is_for_data_that_is_not_masked_yet(evaluate, dynamic):
    changes = {"sentence_objective": "none", "masked_lm_prob": 0.2}
    held_out = dynamic / "held_out" / "*.tfrecord"
    # Static held-out data with dynamic training data.
    results = evaluate(input_file=dynamic / "train.tfrecord", **changes)
    assert results["masked_lm_loss"] > 0
    with pytest.raises(UserError, match="train.tfrecord was masked when it was made"):
        evaluate(eval_file=held_out, **changes)


def test_the_mask_rate_of_held_out_data(flags, dynamic, material):
    """Dynamic data keeps the share that it was made for, whatever the flags say."""
    tokenizer = albert_tf.load_tokenizer(material / "vocab.model")

    def masked(**changes):
        command = flags(input_file=dynamic / "train.tfrecord", **changes)
        options = parse(PretrainingOptions, ["run_pretraining.py", *command])
        data = PretrainingData(resolve(options).data, tokenizer)
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
@pytest.mark.parametrize("use_xla", [False, True])
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


def test_held_out_numbers_out_of_range_are_an_error(evaluate, material, tmp_path):
    (path,) = (material / "data" / "held_out").glob("*.tfrecord")
    record = next(iter(tf.data.TFRecordDataset(str(path)).as_numpy_iterator()))
    example = tf.train.Example.FromString(record)
    example.features.feature["segment_ids"].int64_list.value[1] = 7
    held_out = tmp_path / "official.tfrecord"
    with tf.io.TFRecordWriter(str(held_out)) as writer:
        writer.write(example.SerializeToString())
    message = f"{held_out} holds segment_ids of 7, expected 0 to 1; a file is damaged"
    with pytest.raises(UserError, match=message):
        evaluate(eval_file=held_out)


def test_a_record_that_is_no_example(evaluate, material, tmp_path):
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
        evaluate(input_file=data)


@pytest.mark.slow
def test_checksums_are_compared_on_request(evaluate, material, tmp_path):
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
    evaluate(**files)
    for changed, info in infos.items():
        message = f"/{changed}/train.tfrecord has another SHA"
        with pytest.raises(UserError, match=message):
            evaluate(verify_data=True, **files)
        (tmp_path / changed / "dataset_info.json").write_text(info)


def test_data_that_lost_a_file_is_not_trained_on(evaluate, material, tmp_path):
    """Under a pattern that still matches others."""
    folder = shutil.copytree(material / "data", tmp_path / "data")
    path = folder / "dataset_info.json"
    info = json.loads(path.read_text())
    info["files"]["train-2.tfrecord"] = info["files"]["train.tfrecord"]
    path.write_text(json.dumps(info))
    (path.parent / "SHA256SUMS").unlink()
    with pytest.raises(UserError, match="lists train-2.tfrecord, which is missing"):
        evaluate(input_file=folder / "train*.tfrecord")
    assert not (tmp_path / "model").exists()


@pytest.mark.slow
def test_training_data_are_not_called_held_out(evaluate, caplog):
    caplog.set_level("INFO", logger="absl")
    evaluate(eval_file=None)
    assert "evaluates on the training data" in caplog.text
    assert "Training data at step 1: " in caplog.text
    assert "Held out" not in caplog.text
