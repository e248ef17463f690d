"""A run that is interrupted takes its workers along, and goes on where it stopped."""

import contextlib
import dataclasses
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from unittest import mock

import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from data_pipeline.create_pretraining_data import create_pretraining_data
from data_pipeline.shards import making
from data_pipeline.shards import workers
from data_pipeline.shards import writing
from tests.child_processes import SECONDS
from tests.child_processes import children_of
from tests.child_processes import is_alive
from tests.child_processes import needs_proc
from tests.child_processes import wait_until

_SHARDS = {"num_shards": 3, "held_out_fraction": 0.2}
_FOUR = {"num_shards": 4}
_HELD = str(pathlib.Path(__file__).with_name("held_workers.py"))


@pytest.fixture(scope="module")
def two_shards(options_in, tmp_path_factory):
    """A folder with two of three shards, whose maker was interrupted."""
    folder = tmp_path_factory.mktemp("parts")

    def interrupted(options, files, paths, waiting, finished):
        workers.write_shards(options, files, paths, waiting[:2], finished)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        create_pretraining_data(options_in(folder, **_SHARDS), interrupted)
    return folder


@pytest.fixture
def unfinished(two_shards, made, options_in, tmp_path):
    """A folder of a whole data set, a copy of `two_shards`, and the copy's options."""
    parts = shutil.copytree(two_shards, tmp_path / "parts")
    return made(**_SHARDS), parts, options_in(parts, **_SHARDS)


def test_interrupted_work_goes_on_shard_by_shard(unfinished, monkeypatch, digests):
    whole, parts, options = unfinished
    assert not (parts / "dataset_info.json").exists()
    with pytest.raises(UserError, match="holds shards made with other input or flags"):
        create_pretraining_data(dataclasses.replace(options, ngram=2))
    with pytest.raises(UserError, match="x-00002-of-00003.tfrecord changed or vanish"):
        create_pretraining_data(options, lambda *_: None)
    write_shard = mock.Mock(wraps=writing.write_shard)
    monkeypatch.setattr(workers, "write_shard", write_shard)
    create_pretraining_data(options)
    assert [call.args[2] for call in write_shard.call_args_list] == [2]
    assert digests(parts) == digests(whole)


@pytest.mark.parametrize(
    "changes", [{}, {"across_documents": False}, {"break_sentences": True}]
)
def test_shards_of_versions_without_a_flag_are_kept(make_options, monkeypatch, changes):
    monkeypatch.setattr(making.checksums, "of_json", lambda values: values)
    options = make_options(sentence_objective="none", **changes)
    values = making._digest(options, [], ["out/a", "out/b"])
    assert {"across_documents", "break_sentences"} & {*values} == {*changes}
    assert (values["shards"], values["files"]) == (["a", "b"], [])


def test_finished_shards_that_are_gone_or_cut_are_made_again(unfinished, digests):
    """And what killed workers leave is removed."""
    whole, parts, options = unfinished
    (parts / "x-00000-of-00003.tfrecord").unlink()
    cut = parts / "held_out" / "x-00001-of-00003.tfrecord"
    cut.write_bytes(cut.read_bytes()[:-100])
    leftover = writing.temporary_name(str(parts / "x-00002-of-00003.tfrecord"))
    pathlib.Path(leftover).write_bytes(b"half")
    (parts / "mine.incomplete").write_bytes(b"of somebody else")
    create_pretraining_data(options)
    (parts / "mine.incomplete").unlink()
    assert digests(parts) == digests(whole)


@pytest.mark.parametrize("damage", [b"\xff\xfe", b"[1]", None])
def test_a_damaged_memory_of_a_shard_is_made_again(unfinished, digests, damage):
    whole, parts, options = unfinished
    path = parts / ".unfinished" / "1.json"
    if damage is None:  # a count is another
        damage = path.read_bytes().replace(b'"tokens": ', b'"tokens": 1')
        assert damage != path.read_bytes()
    path.write_bytes(damage)
    create_pretraining_data(options)
    assert digests(parts) == digests(whole)


