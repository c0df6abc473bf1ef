"""Train two steps with the op, and compare loss and gradients with plain PyTorch."""

import example
import torch
from torch.nn import functional


class GatedRmsNorm(torch.nn.Module):
    """Rows of ``width`` elements, normalised and gated."""

    def __init__(self, width: int, fused: bool) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))
        self.gate = torch.nn.Linear(width, width)
        self.fused = fused

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return ``rms_norm(x) * silu(gate(x))``."""
        gate = self.gate(x)
        if self.fused:
            return torch.ops.example.gated_rms_norm(x, gate, self.weight, 1e-6)
        rstd = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
        return x * rstd * self.weight * functional.silu(gate)


def train(fused: bool) -> tuple[list[float], torch.Tensor]:
    """Return the losses of two steps and the last gradient of the weight."""
    torch.manual_seed(0)
    model = GatedRmsNorm(384, fused)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    x, target = torch.randn(64, 384), torch.randn(64, 384)
    losses = []
    for _ in range(2):
        optimiser.zero_grad()
        loss = functional.mse_loss(model(x), target)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses, model.weight.grad


fused, plain = train(True), train(False)
assert example.last_backend() is not None, "the kernel did not run"
torch.testing.assert_close(fused[0], plain[0], rtol=1e-4, atol=1e-5)
torch.testing.assert_close(fused[1], plain[1], rtol=1e-3, atol=1e-5)
print("losses", fused[0], "as PyTorch's; forward by", example.last_backend())
