"""Students of run_classifier.py --teacher."""

import dataclasses

import pytest

from albert_tf.checkpoints.model_directory import read_training_info
from albert_tf.config import AlbertConfig
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.tasks.registry import create_task
from albert_tf.tokenization import load_tokenizer


@pytest.mark.slow
def test_a_student_learns_what_labels_do_not_say(flags, tmp_path):
    """Half of its labels are wrong, those of its teacher were right."""
    path = tmp_path / "tiny.json"
    config = AlbertConfig.from_json_file(path)
    dataclasses.replace(config, initializer_range=0.1).to_json_file(path)
    run = {"do_train": True, "learning_rate": 2e-3, "warmup_step": 20}
    run |= {"train_step": 150, "save_checkpoints_steps": 50}
    teacher = flags(**run) / "model"
    data = tmp_path / "data" / "train.tsv"
    header, *lines = data.read_text().splitlines()
    turned = {"yes": "no", "no": "yes"}
    for i, line in enumerate(lines):
        label, text = line.split("\t")
        lines[i] = f"{turned[label] if i % 2 else label}\t{text}"
    data.write_text("\n".join([header, *lines]) + "\n")
    out = tmp_path / "student"
    flags(output_dir=out, teacher=teacher, teacher_weight=1.0, **run)
    assert read_training_info(out / "model")["dev"]["accuracy"] == 1.0


@pytest.mark.slow
def test_a_student_goes_on_exactly(flags, continues_exactly, tmp_path):
    task = create_task("single_label", "custom", labels=("no", "yes"))
    config = AlbertConfig.from_json_file(tmp_path / "tiny.json")
    teacher = tmp_path / "teacher"
    info = {"task": task.to_dict(), "max_seq_length": 16}
    tokenizer = load_tokenizer(tmp_path / "vocab.txt")
    model = AlbertForSequenceClassification(config, labels=task.labels)
    model.save_pretrained(teacher, tokenizer, info)
    out = tmp_path / "student"

    def run(**changes):
        flags(output_dir=out, teacher=teacher, **changes)
        return out

    continues_exactly(run, train_step=4)
