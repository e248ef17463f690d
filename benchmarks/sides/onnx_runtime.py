"""A classifier of transformers as a file, in int8 of ONNX Runtime or OpenVINO."""

import functools
import pathlib
import tempfile

import onnx
import torch
import transformers

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class OnnxClassifier:
    """Answers texts as the pipeline of transformers does, with PyTorch's threads.

    Args:
        config: an `AlbertConfig` of transformers.
        tokenizer: its tokenizer.
        runtime: "onnxruntime" or "openvino".
        counts: the numbers of threads.
        texts: what OpenVINO's ranges are measured on.
    """

    def __init__(self, config, tokenizer, runtime, counts, texts):
        config._attn_implementation = "eager"  # what the optimizer knows
        model = transformers.AlbertForSequenceClassification(config).eval()
        self._tokenizer, self._labels = tokenizer, config.id2label
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name) / "model.onnx"
            _export(model, path)
            if runtime == "openvino":
                from benchmarks.sides import openvino_runtime

                batches = [self._rows([text], True) for text in texts]
                opened = functools.partial(openvino_runtime.session_of, path, batches)
                self.description = "static int8 by NNCF"
            else:
                _fuse_in_int8(path, config)
                opened = functools.partial(_session, path)
                self.description = "int8, fused attention"
            self._sessions = {count: opened(count) for count in counts}

    def __call__(self, texts, batch_size=1, truncation=True):
        session = self._sessions[torch.get_num_threads()]
        found = []
        for start in range(0, len(texts), batch_size):
            batch = self._rows(texts[start : start + batch_size], truncation)
            logits = torch.from_numpy(session(batch))
            shares = torch.softmax(logits, -1).numpy()
            found += [
                {"label": self._labels[int(row.argmax())], "score": float(row.max())}
                for row in shares
            ]
        return found

    def _rows(self, texts, truncation):
        batch = self._tokenizer(
            texts,
            padding=True,
            truncation=truncation,
            return_token_type_ids=True,
            return_tensors="np",
        )
        return {name: batch[name] for name in _INPUTS}


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


def _fuse_in_int8(path, config):
    """Rewrites the file by the fusions of ONNX Runtime, and in int8."""
    from onnxruntime.quantization import QuantType
    from onnxruntime.quantization import quantize_dynamic
    from onnxruntime.transformers import optimizer

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


def _session(path, threads):
    """Returns a function from a dict of arrays to logits."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(path), options)
    names = {given.name for given in session.get_inputs()}

    def run(arrays):
        return session.run(None, {n: v for n, v in arrays.items() if n in names})[0]

    return run
