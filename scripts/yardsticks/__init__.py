"""Yardsticks of ``coverage.py``: formulas that nobody here wrote, as specs."""
