"""A classifier of transformers in ONNX Runtime: fused, then in int8."""

import pathlib
import tempfile

import onnx
import onnxruntime
import torch
import transformers
from onnxruntime.quantization import QuantType
from onnxruntime.quantization import quantize_dynamic
from onnxruntime.transformers import optimizer

from benchmarks.measuring.turns import thread_counts

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class OnnxClassifier:
    """Answers texts as the pipeline of transformers does, one label and score for each.

    Args:
        config: an `AlbertConfig` of transformers.
        tokenizer: a tokenizer of it.

    Call: the arguments of the pipeline; it takes as many threads as PyTorch has.
    """

    def __init__(self, config, tokenizer):
        config._attn_implementation = "eager"  # what the optimizer knows
        model = transformers.AlbertForSequenceClassification(config).eval()
        self._tokenizer, self._labels = tokenizer, config.id2label
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name) / "model.onnx"
            _export(model, path)
            fused = optimizer.optimize_model(
                str(path),
                model_type="bert",
                num_heads=config.num_attention_heads,
                hidden_size=config.hidden_size,
            )
            fused.save_model_to_file(str(path))
            quantize_dynamic(
                path,
                path,
                per_channel=True,
                weight_type=QuantType.QInt8,
                extra_options={
                    "MatMulConstBOnly": True,
                    "DefaultTensorType": onnx.TensorProto.FLOAT,
                },
            )
            self._sessions = {n: _session(path, n) for n in thread_counts()}

    def __call__(self, texts, batch_size=1, truncation=True):
        session = self._sessions.get(torch.get_num_threads())
        session = session or next(iter(self._sessions.values()))
        names = {given.name for given in session.get_inputs()}
        found = []
        for start in range(0, len(texts), batch_size):
            batch = self._tokenizer(
                texts[start : start + batch_size],
                padding=True,
                truncation=truncation,
                return_token_type_ids=True,
                return_tensors="np",
            )
            (logits,) = session.run(None, {n: batch[n] for n in _INPUTS if n in names})
            shares = torch.softmax(torch.from_numpy(logits), -1).numpy()
            found += [
                {"label": self._labels[int(row.argmax())], "score": float(row.max())}
                for row in shares
            ]
        return found


def _export(model, path):
    ones = torch.ones([2, 8], dtype=torch.int64)
    free = {0: "batch", 1: "tokens"}
    torch.onnx.export(
        model,
        (ones, ones, ones * 0),
        str(path),
        input_names=list(_INPUTS),
        output_names=["logits"],
        dynamic_axes={**dict.fromkeys(_INPUTS, free), "logits": {0: "batch"}},
        opset_version=17,
        dynamo=False,
    )


def _session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(str(path), options)
