"""Compiles programs for a TPU on a machine without one.

TensorFlow lowers a function to HLO, jaxlib turns it into StableHLO, and libtpu compiles
that for a topology. All private interfaces that this takes are in this file; verified
with tensorflow 2.21.0, jax 0.10.2 and libtpu 0.0.51.
"""

import dataclasses
import importlib.util
import os
import re

import numpy as np

from albert_tf.errors import UserError

DEVICE_MEMORY = {"v4": 16, "v5e": 16, "v5p": 95, "v6e": 32}
"""Memory of a device in GB. A device is a chip, or one of the two cores of a v4."""

_ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu",
    # No device is opened, so that several processes may compile at once.
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    # Otherwise libtpu asks a metadata server which machine this is.
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v4-8",
    "TPU_WORKER_HOSTNAMES": "localhost",
}
_LEAST_EFFORT = 9  # EFFORT_O0 of XLA's ExecutionOptions
_UNIT = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_OUT_OF_MEMORY = re.compile(
    r"\(([\d.]+)([KMGT]?)\) exceeds available HBM \(([\d.]+)([KMGT]?)\)"
)


@dataclasses.dataclass(frozen=True)
class TpuProgram:
    """The compiler's report on a program for one device of a topology."""

    used_bytes: int
    """Total HBM of the program."""
    argument_bytes: int | None = None
    """The part for arguments, including weights and optimizer state."""
    temporary_bytes: int | None = None
    """The part for intermediate results."""
    flops: float | None = None
    """Floating-point operations, the body of a loop counted once."""
    available_bytes: int | None = None
    """Available HBM; only known if the program needs more."""

    @property
    def fits(self):
        """True for a program that fits into the memory of the chip."""
        return self.available_bytes is None


def compile_for_tpu(hlo, topology, quick=False):
    """Compiles a program for one device of a topology.

    Args:
        hlo: a serialised HLO module.
        topology: such as "v5e:2x2" or "v4:2x2x1".
        quick: with the compiler's least effort, which takes other memory.

    Returns:
        A `TpuProgram`; where it does not fit, without the sizes of its parts.

    Raises:
        UserError: the packages are missing, the topology is unknown, or the compiler
            refuses an operation of the program.
    """
    device = tpu_device(topology)
    from jax.errors import JaxRuntimeError

    try:
        executable = _compile(hlo, device, quick)
    except JaxRuntimeError as error:
        return _too_large(error, quick)
    sizes = executable.get_compiled_memory_stats()
    results = sizes.output_size_in_bytes - sizes.alias_size_in_bytes
    arguments, temporaries = sizes.argument_size_in_bytes, sizes.temp_size_in_bytes
    return TpuProgram(
        used_bytes=arguments
        + results
        + temporaries
        + sizes.generated_code_size_in_bytes,
        argument_bytes=arguments,
        temporary_bytes=temporaries,
        flops=executable.cost_analysis()["flops"],
    )


def _too_large(error, quick):
    """Reads how much was too much out of the compiler's message, or gives it on."""
    found = _OUT_OF_MEMORY.search(str(error))
    if not found:
        line = str(error).splitlines()[0]
        hint = "; it may take it without --quick" if quick else ""
        raise UserError(f"The TPU compiler refuses the step: {line}{hint}") from error
    used, available = (int(float(found[i]) * _UNIT[found[i + 1]]) for i in (1, 3))
    return TpuProgram(used_bytes=used, available_bytes=available)


def chip(topology):
    """Returns the kind of chip of a topology: "v5e" of "v5e:2x2".

    Raises:
        UserError: it is none of `DEVICE_MEMORY`.
    """
    name = topology.split(":")[0]
    if name not in DEVICE_MEMORY:
        raise _unknown(topology)
    return name


def _unknown(topology):
    return UserError(
        f"--topology={topology} is unknown; write a chip ({', '.join(DEVICE_MEMORY)}) "
        "and its grid, such as v5e:2x2, v6e:2x2 or v4:2x2x1."
    )


def tpu_device(topology):
    """Describes the first device of a topology, such as "v5e:2x2".

    Raises:
        UserError: the topology is unknown, or the packages are missing.
    """
    chip(topology)
    for name in ("jax", "libtpu"):
        if importlib.util.find_spec(name) is None:
            raise UserError(
                f"The package {name} is missing: the TPU compiler comes with "
                "pip install 'albert-tf[tpu_check]'."
            )
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    from jax.errors import JaxRuntimeError
    from jax.experimental import topologies

    try:
        description = topologies.get_topology_desc(
            platform="tpu", topology_name=topology
        )
    except (JaxRuntimeError, ValueError, NotImplementedError) as error:
        raise _unknown(topology) from error
    return description.devices[0]


def _compile(hlo, device, quick):
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jax._src.lib.mlir import ir
    from jaxlib import _jax

    options = xla_client.CompileOptions()
    options.executable_build_options.num_replicas = 1
    options.executable_build_options.num_partitions = 1
    if quick:
        options.executable_build_options.optimization_level = _LEAST_EFFORT
    options.device_assignment = xla_client.DeviceAssignment.create(
        np.array([[device.id]])
    )
    context = mlir.make_ir_context()
    with context:
        context.allow_unregistered_dialects = True
        converted = xla_client._xla.mlir.hlo_to_stablehlo(hlo)
        text = str(ir.Module.parse(converted))
        # An identity that StableHLO does not have.
        text = re.sub(
            r"mhlo\.copy (%\S+) : (tensor<[^>]*>)",
            r"stablehlo.reshape \1 : (\2) -> \2",
            text,
        )
        module = ir.Module.parse(text)
        return device.client.compile(module, _jax.DeviceList((device,)), options)
