"""Training steps of Hugging Face's ALBERT, ModernBERT or XLNet."""

import torch
import transformers

from albert_tf.config import AlbertConfig
from benchmarks.measuring import turns
from benchmarks.measuring.shapes import modern


def main(setting):
    """Answers with the seconds of a step; `setting` comes from a benchmark."""
    if "threads" in setting:
        torch.set_num_threads(setting["threads"])
    torch.manual_seed(1)
    device = setting.get("device", "cpu")
    make_model, make_inputs = _MODELS[setting.get("model", "albert")]
    model = make_model(setting).to(device).train()
    inputs = make_inputs(setting["batch"])
    inputs = {name: values.to(device) for name, values in inputs.items()}
    step = _make_step(model, inputs, setting, device)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    details = f"transformers {transformers.__version__}, torch {torch.__version__}"
    return lambda _: turns.seconds_per_step(step, setting["steps"], wait), details


def _make_albert(setting):
    """Makes a new model with attention `sdpa`."""
    own = {"hidden_act": _activation(setting), "classifier_dropout_prob": 0}
    config = transformers.AlbertConfig(**{**setting["config"], **own})
    return transformers.AlbertForPreTraining._from_config(
        config, attn_implementation="sdpa", dtype=torch.float32
    )


def _make_modernbert(setting):
    """Makes a new model of as many operations, whose attention is global everywhere.

    It computes logits of the masked tokens only.
    """
    ours = modern(AlbertConfig.from_dict(setting["config"])).to_dict()
    names = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads")
    names += ("intermediate_size", "max_position_embeddings")
    specials = ("pad", "bos", "eos", "cls", "sep")
    config = transformers.ModernBertConfig(
        **{name: ours[name] for name in names},
        **{f"{name}_token_id": 0 for name in specials},
        layer_types=["full_attention"] * ours["num_hidden_layers"],
        sparse_prediction=True,
    )
    return transformers.ModernBertForMaskedLM._from_config(
        config, attn_implementation="sdpa", dtype=torch.float32
    )


def _make_xlnet(setting):
    """Makes a new model without memory; theirs has no attention `sdpa`."""
    ours = setting["config"]
    config = transformers.XLNetConfig(
        vocab_size=ours["n_token"],
        **{name: ours[name] for name in ("d_model", "n_layer", "n_head", "d_inner")},
        ff_activation=_activation(setting),
        dropout=0.0,
        use_mems_train=False,
    )
    return transformers.XLNetLMHeadModel(config)


def _activation(setting):
    return setting.get("activation", "gelu_new")


def _make_step(model, inputs, setting, device):
    """Returns a function that does a training step; the optimizer is the fused one."""
    weights = list(model.parameters())
    optimizer = torch.optim.AdamW(weights, lr=1e-5, weight_decay=0.01, fused=True)
    if setting.get("compile"):
        model = torch.compile(model)
    lower = setting.get("bfloat16", False)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=lower):
            loss = model(**inputs).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()

    return step


def _modernbert_inputs(shape):
    """Makes the model's arguments for a batch, which has no segments and no order."""
    inputs = _albert_inputs(shape)
    return {name: inputs[name] for name in ("input_ids", "attention_mask", "labels")}


def _albert_inputs(shape):
    """Makes the model's arguments for a batch: labels are -100 where none is wanted."""
    batch = _tensors(turns.make_batch(**shape))
    labels = torch.full(batch["input_ids"].shape, -100)
    labels.scatter_(1, batch["masked_lm_positions"], batch["masked_lm_ids"])
    return {
        "input_ids": batch["input_ids"],
        "attention_mask": batch["input_mask"],
        "token_type_ids": batch["segment_ids"],
        "labels": labels,
        "sentence_order_label": batch["sentence_order_labels"],
    }


def _xlnet_inputs(shape):
    """Makes the model's arguments: masks `[batch, tokens, tokens]`, one-hot targets."""
    batch = _tensors(turns.make_permutation_batch(**shape))
    sees = batch["query_order"][:, :, None] > batch["key_order"][:, None, :]
    tokens = batch["input_ids"].shape[1]
    mapping = torch.nn.functional.one_hot(batch["target_positions"], tokens)
    return {
        "input_ids": batch["input_ids"],
        "token_type_ids": batch["segment_ids"],
        "perm_mask": (~sees).float(),
        "target_mapping": mapping.float(),
        "labels": batch["target_ids"],
    }


def _tensors(batch):
    return {name: torch.tensor(values).long() for name, values in batch.items()}


_MODELS = {
    "albert": (_make_albert, _albert_inputs),
    "modernbert": (_make_modernbert, _modernbert_inputs),
    "xlnet": (_make_xlnet, _xlnet_inputs),
}
