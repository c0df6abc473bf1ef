"""Programs, projects and tests of others: find their sources, compile and run them."""
