"""Tiny models of every task with random weights, and their exports.

Each is made once a session and shared by all tests, so that nobody may write into its
folder: a test that writes works on a copy (`shutil.copytree`).
"""

import pytest

_WORDS = ["the", "a", "film", "plot", "was", "is", "and", "good", "bad", "very", "not"]
_TASKS = {
    "classification": ("single_label", {"labels": ("no", "yes")}),
    "tagging": ("tagging", {"labels": ("O", "B-A", "I-A")}),
    "question_answering": ("squad_v1", {"doc_stride": 8, "max_query_length": 8}),
    "multiple_choice": ("multiple_choice", {}),
}


@pytest.fixture(scope="session")
def saved_model(tmp_path_factory, vocabulary, tiny_config):
    """Returns the folder of a tiny model of a kind: "pretraining" or a task's name."""
    folders = {}

    def make(kind):
        import albert_tf
        from albert_tf.tasks.registry import create_task

        folder = tmp_path_factory.mktemp(kind)
        (folder / "vocab.txt").write_text(vocabulary(_WORDS))
        tokenizer = albert_tf.load_tokenizer(folder / "vocab.txt")
        config = tiny_config(
            vocab_size=tokenizer.vocab_size,
            num_hidden_layers=1,
            max_position_embeddings=32,
        )
        if kind == "pretraining":
            model, info = albert_tf.AlbertForPreTraining(config), {}
        else:
            task_kind, fields = _TASKS[kind]
            task = create_task(task_kind, "custom", **fields)
            model = task.model_class(config, **task.model_arguments())
            info = {"task": task.to_dict(), "max_seq_length": 24}
        model.save_pretrained(folder / "model", tokenizer, info)
        return folder / "model"

    def saved(kind):
        if kind not in folders:
            folders[kind] = make(kind)
        return folders[kind]

    return saved


@pytest.fixture(scope="session")
def export_of(saved_model, tmp_path_factory):
    """Returns the folder of a version of `saved_model(kind)`, exported with options."""
    versions = {}

    def exported(kind, **options):
        from albert_tf.serving.export import ExportOptions
        from albert_tf.serving.export import export

        key = (kind, *sorted(options.items()))
        if key not in versions:
            target = tmp_path_factory.mktemp("export") / kind
            asked = ExportOptions(str(saved_model(kind)), str(target), **options)
            versions[key] = export(asked)
        return versions[key]

    return exported
