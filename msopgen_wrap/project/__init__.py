"""A project: the files of all renderers as one tree, on disk and in its manifest."""
