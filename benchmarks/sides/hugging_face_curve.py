"""The peer of benchmarks.same_curve: Hugging Face's model and PyTorch's optimizers."""

import time

import numpy as np
import torch
import transformers

_WITHOUT_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
_BETAS, _EPSILON, _DECAY = (0.9, 0.999), 1e-6, 0.01


class Lamb(torch.optim.Optimizer):
    """You et al., arXiv 1904.00962, algorithm 2, with the norm of the weight as phi."""

    def __init__(self, groups, lr):
        super().__init__(groups, {"lr": lr, "weight_decay": _DECAY})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    self._update(weight, group)

    def _update(self, weight, group):
        state = self.state[weight]
        if not state:
            state.update(t=0, m=torch.zeros_like(weight), v=torch.zeros_like(weight))
        state["t"] += 1
        (beta_1, beta_2), t = _BETAS, state["t"]
        state["m"] = beta_1 * state["m"] + (1 - beta_1) * weight.grad
        state["v"] = beta_2 * state["v"] + (1 - beta_2) * weight.grad**2
        m_hat, v_hat = state["m"] / (1 - beta_1**t), state["v"] / (1 - beta_2**t)
        update = m_hat / (v_hat.sqrt() + _EPSILON) + group["weight_decay"] * weight
        ratio = 1.0
        if group["weight_decay"]:
            norms = weight.norm(), update.norm()
            ratio = norms[0] / norms[1] if norms[0] > 0 and norms[1] > 0 else 1.0
        weight -= group["lr"] * ratio * update


def main(setting):
    """Answers with the losses of its steps, see `train`."""
    return lambda _: train(setting), transformers.__version__


def train(setting):
    """Trains; returns both losses before each step, and the seconds of the step.

    Args:
        setting: dict with `start`, the folder of the model; `batches`, an `.npz` of
            features `[steps, batch, …]`; `optimizer`, `learning_rate` and
            `random_seed`. With `bert`, sizes as in `albert_config.json`, the model is
            a BERT of random weights that is written to `start` first.
    """
    if "bert" in setting:
        _write_bert(setting)
    model = _load(setting)
    optimizer = _optimizer(model, setting)
    batches = dict(np.load(setting["batches"]))
    losses, seconds = [], []
    for i in range(len(batches["input_ids"])):
        began = time.perf_counter()
        batch = {name: torch.tensor(values[i]) for name, values in batches.items()}
        losses.append(_step(model, optimizer, batch))
        seconds.append(time.perf_counter() - began)
    masked_lm, sentences = zip(*losses, strict=True)
    return {
        "masked_lm_loss": masked_lm,
        "sentence_order_loss": sentences,
        "seconds": seconds,
    }


def _write_bert(setting):
    torch.manual_seed(setting["random_seed"])
    known = transformers.BertConfig().to_dict()
    sizes = {name: value for name, value in setting["bert"].items() if name in known}
    sizes["hidden_act"] = "gelu_new"
    model = transformers.BertForPreTraining(transformers.BertConfig(**sizes))
    model.save_pretrained(setting["start"])


def _load(setting):
    if "bert" in setting:
        model_class, more = transformers.BertForPreTraining, {}
    else:
        model_class = transformers.AlbertForPreTraining
        more = {"classifier_dropout_prob": 0.0}
    model = model_class.from_pretrained(setting["start"], **_WITHOUT_DROPOUT, **more)
    # A masked word may become [PAD] at random. Then its row is trained by the official
    # code, but not by PyTorch, which leaves the gradient of a padding index out.
    model.get_input_embeddings().padding_idx = None
    return model.float().train()


def _optimizer(model, setting):
    """Returns the optimizer; no decay or adaptation for biases and normalizations."""
    named = list(model.named_parameters())
    plain = [w for name, w in named if name.endswith("bias") or "norm" in name.lower()]
    others = [w for _, w in named if all(w is not one for one in plain)]
    groups = [
        {"params": others, "weight_decay": _DECAY},
        {"params": plain, "weight_decay": 0.0},
    ]
    rate = setting["learning_rate"]
    if setting["optimizer"] == "lamb":
        return Lamb(groups, rate)
    return torch.optim.AdamW(groups, lr=rate, betas=_BETAS, eps=_EPSILON)


def _step(model, optimizer, batch):
    """Takes a step clipped to the norm 1; returns its two losses."""
    losses = _losses(model, batch)
    optimizer.zero_grad(set_to_none=True)
    sum(losses).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return [loss.item() for loss in losses]


def _losses(model, batch):
    asked = torch.full(batch["input_ids"].shape, -100)
    rows, places = torch.nonzero(batch["masked_lm_weights"], as_tuple=True)
    positions = batch["masked_lm_positions"].long()[rows, places]
    asked[rows, positions] = batch["masked_lm_ids"].long()[rows, places]
    words, sentences = model(
        input_ids=batch["input_ids"].long(),
        attention_mask=batch["input_mask"].long(),
        token_type_ids=batch["segment_ids"].long(),
    )[:2]
    order = batch["sentence_order_labels"].long()
    pairs = ((words.flatten(0, 1), asked.flatten()), (sentences, order))
    return [
        torch.nn.functional.cross_entropy(logits, labels) for logits, labels in pairs
    ]
