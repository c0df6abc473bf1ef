"""The installer in a .run: targets, priorities, upgrades, failures. Real sh runs, no compiler."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import op

LIB = "op_api/lib/libcust_opapi.so"


def listing(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_install_path_wins_and_writes_set_env(package, run, tmp_path):
    target = tmp_path / "with space"
    done = run(
        package(),
        f"--install-path={target}",
        ASCEND_CUSTOM_OPP_PATH=str(tmp_path / "custom"),
        ASCEND_OPP_PATH=str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    assert "SUCCESS" in done.stdout
    vendor = target / "vendors/acme"
    assert (vendor / LIB).read_text() == "1"
    assert (vendor / "op_api/lib/link.so").is_symlink()
    assert not (target / "vendors/config.ini").exists()
    assert not (tmp_path / "custom").exists()
    shown = subprocess.run(
        ["bash", "-c", f"source '{vendor}/bin/set_env.bash'; env"],
        env={"PATH": os.environ["PATH"], "ASCEND_CUSTOM_OPP_PATH": "/other"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert f"ASCEND_CUSTOM_OPP_PATH={vendor}:/other" in shown
    assert f"LD_LIBRARY_PATH={vendor}/op_api/lib/" in shown


@pytest.mark.parametrize(
    "value",
    ["{root}", "{root}/vendors/older", "{root}/vendors", ":{root}/vendors/a:/elsewhere/vendors/b"],
)
def test_custom_opp_path_names_the_target(package, run, tmp_path, value):
    root = tmp_path / "opp"
    done = run(
        package(), ASCEND_CUSTOM_OPP_PATH=value.format(root=root), ASCEND_OPP_PATH=str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    assert (root / "vendors/acme" / LIB).exists()
    assert (root / "vendors/config.ini").read_text() == "load_priority=acme\n"
    assert f"export ASCEND_CUSTOM_OPP_PATH={root}/vendors/acme" in done.stdout


def test_opp_path_is_the_last_resort(package, run, tmp_path):
    root = tmp_path / "opp"
    root.mkdir()
    assert run(package(), ASCEND_OPP_PATH=str(root)).returncode == 0
    assert (root / "vendors/acme" / LIB).exists()


def test_newest_vendor_comes_first_and_other_lines_stay(package, run, tmp_path):
    root = tmp_path / "opp"
    (root / "vendors").mkdir(parents=True)
    config = root / "vendors/config.ini"
    config.write_text("# site rules\nload_priority=customize, acme2 ,x\nother=1\n")
    for vendor in ("acme", "acme2", "acme"):
        assert run(package(vendor), ASCEND_OPP_PATH=str(root)).returncode == 0
    assert config.read_text().splitlines() == [
        "# site rules",
        "other=1",
        "load_priority=acme,acme2,customize,x",
    ]
    assert run(package("acme2"), "--uninstall", ASCEND_OPP_PATH=str(root)).returncode == 0
    assert "load_priority=acme,customize,x" in config.read_text()
    assert listing(root / "vendors") == ["acme", "config.ini"]


def test_installing_again_replaces_the_whole_vendor(package, run, tmp_path):
    target = f"--install-path={tmp_path / 'opp'}"
    vendor = tmp_path / "opp/vendors/acme"
    old = package(ops=[op("AddX", "add_x"), op("Gone", "gone")], content="old")
    assert run(old, target).returncode == 0
    (vendor / "stale.txt").write_text("x")
    done = run(package(content="new"), target)
    assert done.returncode == 0
    assert "op Gone of the installed version is not in this package" in done.stderr
    assert (vendor / LIB).read_text() == "new"
    assert not (vendor / "stale.txt").exists()
    assert listing(tmp_path / "opp/vendors") == ["acme"]


def test_upgrade_needs_an_installed_version(package, run, tmp_path):
    target = f"--install-path={tmp_path / 'opp'}"
    refused = run(package(), "--upgrade", target)
    assert refused.returncode == 1
    assert "nothing to upgrade" in refused.stderr
    assert run(package(), target).returncode == 0
    assert run(package(content="2"), "--upgrade", target).returncode == 0
    assert (tmp_path / "opp/vendors/acme" / LIB).read_text() == "2"


def test_what_canns_makeself_adds_to_the_arguments_is_ignored(package, run, tmp_path):
    done = run(package(), "--dir/x.run", f"--{tmp_path}", "--quiet", f"--install-path={tmp_path}/o")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "o/vendors/acme" / LIB).exists()


def test_quiet_says_nothing(package, run, tmp_path):
    done = run(package(), "--quiet", f"--install-path={tmp_path / 'opp'}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


BAD_USAGE = [
    (["--install-path=relative/opp"], {}, 2, "is not absolute"),
    (["--install-pth=/x"], {}, 2, "unknown option --install-pth=/x"),
    ([], {}, 3, "nowhere to install"),
    ([], {"ASCEND_OPP_PATH": "/no/such/opp"}, 3, "is not a folder"),
    (["--uninstall", "--install-path=/no/such/opp"], {}, 1, "acme is not installed"),
]


@pytest.mark.parametrize(("options", "env", "code", "message"), BAD_USAGE)
def test_bad_usage_says_what_to_do(package, run, options, env, code, message):
    done = run(package(), *options, **env)
    assert done.returncode == code
    assert message in done.stderr
    assert "SUCCESS" not in done.stdout


MISFITS = [
    ("cpu", [("arch", "sparc64")], {}, [], "the package is for sparc64"),
    ("npu", [("cann_version", "8.1.RC1")], {"cann": "9.0.0"}, [], "this machine has 9.0.0"),
    (
        "npu",
        [("cann_version", "8.1.RC1")],
        {"chip": "Ascend 310P3"},
        [],
        "this machine has ascend310p3",
    ),
    ("cpu", [], {"cann": "8.1.RC1", "inside": "1"}, [], "belongs to CANN 8.1.RC1"),
]


@pytest.mark.parametrize(("target", "extra", "machine", "options", "message"), MISFITS)
def test_misfit_stops_unless_forced(
    package, run, tmp_path, target, extra, machine, options, message
):
    env, tools = {}, tmp_path / "tools"
    opp = tmp_path / "cann/opp"
    opp.mkdir(parents=True)
    tools.mkdir()
    if "cann" in machine:
        (tmp_path / "cann/compiler").mkdir()
        (tmp_path / "cann/compiler/version.info").write_text(
            f"Version=7.7.0\nversion_dir={machine['cann']}\n"
        )
        env["ASCEND_HOME_PATH"] = str(tmp_path / "cann")
    if "chip" in machine:
        smi = tools / "npu-smi"
        smi.write_text(f"#!/bin/sh\necho '0  0  0  {machine['chip']}'\n")
        smi.chmod(0o755)
    env["ASCEND_OPP_PATH"] = str(opp)
    run_file = package(target=target, extra=extra)
    stopped = run(run_file, path=[tools], **env)
    assert stopped.returncode == 4
    assert message in stopped.stderr
    assert "cure:" in stopped.stderr
    assert not (opp / "vendors").exists()
    forced = run(run_file, "--force", path=[tools], **env)
    assert forced.returncode == 0, forced.stderr
    assert (opp / "vendors/acme").exists()


def test_fitting_chip_installs(package, run, tmp_path):
    smi = tmp_path / "tools/npu-smi"
    smi.parent.mkdir()
    smi.write_text("#!/bin/sh\necho '0  0  0  Ascend910B3'\n")
    smi.chmod(0o755)
    done = run(package(target="npu"), f"--install-path={tmp_path / 'opp'}", path=[smi.parent])
    assert done.returncode == 0, done.stderr


def test_other_tools_vendor_folder_is_not_overwritten(package, run, tmp_path):
    foreign = tmp_path / "opp/vendors/acme"
    foreign.mkdir(parents=True)
    (foreign / "version.info").write_text("custom_opp_compiler_version=7.7\n")
    done = run(package(), f"--install-path={tmp_path / 'opp'}")
    assert done.returncode == 4
    assert "another tool installed" in done.stderr
    assert listing(foreign) == ["version.info"]


# ---- failures in the middle ----------------------------------------------------------------------


def shim(folder: Path, tool: str, body: str) -> Path:
    """Put a script called ``tool`` in front of the real one (``$real`` in ``body``)."""
    import shutil

    folder.mkdir(exist_ok=True)
    path = folder / tool
    path.write_text(f"#!/bin/sh\nreal={shutil.which(tool)}\n{body}\n")
    path.chmod(0o755)
    return folder


# Where the installer is broken: the copy of the new version, or either rename. Exchanging folders
# in one step is switched off for the renames.
_NO_EXCHANGE = '[ "$1" != --exchange ] || exit 1\n'
BREAKS = [
    ("cp fails", "cp", '"$real" "$@"; exit 1'),
    ("cp fails half-way", "cp", '"$real" "$@"; rm -rf "$3/op_api"; exit 1'),
    ("killed while copying", "cp", "kill -TERM $PPID; sleep 1; exit 1"),
    ("first rename fails", "mv", _NO_EXCHANGE + "exit 1"),
    (
        "second rename fails",
        "mv",
        _NO_EXCHANGE + 'case "$1" in *.opgen_new.*) exit 1 ;; esac\nexec "$real" "$@"',
    ),
    (
        "terminated between the renames",
        "mv",
        _NO_EXCHANGE
        + 'case "$1" in *.opgen_new.*) kill -TERM $PPID; sleep 1; exit 1 ;; esac\n'
        + 'exec "$real" "$@"',
    ),
]


@pytest.mark.parametrize(("name", "tool", "body"), BREAKS, ids=[b[0] for b in BREAKS])
def test_a_failed_install_leaves_the_old_state(package, run, tmp_path, name, tool, body):
    root = tmp_path / "opp"
    root.mkdir()
    assert run(package(content="old"), ASCEND_OPP_PATH=str(root)).returncode == 0
    before = (root / "vendors/config.ini").read_text()
    broken = shim(tmp_path / "shims", tool, body)
    shim(tmp_path / "shims", "python3", "exit 1")
    done = run(package(content="new"), path=[broken], ASCEND_OPP_PATH=str(root))
    assert done.returncode != 0, name
    assert (root / "vendors/acme" / LIB).read_text() == "old"
    assert (root / "vendors/config.ini").read_text() == before
    assert listing(root / "vendors") == ["acme", "config.ini"]
    # and the next one works
    assert run(package(content="new"), ASCEND_OPP_PATH=str(root)).returncode == 0
    assert (root / "vendors/acme" / LIB).read_text() == "new"


def test_kill_9_between_the_renames_is_repaired_by_the_next_run(package, run, tmp_path):
    root = tmp_path / "opp"
    root.mkdir()
    assert run(package(content="old"), ASCEND_OPP_PATH=str(root)).returncode == 0
    body = (
        _NO_EXCHANGE
        + 'case "$1" in *.opgen_new.*) kill -KILL $PPID; exit 1 ;; esac\nexec "$real" "$@"'
    )
    broken = shim(tmp_path / "shims", "mv", body)
    shim(tmp_path / "shims", "python3", "exit 1")
    assert run(package(content="new"), path=[broken], ASCEND_OPP_PATH=str(root)).returncode != 0
    assert not (root / "vendors/acme").exists()  # the one moment where nothing is in place
    # Even a run that itself fails later brings the old version back first.
    failing = shim(tmp_path / "shims2", "cp", "exit 1")
    assert run(package(content="new"), path=[failing], ASCEND_OPP_PATH=str(root)).returncode != 0
    assert (root / "vendors/acme" / LIB).read_text() == "old"
    assert listing(root / "vendors") == ["acme", "config.ini"]


def test_exchange_leaves_no_moment_without_the_ops(package, run, tmp_path):
    """Kill right at the exchange: afterwards a whole version, old or new, is in place."""
    root = tmp_path / "opp"
    target = f"--install-path={root}"
    assert run(package(content="old"), target).returncode == 0
    killer = shim(
        tmp_path / "shims", "python3", '"$real" "$@"; code=$?; kill -KILL $PPID; exit $code'
    )
    shim(tmp_path / "shims", "mv", _NO_EXCHANGE + 'exec "$real" "$@"')
    run(package(content="new"), target, path=[killer])
    assert (root / "vendors/acme" / LIB).read_text() in ("old", "new")
    assert run(package(content="new"), target).returncode == 0
    assert listing(root / "vendors") == ["acme"]


def test_two_installs_at_once_both_end_in_the_priority_list(package, run, tmp_path):
    root = tmp_path / "opp"
    root.mkdir()
    slow = shim(tmp_path / "shims", "cp", 'sleep 1\nexec "$real" "$@"')
    env = {
        "PATH": f"{slow}:{os.environ['PATH']}",
        "TMPDIR": str(tmp_path),
        "HOME": str(tmp_path),
        "ASCEND_OPP_PATH": str(root),
    }
    processes = [
        subprocess.Popen(["sh", str(package(v))], env=env, stdout=subprocess.DEVNULL)
        for v in ("acme", "acme2")
    ]
    assert [p.wait(timeout=60) for p in processes] == [0, 0]
    text = (root / "vendors/config.ini").read_text().strip()
    assert sorted(text.removeprefix("load_priority=").split(",")) == ["acme", "acme2"]


def test_the_lock_of_a_dead_process_is_taken_over(package, run, tmp_path):
    lock = tmp_path / "opp/vendors/.opgen_lock"
    lock.mkdir(parents=True)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (lock / "pid").write_text(f"{dead.pid}\n")
    started = time.monotonic()
    assert run(package(), f"--install-path={tmp_path / 'opp'}").returncode == 0
    assert time.monotonic() - started < 10


def test_no_permission_names_owner_and_cure(package, tmp_path):
    """As another user when run by root: root may write anywhere."""
    root = tmp_path / "opp"
    (root / "vendors").mkdir(parents=True)
    (root / "vendors").chmod(stat.S_IRUSR | stat.S_IXUSR | stat.S_IROTH | stat.S_IXOTH)
    run_file = package()
    command = ["sh", str(run_file), f"--install-path={root}"]
    if os.getuid() == 0:
        for folder in (tmp_path, *tmp_path.parents):
            if folder.stat().st_uid == 0 and not folder.stat().st_mode & stat.S_IXOTH:
                folder.chmod(folder.stat().st_mode | stat.S_IXOTH | stat.S_IROTH)
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]
    env = {"PATH": os.environ["PATH"], "HOME": "/", "TMPDIR": "/tmp"}
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 1, done.stderr
    assert "no permission to write" in done.stderr
    assert "--install-path=$HOME" in done.stderr


def test_signal_exit_codes(package, tmp_path):
    slow = shim(tmp_path / "shims", "cp", "sleep 5")
    process = subprocess.Popen(
        ["sh", str(package()), f"--install-path={tmp_path / 'opp'}"],
        env={"PATH": f"{slow}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)},
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        # A suite started in the background inherits SIGINT ignored, which no shell can trap.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    time.sleep(1.5)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=30) != 0
    assert not (tmp_path / "opp/vendors/acme").exists()
    assert not list(tmp_path.glob("opgen_run.*")), "the unpacked files must go too"
