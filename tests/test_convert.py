"""The convert command, from every form to every form."""

import numpy as np
import pytest

from albert_tf.checkpoints.tf1 import save_tf1_checkpoint
from albert_tf.convert import main
from albert_tf.models.albert import AlbertModel
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.models.sequence_classification import AlbertForSequenceClassification


def test_there_and_back(tiny_config, tmp_path, capsys):
    model = AlbertForPreTraining(tiny_config())
    model.save_pretrained(tmp_path / "model_directory")
    step = "model_directory"
    for to_format in ("tf1", "huggingface", "model_directory"):
        source, target = tmp_path / step, tmp_path / f"to_{to_format}"
        main(["", f"--from={source}", f"--to={target}", f"--to_format={to_format}"])
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
    main(["", "--from", str(tmp_path / "model.ckpt-7"), "--to", str(tmp_path / "out")])
    assert f"{model_class.__name__} written to" in capsys.readouterr().out
    model_class.from_pretrained(tmp_path / "out")


def test_named_model_class(tiny_config, tmp_path, capsys):
    AlbertForPreTraining(tiny_config()).save_pretrained(tmp_path)
    main(
        [
            "",
            f"--from={tmp_path}",
            f"--to={tmp_path / 'out'}",
            "--model_class=AlbertModel",
        ]
    )
    assert "not used: cls/predictions" in capsys.readouterr().out


def test_errors_are_one_sentence(tiny_config, tmp_path, capsys):
    AlbertModel(tiny_config()).save_pretrained(tmp_path / "bare")
    command = [
        "",
        f"--from={tmp_path / 'bare'}",
        f"--to={tmp_path / 'out'}",
        "--model_class=AlbertForPreTraining",
    ]
    with pytest.raises(SystemExit) as exit_info:
        main(command)
    assert exit_info.value.code == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert "lacks cls/predictions" in error
    assert not (tmp_path / "out").exists()
    main([*command, "--allow_missing=cls/"])
    assert "new in the model: cls/predictions" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("to_format", "name"),
    [
        ("model_directory", "spiece.model"),
        ("tf1", "30k-clean.model"),
        ("huggingface", "spiece.model"),
    ],
)
def test_tokenizer_goes_along(to_format, name, shared, tiny_config, tmp_path):
    model_file = next(shared("data/vocab").rglob("*.model"))
    source = tmp_path / "source"
    AlbertModel(tiny_config()).save_pretrained(source)
    (source / "30k-clean.model").write_bytes(model_file.read_bytes())
    target = tmp_path / "target"
    main(["", f"--from={source}", f"--to={target}", f"--to_format={to_format}"])
    assert (target / name).read_bytes() == model_file.read_bytes()
