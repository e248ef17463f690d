"""Today's encoders, from a Hugging Face directory to answers and files of all kinds."""

import json

import keras
import numpy as np
import pytest

import albert_tf
from albert_tf import bundle
from albert_tf.cli.commands import main
from albert_tf.models.question_answering import second_text
from albert_tf.serving.predictor import Predictor
from tests.corpus import write_squad

_RUN = (
    "--max_seq_length=24 --train_batch_size=4 --train_step=2 --save_checkpoints_steps=2"
    " --warmup_step=0 --learning_rate=0.001 --iterations_per_loop=1 --do_train"
)
_TEXT = "the cat sat on the mat and the dog didn't bark"
_QUESTION = "who sat on the mat?"
# By command: its flags, and what its model is asked.
_COMMANDS = {
    "classify": ("--task_name=custom --data_dir=labels --do_eval", ([_TEXT],)),
    "squad": (
        "--train_file=squad.json --predict_file=squad.json --doc_stride=8 "
        "--max_query_length=8 --do_predict",
        ([_QUESTION], [_TEXT]),
    ),
    "race": (
        "--task_name=custom --data_dir=choices --max_qa_length=12 --do_eval",
        ([_TEXT], [_QUESTION], [["the cat", "the dog"]]),
    ),
    "similarity": ("--data_dir=pairs --do_eval", ([_TEXT],)),
    "tag": ("--data_dir=tags --do_eval", ([_TEXT],)),
}


def _one_by_day(first, *others):
    return [first, *(pytest.param(o, marks=pytest.mark.nightly) for o in others)]


_FAMILIES = _one_by_day(
    "distilbert", "modernbert", "electra", "xlm-roberta", "deberta-v2"
)
_KINDS = _one_by_day(
    *("tagging", "classification", "encoder", "multi_label", "multiple_choice"),
    *("question_answering", "regression", "similarity"),
)


@pytest.fixture(scope="module", params=_FAMILIES)
def written(request, saved_model, tmp_path_factory):
    """A Hugging Face directory of a language model."""
    folder = tmp_path_factory.mktemp(request.param)
    opened = bundle.open(saved_model("pretraining", request.param))
    # Released XLM-Rs hold the pooler beside the language model.
    is_xlm = request.param == "xlm-roberta"
    model_class = albert_tf.AlbertModel if is_xlm else albert_tf.AlbertForMaskedLM
    model = opened.model(model_class)
    model.save_pretrained(folder, opened.tokenizer(), format="huggingface")
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The folder with the data of all commands."""
    folder = tmp_path_factory.mktemp("data")
    answers = [("the cat", _TEXT.index("the cat"))]
    write_squad(folder, (_TEXT, [(f"{n}", _QUESTION, answers) for n in range(8)]))
    tags = ["O", "B-A", "I-A", "O", "O", "O", "O", "O", "B-A", "O", "O"]
    words = zip(_TEXT.split(), tags, strict=True)
    sentence = "\n".join(f"{word} {tag}" for word, tag in words)
    choice = {
        "context": _TEXT,
        "question": _QUESTION,
        "options": ["the dog", "the cat"],
        "label": 1,
    }
    files = {
        "tags/{}.conll": f"{sentence}\n\n" * 8,
        "choices/{}.jsonl": f"{json.dumps(choice)}\n" * 8,
        "pairs/{}.tsv": "anchor\tpositive\n" + f"{_TEXT}\tthe cat\na\tthe\n" * 4,
        "labels/{}.tsv": "label\tsentence\n" + f"no\t{_TEXT}\nyes\ta cat\n" * 4,
    }
    for name, text in files.items():
        for role in ("train", "dev", "test"):
            path = folder / name.format(role)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    return folder


@pytest.fixture
def command(data, monkeypatch):
    """Runs a command of albert-tf in the folder of the data."""
    monkeypatch.chdir(data)
    return lambda name, flags: main(["albert-tf", name, *flags.split(" ")])


@pytest.mark.slow
@pytest.mark.parametrize("name", _one_by_day(*_COMMANDS))
def test_commands(written, name, command, tmp_path):
    flags, asked = _COMMANDS[name]
    places = f"--init_checkpoint={written} --output_dir={tmp_path}"
    command(name, f"{flags} {_RUN} {places}")
    assert len(Predictor(tmp_path / "model")(*asked)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("family", _FAMILIES)
def test_masks_are_filled_and_costs_told(family, opened, command, tmp_path, capsys):
    own = opened("pretraining", family)
    model = bundle.open(own.folder).model(albert_tf.AlbertForMaskedLM)
    model.save_pretrained(tmp_path, own.tokenizer, format="huggingface")
    command("fill-mask", f"--model_dir={tmp_path} the_{own.tokenizer.mask_token}")
    assert len(capsys.readouterr().out.splitlines()) > 4
    model.config.to_json_file(tmp_path / "config")
    command("describe", f"--albert_config_file={tmp_path}/config --max_seq_length=24")
    counts = model.config.costs.encoder_parameters(model.config)
    shapes = [v.shape for v in model.albert.official_variables().values()]
    assert sum(counts.values()) == sum(map(np.prod, shapes))
    out = capsys.readouterr().out
    assert all(f"{count:,}" in out for count in counts.values())


@pytest.mark.parametrize("family", _FAMILIES)
@pytest.mark.parametrize("kind", _KINDS)
def test_every_head_goes_back(kind, family, opened, tmp_path):
    own = opened(kind, family)
    own.model.save_pretrained(tmp_path, own.tokenizer, format="huggingface")
    entries = json.loads((tmp_path / "config.json").read_text())
    assert entries["model_type"] == family
    assert entries["pad_token_id"] == own.tokenizer.pad_id
    again = bundle.open(tmp_path).model()
    assert type(again) is type(own.model)
    assert again.config == own.model.config
    assert again.head_config() == own.model.head_config()
    axes = own.model.feature_axes
    ids = np.random.default_rng(4).integers(5, 22, (2, *[3] * (axes - 2), 9))
    mask = np.broadcast_to(np.int32(np.arange(9) < 7), ids.shape)
    features = {"input_ids": ids, "input_mask": mask}
    expected, found = own.model(features), again(features)
    if kind == "encoder":  # most of theirs have no pooler
        expected, found = expected["sequence_output"], found["sequence_output"]
    pairs = zip(*map(keras.tree.flatten, (expected, found)), strict=True)
    for one, other in pairs:
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-6)


def test_second_texts_after_one_separator():
    ids = np.array([[2, 5, 3, 7, 8, 3, 0], [2, 3, 6, 3, 0, 0, 0]])
    found = second_text(ids, np.int32(ids > 0), between=1)
    assert np.array(found).tolist() == [[0, 0, 0, 1, 1, 1, 0], [0, 0, 1, 1, 0, 0, 0]]
