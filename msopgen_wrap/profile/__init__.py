"""What ``opgen profile`` shows of the modelled time of kernels; the model itself is C++."""
