"""The page of all public names is what the tool makes of their docstrings."""

import albert_tf
from tools import api_page


def test_the_page_is_what_the_docstrings_say(project):
    written = (project / "docs" / "api.md").read_text(encoding="utf-8")
    assert written == api_page.page(), "run python -m tools.api_page"


def test_every_public_name_has_its_place():
    page = api_page.page()
    for name in albert_tf.__all__:
        assert f"### `albert_tf.{name}`\n" in page


def documented(rows, kind="a", *, seed=1):
    """Sums rows.

    Args:
        rows: float32 `[batch, tokens]`: each of them
            as it is.
        seed: an int.

    Returns:
        A dict:
            total: the sum
        and no more.

    Raises:
        tf.errors.OpError: no rows.

    Example:
        documented([[1]])

    All in one pass.
    """


def test_a_docstring_becomes_a_page(monkeypatch):
    monkeypatch.setattr(albert_tf, "documented", documented, raising=False)
    assert api_page._entry("albert_tf", "documented") == (
        "### `albert_tf.documented`\n\n"
        '```py\ndocumented(rows, kind="a", *, seed=1)\n```\n\n'
        "Sums rows.\n\n"
        "**Args:**\n\n"
        "- `rows`: float32 `[batch, tokens]`: each of them\n  as it is.\n"
        "- `seed`: an int.\n\n"
        "**Returns:** A dict:\n\n- `total`: the sum\n\nand no more.\n\n"
        "**Raises:**\n\n- `tf.errors.OpError`: no rows.\n\n"
        "**Example:**\n\n```py\ndocumented([[1]])\n```\n\n"
        "All in one pass.\n\n"
    )


def test_long_calls_and_data_classes_are_a_line_each():
    long = api_page._signature("f", lambda first_argument=1, second_argument=2: None)
    assert long == "f(first_argument=1, second_argument=2)"
    many = eval(f"lambda {', '.join(f'argument_{i}=None' for i in range(9))}: None")
    assert api_page._signature("f", many).splitlines()[:2] == [
        "f(",
        "    argument_0=None,",
    ]
    fields = api_page._declaration("AlbertConfig", albert_tf.AlbertConfig)
    assert "    hidden_size: int = 4096  # H\n" in fields and "def" not in fields


def test_the_command_writes_the_page(tmp_path):
    api_page.write_page(api_page.ApiPageOptions(str(tmp_path / "api.md")))
    assert (tmp_path / "api.md").read_text(encoding="utf-8") == api_page.page()
