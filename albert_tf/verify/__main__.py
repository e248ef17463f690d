"""`python -m albert_tf.verify`."""

from albert_tf.verify.command import main

main()
