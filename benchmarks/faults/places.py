"""Disks that are full, read-only or gone, and the same command once they are mended."""

import functools
import os
import shutil
import stat
import subprocess
import time

from benchmarks.faults import outcomes
from benchmarks.faults.processes import wait_for_change
from benchmarks.faults.results import fresh

_PART = "place"
FULL, READ_ONLY, VANISHED = "full disk", "read-only folder", "vanished folder"
# The share of the command's output that the disk has room for.
ROOM = (0.1, 0.4, 0.8)
_BLOCK = 4096
_ATTEMPTS = 4  # to remove a folder before the last file is written
# A process with mounts of its own: no other sees them, and they end with it.
_OWN_MOUNTS = ("unshare", "--mount", "sh", "-c")
_SMALL_DISK = """
room=$1 folder=$2 kept=$3; shift 3
mount -t tmpfs -o size="$room" tmpfs "$folder" || exit 99
"$@"; code=$?
cp -a "$folder/." "$kept"; exit $code
"""
_READ_ONLY_MOUNT = """
folder=$1; shift
mount --bind "$folder" "$folder" && mount -o remount,bind,ro "$folder" || exit 99
exec "$@"
"""
# No file may be larger: EFBIG in the place of ENOSPC.
_SMALL_FILES = 'ulimit -f "$1"; shift; exec "$@"'


@functools.cache
def can_mount():
    """Returns whether a disk can be mounted; else limits and permissions stand in."""
    command = [*_OWN_MOUNTS, "mount -t tmpfs -o size=4k tmpfs /mnt"]
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        return False


def attack(bench, program, fault):
    """Runs a program into a bad place, and again when the place is good."""
    rounds = ROOM if fault == FULL else (None,)
    for room in rounds:
        case = fault if room is None else f"{fault}, room for {room:.0%}"
        if bench.results.of(_PART, program.name, f"{case}, afterwards"):
            continue
        folder = fresh(bench.directory / "places" / program.name / fault)
        ended = _FAULTS[fault](bench, program, folder, room)
        reference = bench.reference(program).folder
        names = _differing(ended, folder, reference)
        verdict, note = judge(ended, names, folder, _was_whole(folder, reference))
        bench.results.add(_PART, program.name, case, verdict, note, code=ended.code)
        if verdict == "harmless":
            note = "nothing was left to do"
        else:
            again = bench.finish(program, folder)
            names = _differing(again, folder, reference)
            verdict, note = judge_again(again, names, folder, fault)
        bench.results.add(_PART, program.name, f"{case}, afterwards", verdict, note)


def _differing(ended, folder, reference):
    """Compares by `outcomes.differing`, unless the command failed part way."""
    return [] if ended.code else outcomes.differing(folder, reference)


def _removed(folder):
    """Returns the place to which a vanishing folder goes."""
    return folder.with_name(f"{folder.name}, removed")


def _was_whole(folder, reference):
    """Returns whether everything had been written when the folder vanished."""
    removed = _removed(folder)
    return removed.exists() and not outcomes.differing(removed, reference)


def judge(ended, differing, folder, was_whole=False):
    """Returns the verdict on a command that wrote into a bad place, and notes on it."""
    if ended.code == 0:
        verdict = "too late" if was_whole else "silent"
        return (verdict if differing else "harmless"), ", ".join(differing)
    if ended.sentence is None:
        return "traceback", ended.said[-2000:]
    named = str(folder) in ended.sentence
    return ("refused" if named else "unnamed"), ended.sentence


def judge_again(ended, differing, folder, fault):
    """Judges, as `judge`, the same command once the place is good.

    A vanished folder is lost: there the command may ask for another one.
    """
    if ended.code == 0:
        return ("differs" if differing else "equal"), ", ".join(differing)
    verdict, note = judge(ended, differing, folder)
    refused = verdict == "refused" and fault == VANISHED
    return ("refused" if refused else "differs"), note


def _full_disk(bench, program, folder, room):
    reference = bench.reference(program).folder
    sizes = [path.stat().st_size for path in reference.rglob("*") if path.is_file()]
    if not can_mount():
        blocks = max(1, int(room * max(sizes)) // 1024)
        wrapped = ("bash", "-c", _SMALL_FILES, "bash", str(blocks))
        return bench.finish(program, folder, wrapped)
    size = sum(_BLOCK * -(-size // _BLOCK) for size in sizes)
    room = max(_BLOCK, int(room * size))
    kept = fresh(folder.with_name("kept"))
    wrapped = (*_OWN_MOUNTS, _SMALL_DISK, "sh", str(room), str(folder), str(kept))
    ended = bench.finish(program, folder, wrapped)
    shutil.rmtree(folder)
    kept.rename(folder)
    return ended


def _read_only(bench, program, folder, _):
    if can_mount():
        wrapped = (*_OWN_MOUNTS, _READ_ONLY_MOUNT, "sh", str(folder))
        return bench.finish(program, folder, wrapped)
    os.chmod(folder, stat.S_IRUSR | stat.S_IXUSR)
    ended = bench.finish(program, folder)
    os.chmod(folder, stat.S_IRWXU)
    return ended


def _vanished(bench, program, folder, _):
    reference = bench.reference(program)
    latest = reference.working_seconds / 2
    for attempt in range(_ATTEMPTS):
        rng = bench.rng(program.name, VANISHED, attempt)
        with bench.started(program, fresh(folder)) as running:
            wait_for_change(folder, running)
            time.sleep(rng.uniform(0, latest))
            shutil.rmtree(_removed(folder), ignore_errors=True)
            folder.rename(_removed(folder))
            ended = [process.finish() for process in running][0]
        if ended.code or not _was_whole(folder, reference.folder):
            break
        latest /= 4
    return ended


_FAULTS = {FULL: _full_disk, READ_ONLY: _read_only, VANISHED: _vanished}
FAULTS = tuple(_FAULTS)
