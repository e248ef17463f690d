"""Records gradients of transformers' encoders, which those here must equal.

  python -m tools.encoder_gradients

It needs torch and transformers, without TensorFlow, and writes
tests/golden/encoder_gradients.npz: of each architecture and head a tiny model of random
weights that float16 holds, a batch with padding, and the loss and the gradients that
PyTorch computes in float64. `python -m tools.verify` compares such recordings.
"""

import dataclasses
import json
import pathlib

import numpy as np

from albert_tf.cli import command_line

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
_FILE = GOLDEN / "encoder_gradients.npz"
_SIZES = {"vocab_size": 13, "hidden_size": 8, "num_hidden_layers": 1}
_SIZES |= {"num_attention_heads": 2, "max_position_embeddings": 12}
_SIZES |= {"initializer_range": 0.4, "num_labels": 3}
_INNER = {"intermediate_size": 10}
# Beginnings of class names, and settings, by `model_type`.
_ENCODERS = {
    "modernbert": (
        "ModernBert",
        {**_INNER, "global_attn_every_n_layers": 2, "local_attention": 4}
        | {"num_hidden_layers": 2}
        | {"classifier_pooling": "mean", "pad_token_id": 0, "cls_token_id": 2}
        | {"bos_token_id": 2, "eos_token_id": 3, "sep_token_id": 3},
    ),
    "distilbert": ("DistilBert", {"hidden_dim": 10}),
    "electra": ("Electra", {**_INNER, "embedding_size": 6}),
    "xlm-roberta": (
        "XLMRoberta",
        {**_INNER, "pad_token_id": 1, "type_vocab_size": 1},
    ),
    "deberta-v2": (
        "DebertaV2",
        {**_INNER, "relative_attention": True, "position_biased_input": False}
        | {"share_att_key": True, "pos_att_type": ["p2c", "c2p"]}
        | {"position_buckets": 4, "norm_rel_ebd": "layer_norm", "type_vocab_size": 0},
    ),
}
_HEADS = {
    "masked_lm": "ForMaskedLM",
    "sequence": "ForSequenceClassification",
    "choices": "ForMultipleChoice",
}
_INPUTS = ("input_ids", "attention_mask", "labels")
_ROWS, _TOKENS = 3, 8


def read(case):
    """Returns the recording of a case, such as "electra/sequence".

    It is a tuple of the content of `config.json`, and, each by name, the weights, the
    inputs and what is expected.
    """
    with np.load(_FILE) as file:
        found = {n: file[f"{case}/{n}"] for n in ("facts", "weights", "gradients")}
        inputs = {n: np.int32(file[f"{case}/{n}"]) for n in _INPUTS}
    facts = json.loads(str(found["facts"]))
    shapes = facts["shapes"]
    ends = np.cumsum([np.prod(shape) for shape in shapes.values()])[:-1]
    weights, gradients = (
        {
            name: flat.reshape(shape)
            for (name, shape), flat in zip(
                shapes.items(), np.split(found[part], ends), strict=True
            )
        }
        for part in ("weights", "gradients")
    )
    expected = {f"grad/{name}": array for name, array in gradients.items()}
    return facts["config"], weights, inputs, {**expected, "loss": facts["loss"]}


def _batch(head, padding):
    draw = np.random.default_rng(3)
    ids = draw.integers(4, _SIZES["vocab_size"], (_ROWS, _TOKENS))
    mask = np.int64(np.arange(_TOKENS) < [[8], [6], [3]])
    labels = np.array([2, 0, 1])
    if head == "masked_lm":
        labels = np.where((draw.random(ids.shape) < 0.5) & (mask == 1), ids, -100)
    ids = np.where(mask == 1, ids, padding)
    if head == "choices":
        labels = np.array([1, 0, 1])
        ids, mask = (np.stack([a, a[::-1]], 1) for a in (ids, mask))  # [B, 2, T]
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def _record(prefix, settings, head):
    import torch
    import transformers

    torch.manual_seed(5)
    model_class = getattr(transformers, prefix + _HEADS[head])
    model = model_class(model_class.config_class(**{**_SIZES, **settings})).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.1 * torch.randn(weight.shape)
            weight.copy_(weight.half())
    model.double()
    model.config.architectures = [model_class.__name__]
    batch = _batch(head, model.config.pad_token_id or 0)
    loss = model(**{name: torch.tensor(value) for name, value in batch.items()}).loss
    loss.backward()
    copies = model._tied_weights_keys if head == "masked_lm" else ()
    named = model.named_parameters(remove_duplicate=False)
    weights = {name: weight for name, weight in named if name not in copies}
    facts = {"config": model.config.to_dict(), "loss": loss.item()}
    facts["shapes"] = {name: [*weight.shape] for name, weight in weights.items()}
    gradients = [
        torch.zeros_like(w) if w.grad is None else w.grad for w in weights.values()
    ]
    flat = [
        torch.cat([part.detach().flatten() for part in parts]).numpy()
        for parts in (weights.values(), gradients)
    ]
    return {
        **{name: np.int8(value) for name, value in batch.items()},
        "facts": np.array(json.dumps(facts)),
        "weights": np.float16(flat[0]),
        "gradients": np.float32(flat[1]),
    }


@dataclasses.dataclass(frozen=True)
class GradientsOptions:
    """The flags of `python -m tools.encoder_gradients`: none."""


def record(options):
    """Writes the recordings of all cases."""
    arrays = {}
    for kind, (prefix, settings) in _ENCODERS.items():
        for head in _HEADS:
            found = _record(prefix, settings, head)
            arrays |= {f"{kind}/{head}/{name}": a for name, a in found.items()}
    np.savez_compressed(_FILE, **arrays)


if __name__ == "__main__":
    command_line.run(GradientsOptions, record)
