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
    model, step = AlbertForPreTraining(tiny_config()), tmp_path / "model_directory"
    model.save_pretrained(step)
    pieces = (material / "vocab.model").read_bytes()
    (step / "30k-clean.model").write_bytes(pieces)
    for to_format, name in (
        ("tf1", "30k-clean.model"),
        ("huggingface", "spiece.model"),
        ("model_directory", "spiece.model"),
    ):
        source, step = step, tmp_path / f"to_{to_format}"
        convert(source, step, f"--to_format={to_format}")
        printed = capsys.readouterr().out
        assert "32 tensors loaded" in printed
        assert "AlbertForPreTraining written to" in printed
        assert (step / name).read_bytes() == pieces
    loaded = AlbertForPreTraining.from_pretrained(step)
    assert loaded.config == model.config
    assert_same_weights(loaded, model)


def test_a_checkpoint_that_lacks_the_named_heads(tiny_config, tmp_path, capsys):
    bare, out = tmp_path / "bare", tmp_path / "out"
    AlbertModel(tiny_config()).save_pretrained(bare)
    with pytest.raises(SystemExit):
        convert(bare, out, "--model_class=AlbertForPreTraining")
    error = capsys.readouterr().err
    assert "lacks cls/predictions" in error
    assert not out.exists()
    advised = error.split("albert-tf convert ")[1].split(")")[0]
    main(["", *advised.replace("FOLDER", str(out)).split()])
    assert "new in the model: cls/predictions" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("prefix", "vocabulary", "found"),
    [
        ("hub/variables/variables", "hub/assets/vocab.txt", True),
        ("zh/model.ckpt-best", "zh/vocab_chinese.txt", True),
        # Of something else.
        ("project/checkpoint/model.ckpt-best", "project/assets/vocab.txt", False),
    ],
)
def test_the_tokenizer_is_found_where_the_official_archives_have_it(
    prefix, vocabulary, found, tiny_config, tmp_path, capsys
):
    save_tf1_checkpoint(AlbertModel(tiny_config()), tmp_path / prefix)
    path, out = tmp_path / vocabulary, tmp_path / "out"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nA\na\n")
    source = tmp_path / pathlib.Path(prefix).parts[0]
    if found:
        for place in (source, tmp_path / prefix):
            convert(place, out, "--nodo_lower_case")
            assert albert_tf.load_tokenizer(out).tokenize("A") == ["A"]
            (out / "tokenizer_config.json").unlink()
        path.unlink()
    else:
        source = (tmp_path / prefix).parent
    convert(source, tmp_path / "bare")
    assert f"Found no tokenizer beside {source}" in capsys.readouterr().out


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
