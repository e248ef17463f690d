"""Parts for ALBERT alone refuse an XLNet, and name its family."""

import pytest

from albert_tf import embed
from albert_tf import fill_mask
from albert_tf import inspect_layers
from albert_tf.checkpoints.warm_start import warm_start
from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.models.xlnet.encoder import XLNetModel
from albert_tf.models.xlnet.language_model import XLNetLMHeadModel
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.tasks.commands.flags import StartFlags
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.setup import initial_model
from albert_tf.tokenization import load_tokenizer


def test_another_family_is_refused(theirs, tiny_config, tmp_path):
    XLNetModel(theirs).save_pretrained(tmp_path / "xlnet", format="tf1")
    AlbertModel(tiny_config()).save_pretrained(tmp_path / "albert")
    with pytest.raises(UserError, match="of the xlnet family, but AlbertModel is"):
        AlbertModel.from_pretrained(tmp_path / "xlnet")
    with pytest.raises(UserError, match="of the albert family, but XLNetModel is"):
        XLNetModel.from_pretrained(tmp_path / "albert")


@pytest.fixture
def with_tokenizer(theirs, vocabulary, tmp_path):
    """A directory with a language model and the tokenizer beside it."""
    path = tmp_path / "vocab.txt"
    path.write_text(vocabulary("abcdefghijklmnopqr"))
    folder = tmp_path / "model"
    XLNetLMHeadModel(theirs).save_pretrained(folder, load_tokenizer(path))
    return folder


def test_tasks_for_albert_refuse_it(with_tokenizer, tiny_config, tmp_path):
    start = StartFlags(init_checkpoint=str(with_tokenizer), max_seq_length=8)
    tasks = {"squad_v2": {}, "multiple_choice": {}, "tagging": {"labels": ["O", "B-A"]}}
    for kind, fields in tasks.items():
        refusal = "the albert family; XLNet models are here for classification"
        with pytest.raises(UserError, match=refusal):
            task = create_task(kind, "t", **fields)
            initial_model(start, task, load_tokenizer(with_tokenizer))
    with pytest.raises(UserError, match="of the xlnet family, but AlbertModel is"):
        warm_start(AlbertModel, with_tokenizer, tiny_config(), False, ())
    with pytest.raises(UserError, match="an XLNetLMHeadModel, which cannot be ser"):
        export(ExportOptions(str(with_tokenizer), str(tmp_path / "served")))


@pytest.mark.parametrize(
    ("main", "flags"),
    [
        (fill_mask.main, ["a [MASK]"]),
        (embed.main, ["--input_file=texts.txt", "--output_file=vectors.npy"]),
        (inspect_layers.main, ["--output_dir=layers", "a b"]),
    ],
)
def test_commands_for_albert_refuse_it(
    main, flags, with_tokenizer, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.txt").write_text("a b\n")
    with pytest.raises(SystemExit):
        main(["program", f"--model_dir={with_tokenizer}", *flags])
    assert "XLNet models are here for classification" in capsys.readouterr().err
