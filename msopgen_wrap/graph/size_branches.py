"""What a trace raises where the sizes of a call would decide what ``compute`` does."""

from __future__ import annotations


class SizeBranchError(Exception):
    """``compute`` branches on a size of an input.

    Args:
        why, fix: what to say of it.
    """

    def __init__(
        self,
        why: str = "the graph is traced once and its kernel serves every size",
        fix: str = "write it without the branch (torch.where, min, max), or make it an attr with "
        "`allowed:`",
    ) -> None:
        super().__init__(why)
        self.why, self.fix = why, fix
