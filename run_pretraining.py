"""Pretrains ALBERT; --help and docs/pretraining.md say how."""

from albert_tf.pretraining.flags import main

if __name__ == "__main__":
    main()
