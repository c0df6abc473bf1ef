"""The ops in frameworks other than torch: generated C++ over the package's own aclnn functions."""
