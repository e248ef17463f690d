"""Results, a line of JSON for each case, with which a later run continues."""

import collections
import json
import pathlib
import shutil
import threading

from benchmarks.measuring import figures

# The meaning of each verdict; the first ones are promised.
KEPT = {
    "killed": "killed in the course of its work",
    "equal": "equal to what no fault has touched, bit for bit, on the same machine and "
    "threads",
    "refused": "one sentence that names what is wrong",
    "harmless": "the result is the same",
    "too late": "the folder was removed after the last file was written",
    "warned": "a warning that names the file, which is then not used",
}
BROKEN = {
    "differs": "another result",
    "silent": "another result, without an error",
    "unnamed": "an error that does not name the file",
    "traceback": "no sentence, or a crash",
    "hangs": "did not end in time",
    "orphans": "left processes behind",
}


class Results:
    """Notes each case in `results.jsonl`, from several threads."""

    def __init__(self, directory):
        self._path = directory / "results.jsonl"
        self._lock = threading.Lock()
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        self.cases = [json.loads(line) for line in lines if line.endswith("}")]

    def add(self, part, name, case, verdict, note="", **facts):
        """Notes a case."""
        entry = {"part": part, "name": name, "case": case, "verdict": verdict}
        entry |= {"note": note, **facts}
        with self._lock, self._path.open("a") as file:
            self.cases.append(entry)
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")

    def of(self, part, name, case=None):
        """Lists the cases that were noted under these names."""
        with self._lock:
            return [
                entry
                for entry in self.cases
                if (entry["part"], entry["name"]) == (part, name)
                and case in (None, entry["case"])
            ]

    def broken(self):
        """Lists the cases in which a promise was broken."""
        return [entry for entry in self.cases if entry["verdict"] in BROKEN]

    def table(self):
        """Returns the verdicts' counts as a table in Markdown, and their meaning."""
        counts = collections.defaultdict(collections.Counter)
        for entry in self.cases:
            counts[entry["part"], entry["name"]][entry["verdict"]] += 1
        rows = []
        for names, found in counts.items():
            shown = [f"{count} {verdict}" for verdict, count in found.items()]
            rows.append([*names, ", ".join(shown)])
        lines = [*figures.markdown(["attack", "on", "outcome"], rows), ""]
        for verdict, meaning in {**KEPT, **BROKEN}.items():
            if any(verdict in verdicts for verdicts in counts.values()):
                lines.append(f"* {verdict}: {meaning}")
        return "\n".join(lines)


def fresh(path):
    """Makes an empty folder of that name, as a `pathlib.Path`."""
    shutil.rmtree(path, ignore_errors=True)
    path = pathlib.Path(path)
    path.mkdir(parents=True)
    return path
