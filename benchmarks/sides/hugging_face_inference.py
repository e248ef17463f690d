"""Inference with Hugging Face's models on PyTorch, in turns.

The setting is that of `inference`, with threads and the order of the rows: "file", as
its pipelines read them, or "length", so that rows of similar length share a batch; each
batch is padded to its longest row.
"""

import numpy as np
import torch
import transformers

from benchmarks.measuring import turns

_BEST = 5  # words for a mask


def main(setting):
    """Answers the name of a task with the seconds of a pass over its rows."""
    torch.set_num_threads(setting["threads"])
    runs = {
        task: _run(_compute(task, setting), path, setting)
        for task, path in setting["rows"].items()
    }

    def take_turn(task):
        with torch.inference_mode():
            return turns.seconds_per_step(runs[task], 1)

    details = f"torch {torch.__version__}, transformers {transformers.__version__}"
    return take_turn, details


def config_of(path):
    """Reads our configuration file as an `AlbertConfig` of transformers."""
    config = transformers.AlbertConfig.from_json_file(path)
    if config.hidden_act == "gelu":
        config.hidden_act = "gelu_new"  # the approximation that ALBERT means by gelu
    return config


def _compute(task, setting):
    """Returns a task's function of a batch, as Hugging Face's pipelines and pages."""
    config = config_of(setting["config"])
    if task == "multiple_choice":
        model = transformers.AlbertForMultipleChoice(config).eval()
        return lambda batch: model(**batch).logits
    if task == "masked_words":
        model = transformers.AlbertForMaskedLM(config).eval()

        def best_words(batch):
            is_mask = batch["input_ids"] == setting["mask_id"]
            return model(**batch).logits[is_mask].softmax(-1).topk(_BEST)

        return best_words
    model = transformers.AlbertModel(config, add_pooling_layer=False).eval()

    def vectors(batch):
        hidden = model(**batch).last_hidden_state
        weights = batch["attention_mask"][:, :, None].float()
        return (hidden * weights).sum(1) / weights.sum(1)

    return vectors


def _run(compute, path, setting):
    with np.load(path) as arrays:
        rows = dict(arrays)
    lengths = rows["lengths"].reshape(len(rows["lengths"]), -1).max(axis=1)
    places = np.arange(len(lengths))
    if setting["order"] == "length":
        places = np.argsort(lengths, kind="stable")

    size = setting["batch_size"]

    def run():
        for i in range(0, len(places), size):
            compute(batch_of(rows, places[i : i + size]))

    return run


def batch_of(rows, chosen, width=None):
    """Makes features `[rows, tokens]` or `[rows, choices, tokens]` of some rows.

    Args:
        rows: dict of the arrays of `TokenizedExamples`.
        chosen: numbers of the rows.
        width: tokens to pad to; by default those of the longest row.
    """
    starts, lengths, first = (
        rows[name][chosen] for name in ("starts", "lengths", "first_lengths")
    )
    position = np.arange(width or lengths.max())
    real = position < lengths[..., None]
    place = np.where(real, starts[..., None] + position, 0)
    arrays = {
        "input_ids": np.where(real, rows["ids"][place], 0),
        "attention_mask": real,
        "token_type_ids": real & (position >= first[..., None]),
    }
    return {n: torch.from_numpy(a.astype(np.int64)) for n, a in arrays.items()}
