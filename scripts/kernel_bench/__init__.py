"""Tasks of kernel benchmarks: compile an answer, run its cases, compare with the reference."""
