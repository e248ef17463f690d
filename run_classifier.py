"""Fine-tunes a text classifier; --help and docs/finetuning.md say how."""

from albert_tf.tasks.classification.flags import main

if __name__ == "__main__":
    main()
