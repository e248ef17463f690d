"""Property tests: strategies for their inputs, and a command that tries more inputs."""
