"""`python -m albert_tf.serving.export`."""

from albert_tf.serving.export import main

main()
