"""The Dockerfile and the manifests name what the package has."""

import json
import urllib.request

import pytest

from albert_tf.cli.command_line import parse
from albert_tf.cli.commands import COMMANDS
from albert_tf.commands.serve import ServeOptions
from albert_tf.engine.strategies import create_strategy
from albert_tf.errors import UserError
from albert_tf.pretraining.flags import PretrainingOptions
from tests.serving.served import Lengths
from tests.serving.served import serving

_OPTIONS = {"pretrain": PretrainingOptions, "serve": ServeOptions}


@pytest.fixture
def manifest(project):
    """Reads a file: its manifests by kind, its container, and that one's options."""
    yaml = pytest.importorskip("yaml")

    def read(name, kind):
        text = (project / "docs" / "kubernetes" / name).read_text(encoding="utf-8")
        found = {own["kind"]: own for own in yaml.safe_load_all(text)}
        (container,) = found[kind]["spec"]["template"]["spec"]["containers"]
        command, *flags = container["args"]
        assert command in COMMANDS
        options = parse(_OPTIONS[command], [f"albert-tf {command}", *flags])
        return found[kind], found["Service"], container, options

    return read


def test_every_pod_of_the_job_is_a_worker(manifest, monkeypatch):
    job, service, container, options = manifest("pretrain.yaml", "Job")
    assert options.distribution_strategy == "multi_worker"
    spec = job["spec"]
    workers = spec["completions"]
    assert spec["parallelism"] == workers and spec["completionMode"] == "Indexed"
    parts = workers * options.gradient_accumulation_steps
    assert options.train_batch_size % parts == 0
    (port,) = (port["port"] for port in service["spec"]["ports"])
    assert [{"containerPort": port}] == container["ports"]
    name, subdomain = job["metadata"]["name"], spec["template"]["spec"]["subdomain"]
    assert subdomain == service["metadata"]["name"]
    assert service["spec"]["selector"] == {"job-name": name}
    # A variable is replaced by those that stand before it.
    index, config = container["env"]
    assert "job-completion-index" in index["valueFrom"]["fieldRef"]["fieldPath"]
    hosts = [f"{name}-{i}.{subdomain}:{port}" for i in range(workers)]
    for place in range(workers):
        value = config["value"].replace(f"$({index['name']})", str(place))
        task = {"type": "worker", "index": place}
        assert json.loads(value) == {"cluster": {"worker": hosts}, "task": task}
    # The engine reads as many workers, none of which may train alone.
    monkeypatch.setenv(config["name"], value)
    with pytest.raises(UserError, match=f"TF_CONFIG names {workers} workers"):
        create_strategy("auto")


def test_the_probes_ask_what_the_server_answers(manifest):
    deployment, service, container, options = manifest("serve.yaml", "Deployment")
    assert options.host == "0.0.0.0"
    (port,), (outside,) = container["ports"], service["spec"]["ports"]
    assert port["containerPort"] == options.port
    assert outside["targetPort"] == port["name"]
    pod = deployment["spec"]["template"]["metadata"]
    assert service["spec"]["selector"] == pod["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == pod["labels"]
    assert pod["annotations"]["prometheus.io/port"] == str(options.port)
    probes = ("startupProbe", "readinessProbe", "livenessProbe")
    asked = [container[probe]["httpGet"] for probe in probes]
    assert {get["port"] for get in asked} == {port["name"]}
    paths = [get["path"] for get in asked] + [pod["annotations"]["prometheus.io/path"]]
    model = options.export_dir.rpartition("/")[2]
    assert f"/v1/models/{model}" in paths
    with serving(Lengths()) as here:  # where the model is called m
        for path in paths:
            url = f"http://127.0.0.1:{here}{path.replace(model, 'm')}"
            with urllib.request.urlopen(url, timeout=10) as answer:
                assert answer.status == 200
