"""Training steps of Hugging Face's AlbertForPreTraining on the CPU, in turns."""

import json
import sys

import torch
import transformers

from benchmarks import turns


def main(setting):
    """Answers with the seconds of a step; `setting` is that of `train_step.py`."""
    torch.set_num_threads(setting["threads"])
    torch.manual_seed(1)
    activation = setting.get("activation", "gelu_new")
    config = transformers.AlbertConfig(
        **{**setting["config"], "hidden_act": activation, "classifier_dropout_prob": 0}
    )
    model = transformers.AlbertForPreTraining._from_config(
        config, attn_implementation="sdpa", dtype=torch.float32
    )
    step = make_step(model.train(), model_inputs(turns.make_batch(**setting["batch"])))
    if setting.get("compile"):
        step = torch.compile(step)
    details = f"transformers {transformers.__version__}, torch {torch.__version__}"
    turns.serve(lambda _: turns.seconds_per_step(step, setting["steps"]), details)


def make_step(model, inputs):
    """A function that does a training step; the optimizer is the fused one."""
    weights = list(model.parameters())
    optimizer = torch.optim.AdamW(weights, lr=1e-5, weight_decay=0.01, fused=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(**inputs).loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()

    return step


def model_inputs(batch):
    """A batch as the model's arguments: labels are -100 where none is asked for."""
    batch = {name: torch.tensor(values) for name, values in batch.items()}
    labels = torch.full(batch["input_ids"].shape, -100)
    labels.scatter_(
        1, batch["masked_lm_positions"].long(), batch["masked_lm_ids"].long()
    )
    return {
        "input_ids": batch["input_ids"].long(),
        "attention_mask": batch["input_mask"].long(),
        "token_type_ids": batch["segment_ids"].long(),
        "labels": labels,
        "sentence_order_label": batch["sentence_order_labels"].long(),
    }


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
