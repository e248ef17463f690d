"""Students of run_classifier.py --teacher."""

import pytest

from albert_tf.config import AlbertConfig
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.tasks.registry import create_task
from albert_tf.tokenization import load_tokenizer


@pytest.mark.nightly
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
