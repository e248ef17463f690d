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
def manifests(project):
    """Reads a file of manifests: its objects by their kinds."""
    yaml = pytest.importorskip("yaml")

    def read(name):
        text = (project / "docs" / "kubernetes" / name).read_text(encoding="utf-8")
        return {found["kind"]: found for found in yaml.safe_load_all(text)}

    return read


def container(found):
    (only,) = found["spec"]["template"]["spec"]["containers"]
    return only


def options_of(found):
    """Reads the command of a manifest as `albert-tf` does."""
    name, *flags = container(found)["args"]
    assert name in COMMANDS
    return parse(_OPTIONS[name], [f"albert-tf {name}", *flags])


def test_every_pod_of_the_job_is_a_worker(manifests, monkeypatch):
    found = manifests("pretrain.yaml")
    job, service = found["Job"], found["Service"]
    options, spec = options_of(job), job["spec"]
    assert options.distribution_strategy == "multi_worker"
    workers = spec["completions"]
    assert spec["parallelism"] == workers and spec["completionMode"] == "Indexed"
    parts = workers * options.gradient_accumulation_steps
    assert options.train_batch_size % parts == 0
    (port,) = (port["port"] for port in service["spec"]["ports"])
    assert [{"containerPort": port}] == container(job)["ports"]
    name, subdomain = job["metadata"]["name"], spec["template"]["spec"]["subdomain"]
    assert subdomain == service["metadata"]["name"]
    assert service["spec"]["selector"] == {"job-name": name}
    # A variable is replaced by those that stand before it.
    index, config = container(job)["env"]
    assert "job-completion-index" in index["valueFrom"]["fieldRef"]["fieldPath"]
    for place in range(workers):
        value = config["value"].replace(f"$({index['name']})", str(place))
        hosts = [f"{name}-{i}.{subdomain}:{port}" for i in range(workers)]
        task = {"type": "worker", "index": place}
        assert json.loads(value) == {"cluster": {"worker": hosts}, "task": task}
    # The engine reads as many workers, none of which may train alone.
    monkeypatch.setenv(config["name"], value)
    with pytest.raises(UserError, match=f"TF_CONFIG names {workers} workers"):
        create_strategy("auto")


def test_the_probes_ask_what_the_server_answers(manifests):
    found = manifests("serve.yaml")
    deployment, service = found["Deployment"], found["Service"]
    options, pod = options_of(deployment), deployment["spec"]["template"]
    assert options.host == "0.0.0.0"
    (port,) = container(deployment)["ports"]
    assert port["containerPort"] == options.port
    (outside,) = service["spec"]["ports"]
    assert outside["targetPort"] == port["name"]
    labels = pod["metadata"]["labels"]
    assert service["spec"]["selector"] == labels
    assert deployment["spec"]["selector"]["matchLabels"] == labels
    about = pod["metadata"]["annotations"]
    assert about["prometheus.io/port"] == str(options.port)
    probes = ("startupProbe", "readinessProbe", "livenessProbe")
    asked = [container(deployment)[probe]["httpGet"] for probe in probes]
    assert {get["port"] for get in asked} == {port["name"]}
    paths = [get["path"] for get in asked] + [about["prometheus.io/path"]]
    model = options.export_dir.rpartition("/")[2]
    assert f"/v1/models/{model}" in paths
    with serving(Lengths()) as here:
        for path in paths:
            # The test's model is called m.
            url = f"http://127.0.0.1:{here}{path.replace(model, 'm')}"
            with urllib.request.urlopen(url, timeout=10) as answer:
                assert answer.status == 200
