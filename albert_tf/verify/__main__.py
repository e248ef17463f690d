"""`python -m albert_tf.verify`."""

from albert_tf.verify import main

main()
