"""DataLoader workers that move tensors to the NPU; the start method is the first argument."""

from __future__ import annotations

import sys

import torch
from torch.utils.data import DataLoader, Dataset


class OnNpu(Dataset):
    """Items that a worker makes on the device."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((3,), float(index)).npu() * 2


def child(shared: torch.Tensor) -> None:
    """Write into a tensor of the parent's."""
    shared += 1
    torch.npu.synchronize()


if __name__ == "__main__":
    method = sys.argv[1]
    loader = DataLoader(
        OnNpu(), batch_size=2, num_workers=2, multiprocessing_context=method, timeout=120
    )
    try:
        print("loaded", [(x.device.type, x.sum().item()) for x in loader])
    except RuntimeError as error:
        print("error", str(error).strip().split("\n")[-1])
    if method == "spawn":
        shared = torch.zeros(5, device="npu")
        process = torch.multiprocessing.get_context("spawn").Process(target=child, args=(shared,))
        process.start()
        process.join()
        print("shared", process.exitcode, shared.tolist())
