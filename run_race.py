"""Chooses among options; --help and docs/multiple_choice.md say how."""

from albert_tf.tasks.multiple_choice.flags import main

if __name__ == "__main__":
    main()
