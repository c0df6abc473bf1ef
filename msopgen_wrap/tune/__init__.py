"""Search the knobs of a spec's ``schedule`` by the modelled time of its kernel (`opgen tune`)."""
