"""Training steps of Hugging Face's XLNetLMHeadModel, in turns."""

import json
import sys

import torch
import transformers

from benchmarks import turns


def main(setting):
    """Answers with the seconds of a step; see `hugging_face.main`."""
    torch.set_num_threads(setting["threads"])
    torch.manual_seed(1)
    step = _make_step(setting)
    details = f"transformers {transformers.__version__}, torch {torch.__version__}"
    turns.serve(lambda _: turns.seconds_per_step(step, setting["steps"]), details)


def _make_step(setting):
    """A function that does a training step; the optimizer is the fused one."""
    config = setting["config"]
    model = transformers.XLNetLMHeadModel(
        transformers.XLNetConfig(
            vocab_size=config["n_token"],
            d_model=config["d_model"],
            n_layer=config["n_layer"],
            n_head=config["n_head"],
            d_inner=config["d_inner"],
            ff_activation="gelu_new",
            dropout=0.0,
        )
    ).train()
    batch = _model_inputs(turns.make_permutation_batch(**setting["batch"]))
    weights = list(model.parameters())
    optimizer = torch.optim.AdamW(weights, lr=1e-5, weight_decay=0.01, fused=True)
    if setting.get("compile"):
        model = torch.compile(model)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=setting["bfloat16"]):
            loss = model(**batch, use_mems=False).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()

    return step


def _model_inputs(batch):
    """A batch as the model's arguments: masks `[batch, tokens, tokens]`, one-hots."""
    batch = {name: torch.tensor(values) for name, values in batch.items()}
    sees = batch["query_order"][:, :, None] > batch["key_order"][:, None, :]
    tokens = batch["input_ids"].shape[1]
    mapping = torch.nn.functional.one_hot(batch["target_positions"].long(), tokens)
    return {
        "input_ids": batch["input_ids"].long(),
        "token_type_ids": batch["segment_ids"].long(),
        "perm_mask": (~sees).float(),
        "target_mapping": mapping.float(),
        "labels": batch["target_ids"].long(),
    }


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
