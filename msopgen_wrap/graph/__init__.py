"""``compute`` to core ATen graphs: variants, sample shapes, tracing with symbolic sizes and attrs."""
