"""Answers questions; --help and docs/reading_comprehension.md say how."""

from albert_tf.tasks.question_answering.flags import main

if __name__ == "__main__":
    main()
