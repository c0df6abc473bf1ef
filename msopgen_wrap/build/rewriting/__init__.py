"""C++ that the device's compiler accepts and g++ does not, rewritten in copies of the sources."""
