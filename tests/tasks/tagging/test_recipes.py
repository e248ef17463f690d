"""The recipes in configs/tagging, and the flags that they leave alone."""

import json

import pytest

from albert_tf.cli import command_line
from albert_tf.errors import UserError
from albert_tf.tasks.tagging.flags import TaggingOptions
from albert_tf.tasks.tagging.run import check_flags


@pytest.mark.parametrize(
    ("name", "length", "decoder"),
    [("conll2003", 128, None), ("chinese", 256, "legal")],
)
def test_values(project, name, length, decoder):
    path = project / "configs" / "tagging" / f"{name}.json"
    argv = ["run_tagging.py", "--output_dir=out", f"--config={path}"]
    options = command_line.parse(
        TaggingOptions, [*argv, "--do_train", "--data_dir=data"]
    )
    check_flags(options)
    # Within the range of BERT's appendix A.3.
    assert options.train_batch_size in (16, 32)
    assert 2e-5 <= options.learning_rate <= 5e-5
    assert 2 <= options.num_train_epochs <= 4
    assert (options.max_seq_length, options.doc_stride) == (length, length // 2)
    assert (options.dropout_prob, options.decoder) == (0.1, decoder)
    assert "//source" in json.loads(path.read_text())


def test_every_recipe_is_tested(project):
    names = {path.stem for path in (project / "configs" / "tagging").glob("*.json")}
    assert names == {"conll2003", "chinese"}


def test_a_scheme_that_is_none():
    with pytest.raises(UserError, match="scheme"):
        command_line.parse(TaggingOptions, ["run", "--output_dir=o", "--scheme=bilou"])
