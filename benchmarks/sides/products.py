"""The limit of benchmarks.serving: a model's products alone, in ONNX Runtime's int8.

The setting has model_dir, texts (a JSON file, whose requests have the shapes of their
batches) and cores. A product is a `MatMulInteger` of bytes into numbers that lie there:
nothing is rounded, scaled or normalized. Attention's products of activations, which an
int8 file computes in float32, are left out.
"""

import json
import os

import numpy as np
import onnx
import onnxruntime

from albert_tf.config import AlbertConfig
from benchmarks.measuring import turns


def main(setting):
    """Answers requests with times."""
    os.sched_setaffinity(0, range(setting["cores"]))
    with open(setting["texts"], encoding="utf-8") as file:
        requests = json.load(file)
    path = os.path.join(setting["model_dir"], "albert_config.json")
    config = AlbertConfig.from_json_file(path)
    session, layers = _session(config, setting["cores"]), config.num_hidden_layers
    runs = {
        name: [_bound(session, rows * tokens) for rows, tokens in request["shapes"]]
        for name, request in requests.items()
    }

    def take_turn(line):
        name, repeats = line.split()

        def one_pass():
            for binding in runs[name]:
                for _ in range(layers * config.inner_group_num):
                    session.run_with_iobinding(binding)

        one_pass()
        return turns.seconds_of_passes(one_pass, int(repeats))

    kind = f"onnxruntime {onnxruntime.__version__}, int8"
    return take_turn, dict.fromkeys(requests, kind)


def _session(config, threads):
    """Makes a session of a block's products, each with inputs of its own."""
    rng, nodes, kernels, inputs, outputs = np.random.default_rng(1), [], [], [], []
    value = onnx.helper.make_tensor_value_info
    parts = config.block_products().values()
    sizes = [sizes for products in parts for sizes in products.values()]
    for number, (width, units) in enumerate(sizes):
        kernel = rng.integers(-64, 64, (width, units), "int8", endpoint=True)
        kernels.append(onnx.numpy_helper.from_array(kernel, f"kernel_{number}"))
        names = [f"input_{number}", f"output_{number}"]
        inputs.append(value(names[0], onnx.TensorProto.UINT8, ["rows", width]))
        outputs.append(value(names[1], onnx.TensorProto.INT32, ["rows", units]))
        nodes.append(
            onnx.helper.make_node(
                "MatMulInteger", [names[0], f"kernel_{number}"], [names[1]]
            )
        )
    graph = onnx.helper.make_graph(nodes, "products", inputs, outputs, kernels)
    model = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def _bound(session, rows):
    """Binds inputs of some rows, and places for the outputs."""
    binding = session.io_binding()
    for given in session.get_inputs():
        values = np.full((rows, given.shape[1]), 7, "uint8")
        binding.bind_cpu_input(given.name, values)
    for output in session.get_outputs():
        values = np.empty((rows, output.shape[1]), "int32")
        place = onnxruntime.OrtValue.ortvalue_from_numpy(values)
        binding.bind_ortvalue_output(output.name, place)
    return binding
