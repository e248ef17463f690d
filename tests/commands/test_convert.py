"""The convert command, from every form to every form."""

import pathlib

import pytest

import albert_tf
from albert_tf.checkpoints.tf1 import save_tf1_checkpoint
from albert_tf.commands.convert import main
from albert_tf.models.albert import AlbertModel
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.pretraining import AlbertForPreTraining
from tests.saved_models import assert_same_weights


def convert(source, target, *flags):
    main(["", f"--from={source}", f"--to={target}", *flags])


def test_there_and_back(tiny_config, material, tmp_path, capsys):
    """The model and its tokenizer; the class follows from the heads."""
    model = AlbertForPreTraining(tiny_config())
    model.save_pretrained(tmp_path / "model_directory")
    pieces = (material / "vocab.model").read_bytes()
    (tmp_path / "model_directory" / "30k-clean.model").write_bytes(pieces)
    step = "model_directory"
    for to_format, name in (
        ("tf1", "30k-clean.model"),
        ("huggingface", "spiece.model"),
        ("model_directory", "spiece.model"),
    ):
        source, target = tmp_path / step, tmp_path / f"to_{to_format}"
        convert(source, target, f"--to_format={to_format}")
        printed = capsys.readouterr().out
        assert "32 tensors loaded" in printed
        assert "AlbertForPreTraining written to" in printed
        assert (target / name).read_bytes() == pieces
        step = target.name
    loaded = AlbertForPreTraining.from_pretrained(tmp_path / step)
    assert loaded.config == model.config
    assert_same_weights(loaded, model)


def test_a_checkpoint_that_lacks_the_named_heads(tiny_config, tmp_path, capsys):
    AlbertModel(tiny_config()).save_pretrained(tmp_path / "bare")
    with pytest.raises(SystemExit):
        convert(
            tmp_path / "bare", tmp_path / "out", "--model_class=AlbertForPreTraining"
        )
    error = capsys.readouterr().err
    assert "lacks cls/predictions" in error
    assert not (tmp_path / "out").exists()
    advised = error.split("albert-tf convert ")[1].split(")")[0]
    main(["", *advised.replace("FOLDER", str(tmp_path / "out")).split()])
    assert "new in the model: cls/predictions" in capsys.readouterr().out


@pytest.fixture
def official(tiny_config, tmp_path):
    """Writes an official checkpoint and, somewhere, a vocabulary."""

    def write(prefix, vocabulary):
        save_tf1_checkpoint(AlbertModel(tiny_config()), tmp_path / prefix)
        path = tmp_path / vocabulary
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nA\na\n")
        return str(tmp_path / pathlib.Path(prefix).parts[0])

    return write


@pytest.mark.parametrize(
    ("prefix", "vocabulary"),
    [
        ("hub/variables/variables", "hub/assets/vocab.txt"),
        ("zh/model.ckpt-best", "zh/vocab_chinese.txt"),
    ],
)
def test_the_tokenizer_is_found_where_the_official_archives_have_it(
    prefix, vocabulary, official, tmp_path, capsys
):
    source = official(prefix, vocabulary)
    for place in (source, str(tmp_path / prefix)):
        convert(place, tmp_path / "out", "--nodo_lower_case")
        assert albert_tf.load_tokenizer(tmp_path / "out").tokenize("A") == ["A"]
        (tmp_path / "out" / "tokenizer_config.json").unlink()
    (tmp_path / vocabulary).unlink()
    convert(source, tmp_path / "bare")
    assert f"Found no tokenizer beside {source}" in capsys.readouterr().out
    other = official("project/checkpoint/model.ckpt-best", "project/assets/vocab.txt")
    convert(f"{other}/checkpoint", tmp_path / "other")  # of something else
    assert "Found no tokenizer beside" in capsys.readouterr().out


def test_a_copy_keeps_head_and_task(tiny_config, tmp_path):
    model = AlbertForSequenceClassification(tiny_config(), 3, 0.3)
    info = {"task": {"name": "t"}, "train_examples": 7}
    model.save_pretrained(tmp_path / "a", training_info=info)
    convert(tmp_path / "a", tmp_path / "b")
    for name in ("head.json", "training_info.json"):
        own, copied = ((tmp_path / place / name).read_text() for place in "ab")
        assert own == copied


def test_a_target_that_could_not_be_read_is_refused(tiny_config, tmp_path, capsys):
    AlbertModel(tiny_config()).save_pretrained(tmp_path / "a")
    convert(tmp_path / "a", tmp_path / "b", "--to_format=huggingface")
    for to, message in (
        (tmp_path / "b", "b holds a model directory (or a Hugging Face mo"),
        ("ram://b", "--to=ram://b is not on a disk"),
    ):
        with pytest.raises(SystemExit):
            convert(tmp_path / "a", to, "--to_format=tf1")
        assert message in capsys.readouterr().err
