"""What make check leaves out is named in a file, and is there."""


def test_every_slow_test_is_there(project):
    names = (project / "tests" / "slow.txt").read_text().split()
    assert names == sorted(set(names))
    for name in names:
        path, _, function = name.partition("::")
        assert f"def {function}(" in (project / path).read_text(), name
