"""Chinese questions from training to served answers."""

import json

import pytest

from albert_tf.cli.command_line import parse
from albert_tf.config import AlbertConfig
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.commands.run import run_repeatedly
from albert_tf.tasks.question_answering.flags import SquadOptions
from albert_tf.tokenization import load_tokenizer

# Chinese without spaces, characters of four bytes, full-width signs, Latin and digits.
_PARAGRAPHS = [
    (
        "《战国无双3》由光荣和ω-force开发，于2009年12月3日发售。",
        {"谁开发？": "光荣和ω-force", "何时发售？": "2009年12月3日"},
    ),
    (
        "孙悟空住在花果山，师父是唐僧；𠮷野家在东京。",
        {"悟空住在哪里？": "花果山", "师父是谁？": "唐僧", "哪家在东京？": "𠮷野家"},
    ),
    (
        "全校共有1,234名学生（2018年），校长是李明。",
        {"有多少名学生？": "1,234名", "校长是谁？": "李明"},
    ),
    ("“天下为公”出自《礼记》。", {"什么出自礼记？": "“天下为公”"}),
]


def _cmrc():
    """The paragraphs as CMRC 2018 has them, an article each."""
    data = []
    for number, (context, asked) in enumerate(_PARAGRAPHS):
        qas = []
        for place, (question, answer) in enumerate(asked.items()):
            qas.append({"id": f"DEV_{number}_QUERY_{place}", "question": question})
            answers = [{"text": answer, "answer_start": context.index(answer)}]
            # Several annotators, who mostly agree.
            qas[-1]["answers"] = answers * 3
        paragraph = {"id": f"DEV_{number}", "context": context, "qas": qas}
        data.append({"id": f"DEV_{number}", "title": "", "paragraphs": [paragraph]})
    return {"version": "v1.0", "data": data}


def _vocabulary():
    """Returns the lines of a vocabulary of all these characters."""
    texts = [context + "".join(asked) for context, asked in _PARAGRAPHS]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "force"]
    digits = [f"##{digit}" for digit in "0123456789"]
    return "\n".join([*special, *dict.fromkeys("".join(texts).lower()), *digits])


@pytest.mark.nightly
def test_from_file_to_served_answers(tmp_path):
    (tmp_path / "vocab.txt").write_text(_vocabulary(), "utf-8")
    AlbertConfig(
        vocab_size=load_tokenizer(tmp_path / "vocab.txt").vocab_size,
        embedding_size=32,
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=96,
        max_position_embeddings=40,
        initializer_range=0.1,
    ).to_json_file(tmp_path / "config.json")
    content = json.dumps(_cmrc(), ensure_ascii=False)
    (tmp_path / "dev.json").write_text(content, "utf-8")
    values = {
        "train_file": tmp_path / "dev.json",
        "predict_file": tmp_path / "dev.json",
        "output_dir": tmp_path / "trained",
        "export_dir": tmp_path / "served",
        "albert_config_file": tmp_path / "config.json",
        "vocab_file": tmp_path / "vocab.txt",
        "from_scratch": True,
        "do_train": True,
        "do_predict": True,
        "max_seq_length": 40,
        "doc_stride": 12,
        "max_query_length": 8,
        "max_answer_length": 14,
        "train_batch_size": 8,
        "train_step": 180,
        "warmup_step": 18,
        "learning_rate": 3e-3,
        "albert_dropout_prob": 0,
        "use_xla": False,
    }
    argv = [f"--{flag}={value}" for flag, value in values.items()]
    run_repeatedly(parse(SquadOptions, ["run_squad.py", *argv]))
    found = json.loads((tmp_path / "trained" / "predictions.json").read_text("utf-8"))
    gold = [answer for _, asked in _PARAGRAPHS for answer in asked.values()]
    assert list(found.values()) == gold  # to the character, full-width signs and all
    scores = (tmp_path / "trained" / "eval_results.txt").read_text()
    assert "exact_match = 100.0" in scores
    rows = [(c, q) for c, asked in _PARAGRAPHS for q in asked]
    contexts, questions = zip(*rows, strict=True)
    served = Predictor(tmp_path / "served")(list(questions), list(contexts))
    assert [answer["answer"] for answer in served] == gold
    for context, answer in zip(contexts, served, strict=True):
        best = answer["answers"][0]
        assert context[best["start"] : best["end"]] == answer["answer"]
