"""docs/scaling.md has the figures of tools.scaling."""

import pytest

from tools import scaling


def rows(utilization, text):
    lines = [line for line in scaling.tables(utilization) if line.startswith("|")]
    return [line.strip("| ").split(" | ") for line in lines if text in line]


def test_the_page_is_up_to_date(project, monkeypatch, tmp_path):
    monkeypatch.chdir(project)
    page = (project / "docs" / "scaling.md").read_text()
    copy = tmp_path / "scaling.md"
    copy.write_text(page)
    scaling.write_page(scaling.ScalingOptions(document=str(copy)))
    assert copy.read_text() == page


def test_hours_are_tokens_by_flops_and_peak(project, monkeypatch):
    monkeypatch.chdir(project)
    for share in (0.25, 0.5):
        ((size, devices, *_, hours, rate, checkpoint),) = rows(
            share, "| large | TPU v3-8"
        )
        assert (size, devices, checkpoint) == ("large", "TPU v3-8", "0.2")
        # 512 million sequences of 512 tokens; 492 TFLOP/s at best.
        assert float(hours.replace(",", "")) == pytest.approx(706 * 0.4 / share, abs=1)
        read = 4096 * 125_000 * 512 / float(hours.replace(",", "")) / 3600 / 1e6
        assert float(rate) == pytest.approx(read, abs=0.006)


def test_static_records_are_made_for_several_passes():
    static, dynamic = rows(0.4, "16 GB")
    assert [static[3], dynamic[3]] == ["95 M", "9 M"]
    assert float(static[-1]) == pytest.approx(float(dynamic[-1]) / 10, abs=0.05)
