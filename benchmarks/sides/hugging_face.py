"""Training steps of Hugging Face's AlbertForPreTraining, in turns."""

import json
import sys

import torch
import transformers

from benchmarks import turns


def main(setting):
    """Answers with the seconds of a step.

    Args:
        setting: dict with `config`, `batch` (arguments of `turns.make_batch`) and
            `steps`; optionally `threads`, `activation`, `compile`, `device` and
            `bfloat16` (autocast of the forward pass; weights stay float32).
    """
    if "threads" in setting:
        torch.set_num_threads(setting["threads"])
    torch.manual_seed(1)
    device = setting.get("device", "cpu")
    model = make_model(setting).to(device).train()
    step = make_step(model, setting, device)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    details = f"transformers {transformers.__version__}, torch {torch.__version__}"
    turns.serve(lambda _: turns.seconds_per_step(step, setting["steps"], wait), details)


def make_model(setting):
    """A new model with attention `sdpa`."""
    activation = setting.get("activation", "gelu_new")
    config = transformers.AlbertConfig(
        **{**setting["config"], "hidden_act": activation, "classifier_dropout_prob": 0}
    )
    return transformers.AlbertForPreTraining._from_config(
        config, attn_implementation="sdpa", dtype=torch.float32
    )


def make_step(model, setting, device):
    """A function that does a training step; the optimizer is the fused one."""
    batch = model_inputs(turns.make_batch(**setting["batch"]), device)
    weights = list(model.parameters())
    optimizer = torch.optim.AdamW(weights, lr=1e-5, weight_decay=0.01, fused=True)
    if setting.get("compile"):
        model = torch.compile(model)
    lower = setting.get("bfloat16", False)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=lower):
            loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()

    return step


def model_inputs(batch, device):
    """A batch as the model's arguments: labels are -100 where none is asked for."""
    batch = {name: torch.tensor(values) for name, values in batch.items()}
    labels = torch.full(batch["input_ids"].shape, -100)
    labels.scatter_(
        1, batch["masked_lm_positions"].long(), batch["masked_lm_ids"].long()
    )
    inputs = {
        "input_ids": batch["input_ids"],
        "attention_mask": batch["input_mask"],
        "token_type_ids": batch["segment_ids"],
        "labels": labels,
        "sentence_order_label": batch["sentence_order_labels"],
    }
    return {name: values.long().to(device) for name, values in inputs.items()}


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
