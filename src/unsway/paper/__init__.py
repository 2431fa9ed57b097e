"""The paper's experiments, written with the library's public names."""
