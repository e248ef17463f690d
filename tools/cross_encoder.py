"""Records scores, losses and metrics of a CrossEncoder of sentence-transformers.

  python -m tools.cross_encoder

It needs sentence-transformers, without TensorFlow, and writes
tests/golden/cross_encoder.tar.xz: the directory of a tiny BERT of random weights, and
expected.json: what is computed of lists of texts, some longer than the longest row.
"""

import dataclasses
import json
import pathlib
import random
import tarfile
import tempfile

from albert_tf.cli import command_line

FILE = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
FILE /= "cross_encoder.tar.xz"
_WORDS = [*"abcdefghijklmnopqrstuvwxyz", "film", "good", "rain", "##s", "##ing", "?"]
_VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_WORDS]
_LONGEST = 20  # tokens of a row, below the positions
_GRADES = [[2, 0, 1, 0, 3], [0, 1], [0] * 6 + [1, 0, 2] + [0] * 5]
_TEACHER = [0.5, -1.5]


def _model(folder):
    import torch
    import transformers
    from sentence_transformers import CrossEncoder

    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(_VOCABULARY),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        initializer_range=0.6,
        num_labels=1,
    )
    bert = transformers.BertForSequenceClassification(config)
    for weight in bert.parameters():
        weight.data = weight.data.half().float()
    bert.save_pretrained(folder)
    path = pathlib.Path(folder) / "vocab.txt"
    path.write_text("".join(f"{piece}\n" for piece in _VOCABULARY))
    tokenizer = transformers.BertTokenizer(str(path), model_max_length=_LONGEST)
    tokenizer.save_pretrained(folder)
    return CrossEncoder(str(folder), device="cpu")


def _lists():
    chance, words = random.Random(0), [word for word in _WORDS if word[0] != "#"]

    def text(longest):
        return " ".join(chance.choices(words, k=chance.randint(1, longest)))

    return [(text(6), [text(30) for _ in grades]) for grades in _GRADES]


def _losses(model, lists):
    import torch
    from sentence_transformers.cross_encoder import losses
    from sentence_transformers.cross_encoder.losses.lambda_loss import LambdaRankScheme

    queries, texts = ([*column] for column in zip(*lists, strict=True))
    grades = [torch.tensor(own, dtype=torch.float32) for own in _GRADES]
    lambdas = losses.LambdaLoss(model, LambdaRankScheme(), reduction_log="natural")
    alone = losses.BinaryCrossEntropyLoss(model)
    first = [own[0] for own in texts], [own[1] for own in texts]
    wanted = torch.tensor([_TEACHER[0] - _TEACHER[1]] * len(texts))
    return {
        # Of each query alone: the library's mean is over the pairs of all.
        "lambda": [
            lambdas([[q], [own]], [row]).item()
            for q, own, row in zip(queries, texts, grades, strict=True)
        ],
        "binary": [
            alone([[q] * len(own), own], row.clamp(max=1)).item()
            for q, own, row in zip(queries, texts, grades, strict=True)
        ],
        "margin_mse": losses.MarginMSELoss(model)([queries, *first], wanted).item(),
    }


def _metrics(model, lists):
    from sentence_transformers.cross_encoder import evaluation

    samples = [
        {
            "query": query,
            "positive": [t for t, grade in zip(texts, own, strict=True) if grade],
            "negative": [t for t, grade in zip(texts, own, strict=True) if not grade],
        }
        for (query, texts), own in zip(lists, _GRADES, strict=True)
    ]
    return evaluation.CrossEncoderRerankingEvaluator(samples, at_k=10)(model)


def _expected(model):
    import torch

    lists = _lists()
    logits = [
        model.predict(
            [(query, own) for own in texts], activation_fn=torch.nn.Identity()
        )
        for query, texts in lists
    ]
    with torch.no_grad():
        losses = _losses(model, lists)
    return {
        "lists": lists,
        "grades": _GRADES,
        "teacher": _TEACHER,
        "logits": [own.tolist() for own in logits],
        "ranks": [model.rank(query, texts) for query, texts in lists],
        "losses": losses,
        "metrics": {n: float(value) for n, value in _metrics(model, lists).items()},
    }


@dataclasses.dataclass(frozen=True)
class CrossEncoderOptions:
    """The flags of `python -m tools.cross_encoder`: none."""


def record(options):
    """Writes the recording."""
    with tempfile.TemporaryDirectory() as folder:
        model = _model(folder)
        expected = json.dumps(_expected(model), default=float)
        saved = pathlib.Path(folder) / "saved"
        model.save_pretrained(str(saved), create_model_card=False)
        (saved / "expected.json").write_text(expected)
        with tarfile.open(FILE, "w:xz") as archive:
            for path in sorted(saved.rglob("*")):
                archive.add(path, path.relative_to(saved), filter=_undated)


def _undated(entry):
    entry.mtime = entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    command_line.run(CrossEncoderOptions, record)
