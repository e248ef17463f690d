"""Fine-tuning with Hugging Face and PyTorch; `benchmarks/finetune_epoch.py` starts it.

Batches are made as the Trainer makes them with `group_by_length`: by its
`LengthGroupedSampler`, padded to their longest row. AdamW, linear decay and clipping
are the Trainer's; the loop is bare, without its bookkeeping.

Arguments: rows.npz, configuration (JSON), batch size, threads. For each line on
standard input it trains one epoch and prints its seconds.
"""

import sys
import time

import numpy as np
import torch
import transformers
from transformers.trainer_pt_utils import LengthGroupedSampler


def main(rows_path, config_path, batch_size, threads):
    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    with np.load(rows_path) as arrays:
        rows = dict(arrays)
    config = transformers.AlbertConfig.from_json_file(config_path)
    if config.hidden_act == "gelu":
        config.hidden_act = "gelu_new"  # the approximation that ALBERT means by gelu
    model = transformers.AlbertForSequenceClassification(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.999**step)
    sampler = LengthGroupedSampler(int(batch_size), lengths=rows["lengths"].tolist())
    for _ in sys.stdin:
        started = time.monotonic()
        order = list(sampler)
        for i in range(0, len(order), int(batch_size)):
            batch = _batch(rows, order[i : i + int(batch_size)])
            model(**batch).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        print(time.monotonic() - started, flush=True)


def _batch(rows, chosen):
    width = int(rows["lengths"][chosen].max())
    ids = np.zeros((len(chosen), width), np.int64)
    mask = np.zeros((len(chosen), width), np.int64)
    for place, row in enumerate(chosen):
        start, length = rows["starts"][row], rows["lengths"][row]
        ids[place, :length] = rows["ids"][start : start + length]
        mask[place, :length] = 1
    labels = rows["labels"][chosen].astype(np.int64)
    arrays = {"input_ids": ids, "attention_mask": mask, "labels": labels}
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


if __name__ == "__main__":
    main(*sys.argv[1:])
