"""A profile as text: what a terminal or a log shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from msopgen_wrap.byte_counts import size_text
from msopgen_wrap.profile.advice import advice
from msopgen_wrap.profile.launch_profile import CoreUse, LaunchProfile
from msopgen_wrap.profile.launches import kernel_shares

_MOST_WAITS = 3
_MOST_SOURCE = 64

Style = Callable[[str, str], str]


def plain(text: str, role: str) -> str:
    """Return text as it is, for output that is no terminal."""
    return text


def profile_lines(
    profile: LaunchProfile, *, about: Sequence[str] = (), style: Style = plain
) -> list[str]:
    """Return the profile of one launch as lines.

    Args:
        about: what was run, printed below the title.
        style: colours a text by its role, as ``cli.output.styled`` does.
    """
    parts = [
        _head(profile, about, style),
        _pipes(profile, style),
        _memory(profile, style),
        _lines(profile, style),
        _cores(profile, style),
        _limits(profile, style),
        _advice(profile, style),
    ]
    lines: list[str] = []
    for part in parts:
        if part:
            lines += ["", *part] if lines else part
    return lines


def microseconds(us: float) -> str:
    """Return a time as text with its unit, three digits."""
    if us >= 9999.5:
        return f"{us / 1000:.4g} ms"
    if us >= 99.95:
        return f"{us:.0f} us"
    return f"{us:.1f} us" if us >= 9.995 else f"{us:.2f} us"


def count_text(count: int, word: str) -> str:
    """Return ``1 core`` or ``2 cores``."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def validity(profile: LaunchProfile) -> list[str]:
    """Return the sentences on what the modelled times are worth."""
    lines = []
    if profile.not_validated:
        never = ", ".join(n.replace("_", " ") for n in profile.not_validated if n != "cube")
        if never:
            lines.append(f"not validated: the model of {never} was never compared with a device")
        if "cube" in profile.not_validated:
            lines.append("not validated: the model of cube was compared with too few timings")
    elif not profile.validated:
        lines.append("not validated: the model of this kernel was never compared with a device")
    if profile.sampled:
        row = profile.sampled
        lines.append(
            f"sampled: {row['kept']} of {row['of']} records were kept, the others taken to be like "
            f"them; that adds an error of about {100 * float(row['error']):.1f}%"
        )
    if profile.incomplete:
        lines.append(f"incomplete: {profile.incomplete}; the profile ends there")
    if not profile.has_range:
        lines.append("large: modelled once, so that there is neither a range nor advice")
    if profile.lost_events:
        lines.append(
            f"pictures show a part: {profile.lost_events} events were not kept; the sums count all"
        )
    return lines


def _head(profile: LaunchProfile, about: Sequence[str], style: Style) -> list[str]:
    time = microseconds(profile.time_us)
    limits = f"{microseconds(profile.time_low_us)} to {microseconds(profile.time_high_us)}"
    limits = limits if profile.has_range else "without a range"
    return [
        style(f"{profile.kernel}: modelled time {time} ({limits})", "place"),
        f"  {microseconds(profile.kernel_us)} modelled without the launch of "
        f"{microseconds(profile.launch_us)}",
        f"  on {profile.soc}, L2 {profile.l2}, {count_text(len(profile.cores), 'core')}; all times "
        "are modelled, "
        "none is measured",
        *(f"  {line}" for line in about),
        *(f"  {style(line, 'warning')}" for line in validity(profile)),
    ]


def _pipes(profile: LaunchProfile, style: Style) -> list[str]:
    means = profile.pipe_means()
    slowest, reasons = profile.slowest, profile.reasons()
    if not means or slowest is None:
        return []
    own = {p.name: p for p in slowest.pipes}
    kernel = max(profile.kernel_us, 1e-9)
    table = [["pipe", "busy", "of kernel", "stalled", f"busy on core {slowest.number}", "calls"]]
    for name, busy, stalled, calls in means:
        table.append(
            [
                name,
                microseconds(busy),
                f"{100 * busy / kernel:.0f}%",
                microseconds(stalled),
                microseconds(own[name].busy_us) if name in own else "-",
                str(calls),
            ]
        )
    lines = [style("pipes (modelled, mean of the cores; the core shown ends last)", "place")]
    lines += table_lines(table)
    count = max(1, len(profile.cores))
    for name, *_ in means:
        for wait in reasons.get(name, [])[:_MOST_WAITS]:
            if wait.us / count < 0.005 * kernel:
                continue
            where = f" at {place(wait.file, wait.line)}" if wait.file else ""
            lines.append(
                f"  {name} waits {microseconds(wait.us / count)} per core for {wait.reason}{where}"
            )
    return lines


