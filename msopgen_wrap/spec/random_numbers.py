"""The functions that ``compute`` calls as ``opgen.<name>``: Philox4x32-10, loops, slices.

Random numbers are functions of a seed, an offset and the place of an element, so they have no state
and give the same numbers for any number of cores. Element ``i`` is word ``i % 4`` of the block that
Philox makes of the 128-bit counter ``[i / 4, offset]`` and the key ``seed`` (64 bits each, the low
word first). This is the layout in which torch_npu's graph mode calls ``StatelessRandomUniformV2``
(key ``[seed]``, counter ``[0, offset]``, algorithm Philox); TensorFlow documents that operator.

Generated torch packages contain a copy of this module.
"""

from __future__ import annotations

import math
from typing import Any

from msopgen_wrap.spec.loops import run_loop
from msopgen_wrap.spec.strided_slices import strided_slice
from msopgen_wrap.torch_import import torch

ROUNDS = 10
# Multipliers and key increments of Philox4x32 (Salmon et al., Parallel Random Numbers, 2011).
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
INCREMENTS = (0x9E3779B9, 0xBB67AE85)
_WORD = 0xFFFFFFFF
# A uniform number has the low bits of a word, as many as the mantissa of float32 stores.
_FRACTION_BITS = 23
_FRACTIONS = 1 << _FRACTION_BITS
# The least uniform number of which a logarithm is taken.
_LEAST = 1e-7
# The least probability by which dropout divides; at 0 no element is kept.
_LEAST_KEPT = 2.0**-100


def philox_words(index: Any, seed: int, offset: int) -> Any:
    """Return the word of every index as int32, in 64-bit integer arithmetic.

    Args:
        index: tensor of int32 or int64, not negative.
        seed, offset: integers of 64 bits.
    """
    index = index.to(torch.int64)
    block = index >> 2
    counter = [block & _WORD, block >> 32, offset & _WORD, (offset >> 32) & _WORD]
    keys = [seed & _WORD, (seed >> 32) & _WORD]
    for _ in range(ROUNDS):
        # int64 wraps: the bits of the product are those of the unsigned one
        even, odd = counter[0] * MULTIPLIERS[0], counter[2] * MULTIPLIERS[1]
        counter = [
            ((odd >> 32) & _WORD) ^ counter[1] ^ keys[0],
            odd & _WORD,
            ((even >> 32) & _WORD) ^ counter[3] ^ keys[1],
            even & _WORD,
        ]
        keys = [(key + step) & _WORD for key, step in zip(keys, INCREMENTS, strict=True)]
    lane = index & 3
    first = torch.where(lane == 0, counter[0], counter[1])
    second = torch.where(lane == 2, counter[2], counter[3])
    word = torch.where(lane < 2, first, second)
    return ((word ^ (1 << 31)) - (1 << 31)).to(torch.int32)


class RandomNumbers:
    """The functions under ``opgen`` in ``compute``.

    ``whole`` and ``largest`` are for tracers: their numbers may be symbols.
    """

    whole: Any = int
    largest: Any = max

    def loop(self, step: Any, states: Any, inputs: Any, reverse: bool = False) -> Any:
        """Return the results of a step at every place along the first axis: ``run_loop``."""
        return run_loop(step, states, inputs, reverse)

    def strided_slice(self, x: Any, *arguments: Any) -> Any:
        """Return what lists and masks cut from ``x``: ``strided_slices.slice_pieces``."""
        return strided_slice(x, *arguments)

    def philox(self, index: Any, seed: int, offset: int) -> Any:
        """Return 32 random bits per index as int32: ``philox_words``."""
        return philox_words(index, seed, offset)

    def positions(self, x: Any) -> Any:
        """Return the place of every element of ``x`` as int32: 0, 1, ... in C order.

        A tensor has fewer than 2**31 elements here.
        """
        return torch.arange(x.numel(), dtype=torch.int32, device=x.device).reshape(x.shape)

    def rand_like(self, x: Any, seed: int, offset: int) -> Any:
        """Return uniform float32 numbers in [0, 1) in the shape of ``x``, multiples of 2**-23."""
        return self._fractions(self.positions(x), seed, offset) * (1.0 / _FRACTIONS)

    def randn_like(self, x: Any, seed: int, offset: int) -> Any:
        """Return normal float32 numbers in the shape of ``x``: Box-Muller of pairs of words.

        Elements 2k and 2k + 1 are sine and cosine of the angle of word 2k + 1, times the radius of
        word 2k.
        """
        place = self.positions(x)
        first, odd = torch.bitwise_and(place, -2), torch.bitwise_and(place, 1)
        uniform = self._fractions(first, seed, offset) * (1.0 / _FRACTIONS)
        radius = torch.sqrt(torch.log(torch.clamp(uniform, min=_LEAST)) * -2.0)
        angle = self._fractions(first + 1, seed, offset) * (2.0 * math.pi / _FRACTIONS)
        return radius * torch.where(odd == 0, torch.sin(angle), torch.cos(angle))

    def bernoulli(self, p: Any, seed: int, offset: int) -> Any:
        """Return 1 with the probability that ``p`` has at the place, else 0, in its dtype."""
        return (self.rand_like(p, seed, offset) < p).to(p.dtype)

    def bernoulli_like(self, x: Any, p: float, seed: int, offset: int) -> Any:
        """Return a bool tensor in the shape of ``x``, true with probability ``p``.

        ``p`` is rounded down to a multiple of 2**-23.
        """
        # Whole numbers are compared, so that no rounding of p decides.
        limit = self.whole(p * _FRACTIONS)
        return self._fractions(self.positions(x), seed, offset) < limit

    def dropout(self, x: Any, p: float, seed: int, offset: int) -> Any:
        """Return ``x / (1 - p)`` where ``bernoulli_like(x, 1 - p, ...)`` holds, else 0.

        Backward makes the mask again from the seed.
        """
        kept = self.bernoulli_like(x, 1.0 - p, seed, offset)
        return torch.where(kept, x * (1.0 / self.largest(1.0 - p, _LEAST_KEPT)), 0.0)

    def _fractions(self, index: Any, seed: int, offset: int) -> Any:
        """Return whole numbers from 0 to 2**23 - 1 as float32."""
        words = self.philox(index, seed, offset)
        return torch.bitwise_and(words, _FRACTIONS - 1).to(torch.float32)


opgen = RandomNumbers()
