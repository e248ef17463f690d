"""Creation of the `tf.distribute.Strategy` that flags ask for."""

import functools
import json
import os
import socket
import urllib.parse

import tensorflow as tf
from absl import logging

from albert_tf.errors import UserError
from albert_tf.layers.custom_gradient import kept_by_graph

_LOCAL_TPU = "local"
_TPU_PORT = 8470  # Cloud TPU's, if its address has none.
_ANSWER_SECONDS = 10
_WORKER_TYPES = ("chief", "worker")
_TF_CONFIG_EXAMPLE = (
    '{"cluster": {"worker": ["host0:2222", "host1:2222"]}, '
    '"task": {"type": "worker", "index": 0}}'
)
# Errors of the search for a TPU that does not exist.
_NO_TPU = (tf.errors.OpError, ImportError, KeyError, OSError, RuntimeError, ValueError)


def strategy_from(devices):
    """Returns the strategy that `DeviceFlags` ask for; see `create_strategy`.

    All runs of a process share it: workers and TPUs can be connected only once, and the
    collective operations of a second MirroredStrategy would mix with the first's.

    Raises:
        UserError: see `create_strategy`; or flags contradict each other.
    """
    name, tpu_name = devices.distribution_strategy, devices.tpu_name
    if devices.asks_tpu:
        if name not in ("auto", "tpu"):
            flag = f"--tpu_name={tpu_name}" if tpu_name else "--use_tpu"
            raise UserError(f"{flag} contradicts --distribution_strategy={name}.")
        name = "tpu"
    return _only_strategy(name, tpu_name, devices.tpu_zone, devices.gcp_project)


def create_strategy(name, tpu_name=None, tpu_zone=None, gcp_project=None):
    """Returns the strategy of `--distribution_strategy`.

    "multi_worker" and "tpu" must be created before TensorFlow runs anything else.

    The TPU code follows TensorFlow's recipe (resolver, connect, initialize, strategy),
    but no TPU was available to run it. Tests check that the training step compiles for
    TPUs (`docs/tpu.md`), and what happens without a TPU.

    Args:
        name: "auto" takes all GPUs, or the CPU if there are none; "cpu" the CPU;
            "mirrored" every GPU, or every logical CPU device if there are none;
            "multi_worker" the devices of all processes in the environment variable
            TF_CONFIG, each of which runs the same command; "tpu" all cores of a TPU.
        tpu_name: the TPU's name or gRPC address; None for the one attached to this
            machine.
        tpu_zone, gcp_project: the TPU's; by default this machine's.

    Raises:
        UserError: the TPU does not exist, TF_CONFIG is missing or malformed, or "auto"
            would let each worker in TF_CONFIG train alone.
    """
    if name == "tpu":
        strategy = _tpu(tpu_name or _LOCAL_TPU, tpu_zone, gcp_project)
    elif name == "multi_worker":
        if not _worker_count():
            raise UserError(
                "--distribution_strategy=multi_worker needs the environment variable "
                f"TF_CONFIG in every process, such as {_TF_CONFIG_EXAMPLE}; here it is "
                f"{os.environ.get('TF_CONFIG')!r}."
            )
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    else:
        strategy = _one_process(name)
    logging.info(
        "Training on %d replica(s); here: %s",
        strategy.num_replicas_in_sync,
        ", ".join(strategy.extended.worker_devices),
    )
    return strategy


def is_cpu(strategy):
    """Returns whether the replicas of a strategy run on CPUs."""
    return all(":CPU:" in device.upper() for device in strategy.extended.worker_devices)


def is_tpu(strategy):
    """Returns whether a strategy trains on a TPU, which compiles everything it runs."""
    return isinstance(strategy, tf.distribute.TPUStrategy)


def writes_outputs(strategy):
    """Returns whether this process is the one that writes files."""
    return strategy.extended.should_checkpoint


def replica_rows(strategy, batch):
    """Distributes the rows of a global batch to the replicas, with static shapes.

    An ordinary iterator is read and sliced on the host: unlike a distributed iterator,
    it can be saved, and each device receives only its own rows.

    Args:
        strategy: a `tf.distribute.Strategy`.
        batch: dict of tensors `[global batch, ...]`.

    Returns:
        Each replica's argument of `strategy.run`: dicts of `[rows, ...]`.
    """
    replicas = strategy.num_replicas_in_sync
    if replicas == 1:
        return batch
    size = next(iter(batch.values())).shape[0] // replicas

    def rows_of(context):
        start = context.replica_id_in_sync_group * size
        return {name: value[start : start + size] for name, value in batch.items()}

    return strategy.experimental_distribute_values_from_function(rows_of)


def sum_over_replicas(values):
    """Adds up a nest of tensors over all replicas; called inside `strategy.run`."""
    replica = tf.distribute.get_replica_context()
    return kept_by_graph(replica.all_reduce(tf.distribute.ReduceOp.SUM, values))


def _one_process(name):
    if name == "auto" and (workers := _worker_count()) > 1:
        raise UserError(
            f"TF_CONFIG names {workers} workers, each of which would train alone into "
            "the same --output_dir; pass --distribution_strategy=multi_worker to train "
            "together, or unset TF_CONFIG."
        )
    devices = tf.config.list_logical_devices("GPU")
    if name == "cpu" or (name == "auto" and not devices):
        return tf.distribute.OneDeviceStrategy("/cpu:0")
    if name == "auto" and len(devices) == 1:
        return tf.distribute.OneDeviceStrategy("/gpu:0")
    devices = devices or tf.config.list_logical_devices("CPU")
    return tf.distribute.MirroredStrategy([device.name for device in devices])


def _tpu(name, zone, project):
    try:
        _check_answers(name)
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(
            tpu=name, zone=zone, project=project
        )
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    except _NO_TPU as error:
        reason = str(error).partition("\n")[0].partition(". ")[0]
        raise UserError(
            f"The TPU {name!r} cannot be used ({reason}); pass --tpu_name=local on a "
            "TPU VM, or a TPU's name with --tpu_zone and --gcp_project, or train with "
            "another --distribution_strategy."
        ) from error


def _check_answers(name):
    """Raises OSError if nothing answers at an address; TensorFlow would hang."""
    if name.startswith("grpc://"):
        address = urllib.parse.urlsplit(name.partition(",")[0])
        place = address.hostname, address.port or _TPU_PORT
        socket.create_connection(place, _ANSWER_SECONDS).close()


def _worker_count():
    """Counts the workers in TF_CONFIG; 0 if it is missing or malformed."""
    try:
        cluster = json.loads(os.environ.get("TF_CONFIG") or "{}")["cluster"]
        return sum(len(cluster.get(kind, ())) for kind in _WORKER_TYPES)
    except (AttributeError, KeyError, TypeError, ValueError):
        return 0


_only_strategy = functools.cache(create_strategy)
