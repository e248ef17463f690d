"""Loads directories with transformers and PyTorch, in a process without TensorFlow.

    python -m tests.checkpoints.torch_reader FOLDER

reads each FOLDER/CASE/case.json, {"auto": the name of an Auto class, "features": its
arguments}, and writes what the model returns to CASE/eager.npz and CASE/sdpa.npz, by
implementation of attention, and the model, saved again, to CASE/again. TensorFlow and
PyTorch do not bear each other in one process.
"""

import json
import pathlib
import sys

import numpy as np
import torch
import transformers


def outputs_of(folder, implementation):
    """Returns the model and its outputs as arrays by name.

    Beside them: the names of tensors that are missing, unexpected or of another shape,
    the largest weight of a new model, of a model with a loss the names of weights that
    get no gradient, and of an encoder the states of training, twice.
    """
    case = json.loads((folder / "case.json").read_text())
    model, report = getattr(transformers, case["auto"]).from_pretrained(
        folder,
        trust_remote_code=True,
        attn_implementation=implementation,
        output_loading_info=True,
    )
    features = {name: torch.tensor(value) for name, value in case["features"].items()}
    options = {"output_hidden_states": True, "output_attentions": True}
    found = model.eval()(**features, **(options if implementation == "eager" else {}))
    arrays = {
        f"{name}_{number}" if isinstance(value, tuple) else name: part.detach().numpy()
        for name, value in found.items()
        for number, part in enumerate(value if isinstance(value, tuple) else [value])
    }
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        arrays[kind] = sorted(map(str, report[kind]))
    if "loss" in found:
        found.loss.backward()
        weights = model.named_parameters()
        arrays["untrained"] = [name for name, own in weights if own.grad is None]
    weights = [own for own in type(model)(model.config).parameters() if own.ndim > 1]
    arrays["drawn"] = max(float(own.detach().abs().max()) for own in weights)
    if "last_hidden_state" in found:
        twice = [model.train()(**features).last_hidden_state for _ in range(2)]
        arrays["trained"] = torch.stack(twice).detach().numpy()
    return model, arrays


def main(place):
    for path in sorted(pathlib.Path(place).glob("*/case.json")):
        folder = path.parent
        for implementation in ("eager", "sdpa"):
            model, arrays = outputs_of(folder, implementation)
            np.savez(folder / f"{implementation}.npz", **arrays)
        model.save_pretrained(folder / "again")


if __name__ == "__main__":
    main(sys.argv[1])
