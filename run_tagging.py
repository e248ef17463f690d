"""Finds entities in texts; --help and docs/tagging.md say how."""

from albert_tf.tasks.tagging.flags import main

if __name__ == "__main__":
    main()
