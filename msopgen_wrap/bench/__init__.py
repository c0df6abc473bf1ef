"""Times and memory of an op beside its peers: eager PyTorch and a plain C++ extension."""
