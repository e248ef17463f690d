"""Epochs of fine-tuning with Hugging Face and PyTorch, in turns.

Batches are made as the Trainer makes them with `group_by_length`: by its
`LengthGroupedSampler`, padded to their longest row. AdamW, linear decay and clipping
are the Trainer's; the loop is bare, without its bookkeeping. The setting has
task, rows (npz), config, batch_size, threads, and mixed_precision, "bfloat16" for
`torch.autocast`.
"""

import numpy as np
import torch
import transformers
from transformers.trainer_pt_utils import LengthGroupedSampler

from benchmarks.measuring import turns
from benchmarks.sides.hugging_face_inference import batch_of
from benchmarks.sides.hugging_face_inference import config_of

_MODELS = {"squad_v1": "QuestionAnswering", "tagging": "TokenClassification"}
_NO_LABEL = -100  # PyTorch's loss leaves it out


def main(setting):
    """Answers every request with the seconds of an epoch."""
    torch.set_num_threads(setting["threads"])
    torch.manual_seed(0)
    with np.load(setting["rows"]) as arrays:
        rows = dict(arrays)
    config = config_of(setting["config"])
    config.num_labels = len(setting["task"].get("labels", (0, 1)))
    name = _MODELS.get(setting["task"]["kind"], "SequenceClassification")
    model = getattr(transformers, f"AlbertFor{name}")(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.999**step)
    size = setting["batch_size"]
    sampler = LengthGroupedSampler(size, lengths=rows["lengths"].tolist())

    mixed = setting["mixed_precision"] == "bfloat16"

    def epoch():
        order = list(sampler)
        for i in range(0, len(order), size):
            chosen = order[i : i + size]
            width = int(rows["lengths"][chosen].max())
            with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
                batch = batch_of(rows, chosen, width)
                loss = model(**batch, **_labels(rows, chosen, width)).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()

    details = f"torch {torch.__version__}, transformers {transformers.__version__}"
    return lambda request: turns.seconds_per_step(epoch, 1), details


def _labels(rows, chosen, width):
    labels = rows["labels"]
    if len(labels) == len(rows["ids"]):  # one for each token
        found = np.full((len(chosen), width), _NO_LABEL, np.int64)
        for place, row in enumerate(chosen):
            start, length = rows["starts"][row], rows["lengths"][row]
            found[place, :length] = labels[start : start + length]
        return {"labels": torch.from_numpy(np.where(found < 0, _NO_LABEL, found))}
    labels = torch.from_numpy(labels[chosen].astype(np.int64))
    if labels.ndim == 1:
        return {"labels": labels}
    return {"start_positions": labels[:, 0], "end_positions": labels[:, 1]}
