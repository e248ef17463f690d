"""Notebooks as Markdown, with the outputs that their files hold."""

import json


def as_markdown(path):
    """Returns the cells of a notebook and their outputs."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(part for cell in cells for part in _parts(cell)) + "\n"


def _parts(cell):
    """Yields the Markdown of a cell, then of its outputs."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    magic, _, rest = source.partition("\n")
    is_shell = magic == "%%bash"
    yield f"```{'bash' if is_shell else 'python'}\n{rest if is_shell else source}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "image/png" in data:
            yield f"![](data:image/png;base64,{data['image/png'].strip()})"
        else:
            shown = "".join(output.get("text") or data["text/plain"])
            yield f"```text\n{shown.rstrip()}\n```"
