"""Retrieval: each question finds its paragraph or not."""

import json

import pytest

from benchmarks import retrieval


@pytest.mark.nightly
def test_each_way_has_a_row(saved_model, tmp_path, capsys):
    paragraphs = [
        {"context": text, "qas": [{"id": text, "question": text, "answers": []}]}
        for text in ("the film was bad", "a plot", "it is not good")
    ]
    data = {"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]}
    path = tmp_path / "dev.json"
    path.write_text(json.dumps(data))
    model, reranker = map(str, map(saved_model, ("similarity", "regression")))
    options = retrieval.Options(model, str(path), reranker, questions=2)
    retrieval.run(options)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "3 paragraphs, 2 questions"
    rows = {line[:16].strip(): line[16:].split() for line in lines[2:]}
    assert [*rows] == ["BM25", "vectors", "both", "both, reranked"]
    assert rows["vectors"][:3] == rows["BM25"][:3] == ["1.000"] * 3


def test_scores_of_ranks():
    assert retrieval._scores([1, 2, None, 4]).split() == ["0.250", "0.750", "0.438"]
