"""``compute`` to core ATen graphs: variants, sample shapes, tracing with symbolic attrs."""