def test_text_that_was_edited_meanwhile(unfinished, corpus_file):
    """To the same number of bytes and within a second; finished shards hold the old."""
    _, _, options = unfinished
    text = corpus_file.read_bytes()
    place = os.stat(corpus_file)
    try:
        corpus_file.write_bytes(text.replace(b"cat", b"dog"))
        os.utime(corpus_file, ns=(place.st_atime_ns, place.st_mtime_ns ^ 1))
        with pytest.raises(UserError, match="holds shards made with other input or fl"):
            create_pretraining_data(options)
    finally:
        corpus_file.write_bytes(text)
        os.utime(corpus_file, ns=(place.st_atime_ns, place.st_mtime_ns))


def test_files_are_on_the_disk_before_they_have_their_names(
    make_options, out, monkeypatch
):
    """Or a power failure could leave the name, and half of what it names."""
    order = []
    fsync, rename, replace = os.fsync, tf.io.gfile.rename, os.replace

    def synced(descriptor):
        order.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    def noted(rename):
        def renamed(source, target, **options):
            assert order[-1] == os.path.realpath(source)
            order.append(os.path.basename(target))
            rename(source, target, **options)

        return renamed

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(tf.io.gfile, "rename", noted(rename))
    monkeypatch.setattr(os, "replace", noted(replace))
    create_pretraining_data(make_options())
    names = ["x.tfrecord", "0.json", "dataset_info.json", "SHA256SUMS"]
    assert order[1::2] == names


@pytest.fixture
def start(make_options, out, project):
    """Starts the command with two workers, which stay in their shards if `held`.

    It and its workers are killed at the end if need be.
    """
    options = make_options()
    flags = ("input_file", "output_file", "spm_model_file", "max_seq_length")
    of_options = [f"--{name}={getattr(options, name)}" for name in flags]
    of_options += ["--dupe_factor=2", "--num_shards=4", "--workers=2"]
    # Not the level of the suite's, for which TensorFlow says nothing anyway.
    kept = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}
    path = os.pathsep.join([str(project), os.environ["PYTHONPATH"]])
    processes = []

    def run(held=False):
        program = (_HELD,) if held else ("-m", "data_pipeline.create_pretraining_data")
        processes.append(
            subprocess.Popen(
                [sys.executable, *program, *of_options],
                cwd=project,
                env={**kept, "PYTHONPATH": path},
                start_new_session=True,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return processes[-1]

    yield run
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stderr.close()


@needs_proc
@pytest.mark.slow
def test_workers_say_nothing_and_do_not_change_a_byte(start, made, out, digests):
    process, seen = start(), set()
    while process.poll() is None:
        seen |= set(children_of(process.pid))
        time.sleep(0.1)
    printed = process.stderr.read()
    assert process.returncode == 0 and len(seen) >= 3  # and one that cleans up
    own = re.compile(r"\d\d:\d\d:\d\d ")
    foreign = [line for line in printed.splitlines() if not own.match(line)]
    assert printed and not foreign
    assert digests(out) == digests(made(**_FOUR))


def _press_ctrl_c(process):
    """Sends the signal as a terminal does, to the workers too."""
    os.killpg(process.pid, signal.SIGINT)


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize(
    ("stop", "files", "status"),
    [
        pytest.param(
            subprocess.Popen.kill, 2, -signal.SIGKILL, marks=pytest.mark.nightly
        ),
        # While the workers start: they, and the process that cleans up after them.
        (subprocess.Popen.terminate, 0, 143),
        pytest.param(_press_ctrl_c, 2, 130, marks=pytest.mark.nightly),
    ],
)
def test_workers_end_with_their_run(
    start, make_options, out, made, digests, stop, files, status
):
    process = start(held=files > 0)
    wait_until(lambda: len(children_of(process.pid)) >= 3)
    wait_until(lambda: len(list(out.glob("x-*.incomplete"))) >= files)
    children = children_of(process.pid)
    assert len([pid for pid in children if is_alive(pid)]) >= 2
    stop(process)
    _, printed = process.communicate(timeout=SECONDS)
    wait_until(lambda: not any(map(is_alive, children)))
    assert process.returncode == status
    assert "Traceback" not in printed
    assert not (out / "dataset_info.json").exists()
    if status > 0:
        assert f"stopped: finished files are kept in {out}\n" in printed
        assert f"\nTo continue, run: {shlex.join(process.args)}\n" in printed
        assert not list(out.rglob("*.incomplete"))

    create_pretraining_data(make_options(**_FOUR))
    assert digests(out) == digests(made(**_FOUR))
