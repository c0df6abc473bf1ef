"""What to do about the costs that the model can leave out one at a time."""

from __future__ import annotations

from dataclasses import dataclass

from msopgen_wrap.profile.launch_profile import LaunchProfile

# Savings below this part of the modelled time are noise of the model.
_LEAST = 0.01

# Ablation -> what is left out, and what a programmer does about it.
_ADVICE = {
    "bank_conflicts": (
        "conflicts of UB banks",
        "put operands of one instruction into different banks: shift a buffer by 32 to 256 bytes",
    ),
    "instruction_start": (
        "start-ups of vector instructions",
        "let each instruction go over more data: longer tiles, repeats in place of loops",
    ),
    "copy_latency": (
        "latency of copies",
        "keep more copies in flight: a deeper queue, or the next tile asked for before this one "
        "is computed",
    ),
    "burst": (
        "short and unaligned bursts",
        "copy longer pieces, and begin them at multiples of 512 bytes of global memory",
    ),
    "gm_reread": (
        "bytes of global memory that are read again",
        "keep them in UB, or order the tiles so that L2 still has them",
    ),
    "single_buffer": (
        "waiting for buffers",
        "give the queues that stall a second buffer (double buffering)",
    ),
    "core_start": (
        "starts of the cores",
        "start fewer cores, or give each more work",
    ),
    "fewer_cores": (
        "cores beyond those that pay",
        "use fewer cores at this size: bandwidth or the launch limits, not the cores",
    ),
}


@dataclass(frozen=True)
class Advice:
    """One way to save time.

    Attributes:
        what: the ablation; ``title`` says which cost is left out.
        saved_us, time_us: modelled microseconds that it is worth, and what remains.
        fix: what to do.
    """

    what: str
    title: str
    saved_us: float
    time_us: float
    fix: str

    def as_dict(self) -> dict[str, object]:
        """Return the JSON form."""
        return {
            "what": self.what,
            "title": self.title,
            "saved_us": self.saved_us,
            "time_us": self.time_us,
            "fix": self.fix,
        }


def advice(profile: LaunchProfile) -> list[Advice]:
    """Return what would save at least a hundredth of the modelled time, the most first.

    The savings do not add up: each is the model without that cost alone.
    """
    found = []
    for row in profile.ablation:
        if row.saved_us < _LEAST * profile.time_us:
            continue
        title, fix = _ADVICE.get(row.what, (row.what.replace("_", " "), ""))
        found.append(Advice(row.what, title, row.saved_us, row.time_us, fix))
    return sorted(found, key=lambda a: -a.saved_us)
