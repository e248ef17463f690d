"""The public API as a user of a type checker calls it; `make lint` checks this file."""

import albert_tf
from albert_tf.answers import Answer


def classify(texts: list[str], labels: list[str]) -> str:
    """Returns a label: names, keywords and results have the types that are written."""
    classifier = albert_tf.TextClassifier("start", max_length=16, revision=None)
    history = classifier.fit(texts, labels, epochs=1, class_weight={"glad": 2.0})
    print(history.history)
    scores: dict[str, float] = classifier.evaluate(texts, labels)
    print(scores["accuracy"])
    print(classifier.predict(texts)[0]["probabilities"])
    print(classifier.predict("a fine plot")["label"])
    classifier.report(texts, labels).save("report.html")
    share: float = classifier.score(texts, labels)
    print(share, classifier.predict_proba(texts).shape, classifier.classes_)
    classifier.save_pretrained("tuned")
    predictor = albert_tf.Predictor("tuned")
    print(predictor(texts)[0]["label"], predictor(text=texts)[0]["label"])
    found: Answer = predictor(texts)[0]
    label: str = predictor("a fine film")["label"] or found["label"]
    return label


def embed(texts: list[str]) -> str:
    """Returns the text that is closest to the first."""
    embedder = albert_tf.TextEmbedder("vectors", prompts={"query": "query: "})
    print(embedder.encode(texts, prompt_name="query", prompt_type="query").shape)
    best: int = embedder.search(texts[0], texts)[0]["index"]
    print(embedder.search(texts, texts)[0][best]["similarity"])
    return embedder.rank(texts[0], texts, k=1)[0]["text"]


def load(path: str) -> albert_tf.AlbertModel:
    """Returns a model of a configuration and weights from a directory."""
    config = albert_tf.AlbertConfig.from_json_file(path).with_dropout(0.1)
    print(config.hidden_size + config.head_size, albert_tf.load_tokenizer(path))
    return albert_tf.AlbertModel.from_pretrained(path, verify_checksum=False)


def tokenize(path: str, texts: list[str]) -> list[list[int]]:
    """Returns ids of texts: the methods of a tokenizer have types, too."""
    tokenizer = albert_tf.load_tokenizer(path)
    features = tokenizer(texts, max_length=16, padding="max_length")
    print(features["input_ids"], tokenizer.vocab_size + 1)
    pieces: list[str] = tokenizer.tokenize(texts[0])
    ids, spans = tokenizer.encode_with_offsets(" ".join(pieces))
    print(ids[0] + spans[0][1])
    return tokenizer.encode_batch(texts)


def build(labels: list[str]) -> albert_tf.AlbertForSequenceClassification:
    """Returns a model with random weights: constructors have types, too."""
    config = albert_tf.AlbertConfig.released("base_v2")
    model = albert_tf.AlbertForSequenceClassification(
        config, labels=labels, classifier_dropout_prob=0.1
    )
    print(model.official_variables())
    return model
