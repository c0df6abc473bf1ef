"""``opgen bench``: time an op over sizes, beside eager PyTorch and the C++ extension."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from msopgen_wrap.cli import output
from msopgen_wrap.diagnostics import Diagnostic, OpgenError

if TYPE_CHECKING:
    from msopgen_wrap.bench.device_time import DeviceTime

SIZES = "1Ki,16Ki,256Ki,1Mi"
# Peers and how a reader knows them.
PEERS = {"torch": "eager PyTorch", "cpp": "the C++ extension"}
NOTE = "times are those of this CPU, which emulates the kernel; they say nothing of an NPU"
MEMORY = "peak: how much the resident memory of this process grew during a call, results included"


@click.command("bench")
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--op", "name", default="", help="Which op of a project or folder of specs.")
@click.option("--sizes", default=SIZES, show_default=True, help="Numbers of elements.")
@click.option(
    "--against",
    default="torch",
    show_default=True,
    help="Peers, separated by commas. torch: `compute` in eager PyTorch. cpp: the loops of `opgen "
    "new --backend torch-cpp`, which are compiled first.",
)
@click.option(
    "-o", "--output", "picture", type=click.Path(path_type=Path), help="Also draw FILE.svg."
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def command(
    target: Path, name: str, sizes: str, against: str, picture: Path | None, as_json: bool
) -> int:
    """Time the op of TARGET (a spec or a project) over sizes, beside its peers.

    The op runs its kernel in the emulation, called as a torch op. The median of the calls is shown,
    from which size on the op is faster than each peer, on Linux the peak memory of a call, and the
    time on a device that `opgen profile` models.
    """
    from msopgen_wrap.bench.timing import arguments, crossover, median_seconds, parse_sizes

    counts, peers = parse_sizes(sizes), parse_peers(against)
    check_picture(picture)
    from msopgen_wrap.bench import memory
    from msopgen_wrap.bench.device_time import device_time
    from msopgen_wrap.testing.targets import load_target

    loaded = load_target(target, name)
    spec = loaded.spec
    arguments(spec, counts[0])  # an op that cannot be timed is refused before anything is compiled
    calls: dict[str, Any] = {"op": loaded.op}
    for peer in peers:
        if peer == "torch":
            calls[peer] = functools.partial(_by_name, loaded.reference, spec)
        else:
            from msopgen_wrap.bench.extension_peer import extension_op

            if not as_json:
                output.echo("compiling the C++ extension", err=True)
            calls[peer] = extension_op(spec)
    rows: list[dict[str, Any]] = []
    for count in counts:
        if not as_json:
            output.echo(f"timing {count} elements", err=True)
        inputs, attrs = arguments(spec, count)
        call = [*inputs, *(attrs[a.name] for a in spec.attrs)]
        made = loaded.op(*call)
        tensors = [*inputs, *(made if isinstance(made, (tuple, list)) else [made])]
        row = {
            "elements": count,
            "bytes": sum(t.numel() * t.element_size() for t in tensors if t is not None),
        }
        timed = {k: median_seconds(functools.partial(f, *call)) for k, f in calls.items()}
        rows.append({**row, **timed})
    measured = memory.return_blocks_at_once()
    for row in rows:
        inputs, attrs = arguments(spec, row["elements"])
        call = [*inputs, *(attrs[a.name] for a in spec.attrs)]
        row["peak_bytes"] = {
            k: memory.peak_bytes(functools.partial(f, *call)) if measured else None
            for k, f in calls.items()
        }
        if not as_json:
            output.echo(f"modelling {row['elements']} elements on the device", err=True)
        row["modelled_device"] = device_time(target, spec, inputs)
    faster = {peer: crossover(rows, peer) for peer in peers}
    if picture is not None:
        from msopgen_wrap.bench.plot import times_svg

        labels = {"op": "this op", **{p: PEERS[p].removeprefix("the ") for p in peers}}
        picture.write_text(
            times_svg(f"{spec.op}: time of a call", labels, rows, NOTE), encoding="utf-8"
        )
    if as_json:
        shown = [{**row, "modelled_device": _as_data(row["modelled_device"])} for row in rows]
        output.print_json({"op": spec.op, "note": NOTE, "faster_from": faster, "rows": shown})
        return output.OK
    _print(spec.op, rows, faster, measured)
    if picture is not None:
        output.echo(f"wrote {picture}")
    return output.OK


def _by_name(reference: Any, spec: Any, *call: Any) -> Any:
    """Call a reference, which takes attrs by name, as the torch op is called."""
    count = len(spec.inputs)
    values = zip((a.name for a in spec.attrs), call[count:], strict=True)
    return reference(*call[:count], **dict(values))


def _as_data(device: DeviceTime | str) -> dict[str, Any]:
    return {"why_not": device} if isinstance(device, str) else asdict(device)


def parse_peers(text: str) -> list[str]:
    """Return the peers of ``torch,cpp``, each once.

    Raises:
        OpgenError: OPG577, there is no such peer.
    """
    found = list(dict.fromkeys(part.strip() for part in text.split(",")))
    for part in found:
        if part not in PEERS:
            raise OpgenError(
                Diagnostic(
                    "OPG577",
                    f"'{part}' is nothing to time an op against",
                    why=f"the peers are {', '.join(PEERS)}",
                    fix="--against torch,cpp",
                )
            )
    return found


def check_picture(path: Path | None) -> None:
    """Refuse a picture that could not be written, before anything is timed (OPG578)."""
    if path is None:
        return
    why = ""
    if path.suffix.lower() != ".svg":
        why = "the picture is an SVG file, and its name must end so"
    elif path.is_dir():
        why = "it is a folder"
    elif not path.absolute().parent.is_dir():
        why = f"there is no folder {path.absolute().parent}"
    if why:
        raise OpgenError(
            Diagnostic(
                "OPG578", f"no picture can be written to {path}", why=why, fix="-o times.svg"
            )
        )


def _print(
    op: str,
    rows: Sequence[Mapping[str, Any]],
    faster: Mapping[str, int | None],
    measured: bool,
) -> None:
    keys = ["op", *faster]
    output.echo(f"{op}, first dtypes of the spec; inputs and outputs in bytes")
    heads = [f"{k + ' us':>12}" for k in keys] + [f"{p + '/op':>9}" for p in faster]
    heads += [f"{k + ' peak':>11}" for k in keys if measured]
    heads.append(f"{'modelled us':>12}")
    output.echo(f"{'elements':>12} {'bytes':>12} {' '.join(heads)}")
    for row in rows:
        cells = [f"{row[k] * 1e6:12.1f}" for k in keys]
        cells += [f"{row[p] / row['op']:9.2f}" for p in faster]
        cells += [f"{row['peak_bytes'][k] / 2**20:7.1f} MiB" for k in keys if measured]
        device = row["modelled_device"]
        cells.append(f"{'-':>12}" if isinstance(device, str) else f"{device.microseconds:12.1f}")
        output.echo(f"{row['elements']:12d} {row['bytes']:12d} {' '.join(cells)}")
    for peer, size in faster.items():
        found = f"from {size} elements on" if size else "at none of the sizes"
        output.echo(f"the op is faster than {PEERS[peer]} {found}")
    output.echo(MEMORY if measured else "peak memory: not measured, it needs Linux and glibc")
    for line in _device_lines([row["modelled_device"] for row in rows]):
        output.echo(line)
    output.echo(NOTE)


def _device_lines(devices: Sequence[DeviceTime | str]) -> list[str]:
    """Return what the modelled times are of, and why some are missing."""
    lines = [f"no modelled time: {why}" for why in dict.fromkeys(devices) if isinstance(why, str)]
    found = [device for device in devices if not isinstance(device, str)]
    if found:
        text = f"modelled us: a call on {found[0].soc} by the model of `opgen profile`, with launch"
        if not all(device.validated for device in found):
            text += "; parts of the model that this kernel needs are not validated"
        lines.insert(0, text)
    return lines
