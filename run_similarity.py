"""Trains vectors of texts; --help and docs/vectors.md say how."""

from albert_tf.tasks.similarity.flags import main

if __name__ == "__main__":
    main()
