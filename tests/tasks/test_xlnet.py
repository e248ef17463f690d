"""An XLNet that is fine-tuned on questions and on texts: to files and answers."""

import json

import keras
import numpy as np
import pytest

import albert_tf
from albert_tf.errors import UserError
from albert_tf.tasks.question_answering.flags import SquadOptions
from tests.tasks.conftest import APPLIED
from tests.tasks.conftest import results

_CONTEXT = "the film was very good and the plot was not very bad"


@pytest.mark.slow
def test_questions(saved_model, command, squad, tmp_path):
    words = _CONTEXT.split()
    ends = np.cumsum([len(word) + 1 for word in words]).tolist()
    asked = [  # for a word; the answer is the word after it
        (f"{i}", f"{words[i]} {words[i + 1]}", [(words[i + 1], ends[i])])
        for i in (3, 9, 10)
    ]
    asked += [(f"none{i}", "is it", None) for i in range(3)]
    path = squad((_CONTEXT, asked))
    out = command(
        SquadOptions,
        init_checkpoint=saved_model("pretraining", "xlnet"),
        output_dir=tmp_path / "out",
        train_file=path,
        predict_file=path,
        do_train=True,
        do_predict=True,
        max_seq_length=14,
        max_query_length=3,
        doc_stride=4,
        train_step=10,
        save_checkpoints_steps=10,
        learning_rate=1e-2,
        train_batch_size=8,
    )()
    answers = json.loads((out / "predictions.json").read_text())
    info = json.loads((out / "model" / "training_info.json").read_text())
    threshold = info["dev"]["null_score_diff_threshold"]
    questions = [question for _, question, _ in asked]
    found = albert_tf.Predictor(out / "model")(questions, [_CONTEXT] * len(questions))
    for (identity, *_), own in zip(asked, found, strict=True):
        best = own["answers"][0]
        is_none = own["no_answer_score"] >= threshold
        assert ("" if is_none else best["answer"]) == answers[identity]
        assert _CONTEXT[best["start"] : best["end"]] == best["answer"]


@pytest.fixture
def pretrained(xlnet_tokenizer, xlnet_config, tmp_path):
    """The folder of a tiny XLNet as pretraining leaves it."""
    keras.utils.set_random_seed(1)
    sizes = {"n_layer": 1, "d_head": 8, "initializer_range": 0.1}
    config = xlnet_config(**sizes, mem_len=6, bi_data=True)
    folder = tmp_path / "pretrained"
    albert_tf.XLNetLMHeadModel(config).save_pretrained(folder, xlnet_tokenizer)
    return folder


def _probabilities(path):
    lines = path.read_text().splitlines()
    return np.array([line.split("\t")[1:] for line in lines[1:]], np.float32)


@pytest.mark.slow
def test_from_a_directory_to_answers(pretrained, flags):
    steps = {"train_step": 30, "save_checkpoints_steps": 30, "learning_rate": 1e-2}
    asked = {"do_train": True, "do_eval": True, "do_predict": True}
    start = {**APPLIED, "init_checkpoint": pretrained}
    out = flags(**asked, **steps, **start)
    assert results(out)["eval_accuracy"] == 1.0
    head = json.loads((out / "model" / "head.json").read_text())
    assert head["labels"] == ["no", "yes"]
    texts = (out.parent / "data" / "test.tsv").read_text().splitlines()[1:]
    texts = [line.split("\t")[1] for line in texts]
    predictor = albert_tf.Predictor(out / "model")
    answers = predictor(texts, batch_size=7)  # not even: no halves
    shares = [list(answer["probabilities"].values()) for answer in answers]
    expected = _probabilities(out / "test_results.tsv")
    np.testing.assert_allclose(shares, expected, atol=1e-5)
    before, after = _weights(pretrained), _weights(out / "model")
    still = {name for name in before if np.array_equal(before[name], after[name])}
    assert still == {"model/transformer/mask_emb/mask_emb"}


def _weights(folder):
    model = albert_tf.XLNetModel.from_pretrained(folder)
    return {name: v.numpy() for name, v in model.official_variables().items()}


def test_flags_of_albert_are_refused(flags, xlnet_config, pretrained, tmp_path):
    config = tmp_path / "xlnet.json"
    config.write_text(json.dumps(xlnet_config(n_layer=1).to_dict()))
    for changes in ({"early_exit": True}, {"init_layers": "mean"}):
        with pytest.raises(
            UserError, match="becomes an XLNetForSequenceClassification"
        ):
            start = {**APPLIED, "albert_config_file": config}
            flags(do_train=True, init_checkpoint=pretrained, **{**start, **changes})
