"""A program that spawns two processes with npu tensors; "plain" leaves activation to opgen exec."""

import multiprocessing
import sys

if "plain" not in sys.argv:
    import msopgen_wrap.npu  # noqa: F401
import torch


def work(queue, rank: int) -> None:
    """Put (rank, a sum computed on the device)."""
    x = torch.full((4,), float(rank), device="npu")
    queue.put((rank, (x * 2).sum().item()))


def main() -> None:
    """Start both, print their results in rank order."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    children = [context.Process(target=work, args=(queue, rank)) for rank in range(2)]
    for child in children:
        child.start()
    results = sorted(queue.get(timeout=200) for _ in children)
    for child in children:
        child.join()
        assert child.exitcode == 0
    print("spawned", [value for _, value in results])


if __name__ == "__main__":
    main()