def _memory(profile: LaunchProfile, style: Style) -> list[str]:
    memory = profile.memory
    read, written = profile.compulsory
    table = [["memory", "moved", "compulsory", "times"]]
    for label, key, least in (
        ("GM read", "gm_read", read),
        ("GM written", "gm_written", written),
        ("of the reads from L2", "l2_hit", 0),
        ("UB read", "ub_read", 0),
        ("UB written", "ub_written", 0),
    ):
        if key not in memory:
            continue
        moved = memory[key]
        ratio = f"{moved / least:.2f}x" if least else "-"
        table.append([label, size_text(moved), size_text(least) if least else "-", ratio])
    if len(table) == 1:
        return []
    lines = [style("memory (compulsory: each byte of a buffer that is used, once)", "place")]
    lines += table_lines(table)
    again = [b for b in profile.buffers if b.read > 1.01 * b.distinct_read > 0]
    for buffer in sorted(again, key=lambda b: b.distinct_read - b.read)[:_MOST_WAITS]:
        times = buffer.read / buffer.distinct_read
        lines.append(
            f"  {buffer.name} is read {times:.2f} times: {size_text(buffer.read)} of "
            f"{size_text(buffer.distinct_read)}"
        )
    return lines


def _lines(profile: LaunchProfile, style: Style) -> list[str]:
    rows = profile.costliest_lines()
    if not rows:
        return []
    count = max(1, len(profile.cores))
    table = [["line", "pipe", "busy", "stalled", "calls", "source"]]
    for row in rows:
        table.append(
            [
                place(row.file, row.line),
                row.pipe,
                microseconds(row.busy_us / count),
                microseconds(row.stalled_us / count),
                str(row.instructions),
                source_line(row.file, row.line)[:_MOST_SOURCE],
            ]
        )
    return [style("lines that cost most (modelled, mean per core)", "place"), *table_lines(table)]


def _cores(profile: LaunchProfile, style: Style) -> list[str]:
    kinds: dict[str, list[CoreUse]] = {}
    for core in profile.cores:
        kinds.setdefault(core.kind, []).append(core)
    lines = []
    for kind, cores in kinds.items():
        mean = sum(c.us for c in cores) / len(cores)
        slow, quick = max(cores, key=lambda c: c.us), min(cores, key=lambda c: c.us)
        ratio = slow.us / mean if mean else 1.0
        first, last = min(c.start_us for c in cores), max(c.start_us for c in cores)
        lines.append(
            f"  {len(cores)} {kind}: core {slow.number} works longest, {microseconds(slow.us)}, "
            f"{ratio:.2f} of the mean; core {quick.number} shortest, {microseconds(quick.us)}; "
            f"the last starts {microseconds(last - first)} after the first"
        )
    return [style("balance of the cores (modelled)", "place"), *lines] if lines else []


def _limits(profile: LaunchProfile, style: Style) -> list[str]:
    rows = profile.limit_rows()
    if not rows:
        return []
    table = [["limit", "at least", "of modelled time", "distance"]]
    for label, us in rows:
        part = 100 * us / profile.time_us if profile.time_us else 0.0
        table.append([label, microseconds(us), f"{part:.0f}%", f"{profile.time_us / us:.2f}x"])
    return [
        style("roofline: what each limit alone would take (modelled)", "place"),
        *table_lines(table),
    ]


def _advice(profile: LaunchProfile, style: Style) -> list[str]:
    rows = advice(profile)
    if not profile.ablation or profile.incomplete:
        return []
    head = style("advice (modelled without one cost at a time; savings do not add up)", "place")
    if not rows:
        return [head, "  no cost that could be left out is worth 1% of the modelled time"]
    lines = [head]
    for row in rows:
        lines.append(f"  {microseconds(row.saved_us)} modelled: {row.title}")
        if row.fix:
            lines.append(f"      {row.fix}")
    return lines


def share_lines(profiles: Sequence[LaunchProfile]) -> list[str]:
    """Return the launches by kernel: calls, modelled time and its part of the whole."""
    table = [["kernel", "calls", "modelled time", "share"]]
    shares = kernel_shares(profiles)
    for share in shares:
        row = [share.kernel, str(share.calls), microseconds(share.time_us)]
        table.append([*row, f"{100 * share.share:.1f}%"])
    total = sum(s.time_us for s in shares)
    calls = sum(s.calls for s in shares)
    word = "launch" if calls == 1 else "launches"
    lines = [f"{calls} {word}, {microseconds(total)} modelled in all", *table_lines(table)]
    unknown = sorted({name.replace("_", " ") for p in profiles for name in p.not_validated})
    if unknown:
        lines.append(f"  not validated: the model of {', '.join(unknown)}")
    return lines


def table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as aligned columns below the first one; columns of numbers are right-aligned."""
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    right = [all(c[:1].isdigit() or c == "-" for c in column[1:]) for column in columns]
    lines = []
    for number, row in enumerate(rows):
        cells = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ]
        lines.append(("  " + "  ".join(cells)).rstrip())
        if number == 0:
            lines.append("  " + "  ".join("-" * width for width in widths))
    return lines


def place(file: str, line: int) -> str:
    """Return a place in a source as short as it can be told."""
    if not file:
        return "not known"
    return f"{Path(file).name}:{line}" if line else Path(file).name


def source_line(file: str, line: int) -> str:
    """Return a line of a source without its indent, "" where it cannot be read."""
    rows = source_text(file)
    return rows[line - 1].strip() if 0 < line <= len(rows) else ""


@lru_cache(maxsize=64)
def source_text(file: str) -> tuple[str, ...]:
    """Return the lines of a source, none where it cannot be read."""
    try:
        return tuple(Path(file).read_text(encoding="utf-8", errors="replace").split("\n"))
    except (OSError, ValueError):
        return ()
