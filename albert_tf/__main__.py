"""`python -m albert_tf COMMAND …`: the program `albert-tf`."""

from albert_tf.cli.commands import main

if __name__ == "__main__":
    main()
