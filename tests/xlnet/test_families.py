"""Every task takes an XLNet by its own class; parts of another family refuse it."""

import pytest

from albert_tf import bundle
from albert_tf.bundle import warm_start
from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.tasks.commands.flags import StartFlags
from albert_tf.tasks.registry import create_task
from albert_tf.tokenization import load_tokenizer
from albert_tf.xlnet.model import XLNetLMHeadModel
from albert_tf.xlnet.model import XLNetModel


def test_another_family_is_refused(theirs, tiny_config, tmp_path):
    XLNetModel(theirs).save_pretrained(tmp_path / "xlnet", format="tf1")
    AlbertModel(tiny_config()).save_pretrained(tmp_path / "albert")
    refusal = "of the xlnet family, but AlbertModel is of the albert family; name a mo"
    with pytest.raises(UserError, match=refusal):
        AlbertModel.from_pretrained(tmp_path / "xlnet")
    with pytest.raises(UserError, match="of the albert family, but XLNetModel is"):
        XLNetModel.from_pretrained(tmp_path / "albert")
    with pytest.raises(UserError, match="of the xlnet family, but AlbertModel is"):
        warm_start(
            AlbertModel, bundle.open(tmp_path / "xlnet"), tiny_config(), False, ()
        )


@pytest.mark.parametrize(
    ("kind", "fields", "name"),
    [
        ("squad_v1", {}, "QuestionAnsweringSimple"),
        ("squad_v2", {"start_n_top": 3}, "QuestionAnswering"),
        ("multiple_choice", {"dropout_prob": 0.3}, "MultipleChoice"),
        ("tagging", {"labels": ["O", "B-A"]}, "TokenClassification"),
    ],
)
def test_tasks_take_it(kind, fields, name, theirs, vocabulary, tmp_path):
    (tmp_path / "vocab.txt").write_text(vocabulary("abcdefghijklmnopqr"))
    tokenizer = load_tokenizer(tmp_path / "vocab.txt")
    pretrained = XLNetLMHeadModel(theirs)
    pretrained.save_pretrained(tmp_path / "model", tokenizer)
    start = StartFlags(init_checkpoint=str(tmp_path / "model"), max_seq_length=8)
    task = create_task(kind, "t", **fields)
    model, _ = start.start.model(task)
    assert type(model).__name__ == f"XLNetFor{name}"
    assert task.model_arguments().items() <= model.head_config().items()
    found = model.transformer.embeddings.word_embeddings
    expected = pretrained.transformer.embeddings.word_embeddings
    assert (found.numpy() == expected.numpy()).all()
