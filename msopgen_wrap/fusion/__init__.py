"""Fusion of a model: subgraphs equal to an op's ``compute`` are replaced by the op."""
