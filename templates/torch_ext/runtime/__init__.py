"""What the generated ops share: the C++ binding, checks, gradients and export. Needs only torch."""
