"""The convert command, from every form to every form."""

import pathlib

import numpy as np
import pytest

import albert_tf
from albert_tf import bundle
from albert_tf.checkpoints.tf1 import save_tf1_checkpoint
from albert_tf.commands.convert import main
from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.pretraining import AlbertForPreTraining


def convert(source, target, *flags):
    main(["", f"--from={source}", f"--to={target}", *flags])


def test_there_and_back(tiny_config, tmp_path, capsys):
    model = AlbertForPreTraining(tiny_config())
    model.save_pretrained(tmp_path / "model_directory")
    step = "model_directory"
    for to_format in ("tf1", "huggingface", "model_directory"):
        source, target = tmp_path / step, tmp_path / f"to_{to_format}"
        convert(source, target, f"--to_format={to_format}")
        assert "32 tensors loaded" in capsys.readouterr().out
        step = target.name
    loaded = AlbertForPreTraining.from_pretrained(tmp_path / step)
    assert loaded.config == model.config
    for name, variable in model.official_variables().items():
        np.testing.assert_array_equal(loaded.official_variables()[name], variable)


@pytest.mark.parametrize(
    ("model_class", "arguments"),
    [(AlbertModel, {}), (AlbertForSequenceClassification, {"num_labels": 3})],
)
def test_model_class_follows_from_the_heads(
    model_class, arguments, tiny_config, tmp_path, capsys
):
    model = model_class(tiny_config(), **arguments)
    save_tf1_checkpoint(model, tmp_path / "model.ckpt-7")
    convert(tmp_path / "model.ckpt-7", tmp_path / "out")
    assert f"{model_class.__name__} written to" in capsys.readouterr().out
    model_class.from_pretrained(tmp_path / "out")


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


def test_tokenizer_goes_along(material, tiny_config, tmp_path):
    model_file = (material / "vocab.model").read_bytes()
    source = tmp_path / "source"
    AlbertModel(tiny_config()).save_pretrained(source)
    (source / "30k-clean.model").write_bytes(model_file)
    for to_format, name in (
        ("model_directory", "spiece.model"),
        ("tf1", "30k-clean.model"),
        ("huggingface", "spiece.model"),
    ):
        convert(source, tmp_path / to_format, f"--to_format={to_format}")
        assert (tmp_path / to_format / name).read_bytes() == model_file


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


def test_a_vocabulary_that_lies_elsewhere_is_none_of_the_checkpoint(
    official, tmp_path, capsys
):
    source = official("project/checkpoint/model.ckpt-best", "project/assets/vocab.txt")
    convert(f"{source}/checkpoint", tmp_path / "out")
    assert "Found no tokenizer beside" in capsys.readouterr().out


def test_a_vocabulary_larger_than_the_model_is_refused(official, tmp_path, capsys):
    source = official("a/model.ckpt-best", "a/vocab.txt")
    more = "".join(f"word{i}\n" for i in range(1000))
    with (tmp_path / "a" / "vocab.txt").open("a") as file:
        file.write(more)
    with pytest.raises(SystemExit):
        convert(source, tmp_path / "out")
    assert "has 1007 pieces, but the model's vocab_size" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_copy_keeps_head_and_task(tiny_config, tmp_path):
    model = AlbertForSequenceClassification(tiny_config(), 3, 0.3)
    info = {"task": {"name": "t"}, "train_examples": 7}
    model.save_pretrained(tmp_path / "a", training_info=info)
    convert(tmp_path / "a", tmp_path / "b")
    for name in ("head.json", "training_info.json"):
        own, copied = ((tmp_path / place / name).read_text() for place in "ab")
        assert own == copied


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("huggingface", "huggingface holds a model directory (or a Hugging Face mo"),
        ("ram://b", "--to=ram://b is not on a disk"),
    ],
)
def test_a_target_that_could_not_be_read_is_refused(
    target, message, tiny_config, tmp_path, capsys
):
    AlbertModel(tiny_config()).save_pretrained(tmp_path / "a")
    convert(tmp_path / "a", tmp_path / "huggingface", "--to_format=huggingface")
    to = target if "://" in target else tmp_path / target
    with pytest.raises(SystemExit):
        convert(tmp_path / "a", to, "--to_format=tf1")
    assert message in capsys.readouterr().err
    AlbertModel.from_pretrained(tmp_path / "a")


def test_heads_of_other_tasks_are_not_those_of_pretraining(monkeypatch, tmp_path):
    tensors = {"bert/embeddings/word_embeddings": 0, "cls/other/output_bias": 0}
    opened = bundle.Bundle("squad", None, lambda: tensors)
    monkeypatch.setattr(bundle, "open", lambda path: opened)
    built = []

    def build_model(model_class, *arguments):
        built.append(model_class)
        raise UserError("enough")

    monkeypatch.setattr(bundle, "build_model", build_model)
    with pytest.raises(SystemExit):
        convert(tmp_path, tmp_path / "out")
    assert built == [AlbertModel]
