"""The public API as a user of a type checker calls it; `make lint` checks this file."""

import albert_tf


def classify(texts: list[str], labels: list[str]) -> str:
    """Returns a label: names, keywords and results have the types that are written."""
    classifier = albert_tf.TextClassifier("start", max_length=16, revision=None)
    history = classifier.fit(texts, labels, epochs=1, class_weight={"glad": 2.0})
    print(history.history)
    scores: dict[str, float] = classifier.evaluate(texts, labels)
    print(scores["accuracy"])
    classifier.save_pretrained("tuned")
    answer = albert_tf.Predictor("tuned")("a fine film")
    assert isinstance(answer, dict)
    return answer["label"]


def load(path: str) -> albert_tf.AlbertModel:
    """Returns a model of a configuration and weights from a directory."""
    config = albert_tf.AlbertConfig.from_json_file(path).with_dropout(0.1)
    print(config.hidden_size + config.head_size, albert_tf.load_tokenizer(path))
    return albert_tf.AlbertModel.from_pretrained(path, verify_checksum=False)
