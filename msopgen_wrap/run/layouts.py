"""Shapes that break kernels, for every rank: what the case grid is made of. Pure data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Shape = tuple[int, ...]
MAX_RANK = 8
# So few cores share a tensor of SEVERAL elements that each has several tiles of it.
FEW_CORES = 3
SEVERAL = 61 * 1031


@dataclass(frozen=True)
class Layout:
    """A shape to try.

    Attributes:
        cores: 0 lets tiling see all cores, else how many.
        several: it is there so that several cores have several tiles each; an op whose rules make
            it smaller gets a larger one.
    """

    shape: Shape
    cores: int = 0
    several: bool = False


# Bare sizes first, then the layouts that break kernels: empty, one element, primes, last axes just
# under, at and over a 32-byte block, long rows, many short rows, high rank.
_MIXED: tuple[Shape, ...] = (
    (1, 1),
    (13, 7),
    (16, 8),
    (5, 32),
    (97, 1),
    (3, 20000),
    (1023,),
    (2, 3, 5, 7),
    (),
    (0,),
    (4, 0, 3),
    (1,),
    (257, 129),
    (8, 16, 33),
    (2, 1, 2, 3, 1, 2, 1, 3),
    (4099,),
)
_MANY: Shape = (512, 1031)
# Rows of several tiles: few for the cores there are, and one that the cores share.
_LONG_ROWS: tuple[Shape, ...] = ((7, 20011), (1, 100003))
_LEAD: Shape = (2, 3, 1, 2, 1, 2)  # axes before the last two
SPECIAL: Shape = (7, 77)


def layouts(ranks: Sequence[int]) -> list[Layout]:
    """Return the layouts for the ranks that an input may have.

    An input of any rank gets a mix of ranks and a small set for each; one of few ranks gets all of
    it for each of these.
    """
    found: list[Layout] = []
    if {1, 2, 3, 4} <= set(ranks):
        found += [Layout(s) for s in _MIXED if len(s) in ranks]
        found += [Layout(_MANY, cores, True) for cores in (0, 1, FEW_CORES)]
        found += [Layout(s, FEW_CORES) for s in _LONG_ROWS]
        for rank in ranks:
            found += _small_set(rank)
    else:
        for rank in ranks:
            found += _full_set(rank)
    return list(dict.fromkeys(found))


def variant_layouts(ranks: Sequence[int]) -> list[Layout]:
    """Return the layouts that every variant of an op (attr values, absent inputs) is tried on."""
    if {2, 3, 4} <= set(ranks):
        shapes: list[Shape] = [(13, 7), (5, 32), (2, 3, 5, 7), (8, 16, 33)]
    else:
        shapes = [s for rank in list(ranks)[:3] for s in (_prime(rank), _aligned(rank))]
    largest = 2 if 2 in ranks else max([r for r in ranks if r <= 4], default=max(ranks, default=0))
    found = [Layout(s) for s in dict.fromkeys(shapes)]
    return [*found, Layout(_several(largest), FEW_CORES, True)] if largest else found


def broadcast_layouts(ranks: Sequence[int]) -> list[tuple[Shape, Shape, int]]:
    """Return pairs of shapes that stretch each other, and a number of cores (0: all)."""
    pairs: list[tuple[Shape, Shape, int]] = [
        ((37, 129), (129,), 0),
        ((37, 129), (37, 1), 0),
        ((37, 129), (), 0),
        ((1,), (19, 40), 0),
        ((8, 1, 33), (16, 1), 0),
        ((2, 3, 5, 7), (3, 1, 7), 0),
        ((1, 1031), (301, 1), 0),
        ((4, 1, 6, 1), (5, 1, 64), 0),
        ((0, 5), (1,), 0),
        (_several(2), (1031,), FEW_CORES),
        (_several(2), (61, 1), FEW_CORES),
    ]
    fixed = not {1, 2, 3, 4} <= set(ranks)
    for rank in ranks:
        if fixed and rank > 0:
            full, large = _prime(rank), _several(rank)
            pairs += [
                (full, (1,) * (rank - 1) + full[-1:], 0),
                (full, (*full[:-1], 1), 0),
                (full, (1,) * rank, 0),
                (_stretched(full, 0), _stretched(full, 1), 0),
                (large, (1,) * (rank - 1) + large[-1:], FEW_CORES),
                (large, (*large[:-1], 1), FEW_CORES),
            ]
    return list(dict.fromkeys(pairs))


def of_rank(shape: Shape, low: int, high: int) -> Shape:
    """Fit a shape to a range of ranks: leading axes go, or axes of two elements come."""
    if len(shape) > high:
        return shape[len(shape) - high :]
    return (2,) * (low - len(shape)) + shape


def _stretched(shape: Shape, parity: int) -> Shape:
    return tuple(1 if axis % 2 == parity else dim for axis, dim in enumerate(shape))


def _lead(rank: int) -> Shape:
    return _LEAD[: rank - 2]


def _prime(rank: int) -> Shape:
    return () if rank == 0 else (7,) if rank == 1 else (*_lead(rank), 5, 7)


def _aligned(rank: int) -> Shape:
    return () if rank == 0 else (64,) if rank == 1 else (*_lead(rank), 4, 32)


def _several(rank: int) -> Shape:
    """About SEVERAL elements with an unaligned tail."""
    if rank == 0:
        return ()
    if rank == 1:
        return (SEVERAL,)
    lead = _lead(rank)
    rows = 61
    for dim in lead:
        rows = -(-rows // dim)
    return (*lead, rows, 1031)


def _small_set(rank: int) -> list[Layout]:
    if rank == 0:
        return [Layout(())]
    empty = (0,) if rank == 1 else (*_lead(rank), 0, 3)
    shapes = [(1,) * rank, _prime(rank), _aligned(rank), empty]
    return [*map(Layout, shapes), Layout(_several(rank), FEW_CORES, True)]


def _full_set(rank: int) -> list[Layout]:
    if rank == 0:
        return [Layout(())]
    if rank == 1:
        sizes = (1, 0, 7, 64, 1023, 4099, 20000)
        long = [Layout((524309,), cores, True) for cores in (0, 1, FEW_CORES)]
        return [*(Layout((n,)) for n in sizes), *long, Layout((2**18,), FEW_CORES, True)]
    lead = _lead(rank)
    ones = (1,) * (rank - 2)
    shapes: list[Shape] = [
        (1,) * rank,
        _prime(rank),
        _aligned(rank),
        (*lead, 16, 8),
        (*lead, 97, 1),
        (*lead, 0, 3),
        (*lead, 3, 0),
        (*ones, 3, 20000),
        (*lead, 43, 129),
        (257, *(1,) * (rank - 2), 3),
    ]
    many = (*(2,) * (rank - 2), 512 >> (rank - 2), 1031)
    found = [Layout(s) for s in shapes]
    found += [Layout(many, cores, True) for cores in (0, 1, FEW_CORES)]
    found.append(Layout((*many[:-1], 1024), FEW_CORES, True))
    found += [Layout((*ones, *s), FEW_CORES) for s in _LONG_ROWS]
    found.append(Layout(_several(rank), FEW_CORES, True))
    return found
