"""The self-extracting archive itself."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from msopgen_wrap.package.builder import make_run


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "content"
    deep = root / ("n" * 120) / ("m" * 150)
    deep.mkdir(parents=True)
    (deep / ("f" * 200)).write_text("long names")
    (root / "install.sh").write_text(
        'printf "%s\\n" "args:" "$@"\n[ "$1" != fail ] || exit 7\npwd > "$OUT"\n'
    )
    (root / "help.info").write_text("")
    (root / "version.info").write_text("vendor=acme\n")
    (root / "tool").write_text("x")
    (root / "tool").chmod(0o750)
    return root


@pytest.fixture
def run_file(folder, tmp_path):
    return make_run(
        folder,
        tmp_path / "a.run",
        label="test (1 op)",
        folder_name="unpacked",
        help_lines=["  --x"],
    )


def call(run_file, *args, shell="sh", **kw):
    return subprocess.run(
        [shell, str(run_file), *args], capture_output=True, text=True, check=False, **kw
    )


@pytest.mark.parametrize("shell", ["sh", "bash", "dash"])
def test_arguments_reach_the_installer_unchanged(run_file, tmp_path, shell):
    if not shutil.which(shell):
        pytest.skip(f"no {shell}")
    done = call(
        run_file,
        "--install-path=/a b/c",
        "--keep",
        "it's",
        "$HOME",
        "",
        "--",
        "--help",
        shell=shell,
        env={"OUT": str(tmp_path / "out"), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "args:",
        "--install-path=/a b/c",
        "it's",
        "$HOME",
        "",
        "--help",
    ]


def test_exit_code_and_cleaning_up(run_file, tmp_path):
    env = {"OUT": str(tmp_path / "out"), "PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path)}
    assert call(run_file, "fail", env=env).returncode == 7
    assert call(run_file, env=env).returncode == 0
    unpacked = (tmp_path / "out").read_text().strip()
    assert unpacked.startswith(str(tmp_path))
    assert not list(tmp_path.glob("opgen_run.*"))


def test_extract_keeps_names_and_modes(run_file, tmp_path):
    done = call(run_file, f"--extract={tmp_path / 'x'}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "x" / ("n" * 120) / ("m" * 150) / ("f" * 200)).read_text() == "long names"
    assert (tmp_path / "x/tool").stat().st_mode & 0o111
    assert not (tmp_path / "x/version.info").stat().st_mode & 0o111


def test_info_list_help_check(run_file):
    assert "vendor=acme" in call(run_file, "--info").stdout
    assert "./version.info" in call(run_file, "--list").stdout.splitlines()
    shown = call(run_file, "--help").stdout
    assert "test (1 op)" in shown and "  --x" in shown
    assert "intact" in call(run_file, "--check").stdout


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[:-10], "incomplete download"),
        (lambda data: data[:-10] + b"x" + data[-9:], "checksum"),
        (lambda data: data + b"x", "incomplete download"),
    ],
    ids=["truncated", "changed", "longer"],
)
def test_damage_is_found_before_anything_runs(run_file, tmp_path, damage, message):
    data = damage(run_file.read_bytes())
    if data == run_file.read_bytes():
        pytest.fail("the damage changed nothing")
    run_file.write_bytes(data)
    for option in ("--check", "--noexec", "--quiet"):
        done = call(run_file, option, cwd=tmp_path, env={"OUT": str(tmp_path / "out")})
        assert done.returncode == 1
        assert message in done.stderr
    assert not (tmp_path / "out").exists()


def test_byte_stable(folder, tmp_path, run_file):
    (folder / "tool").touch()
    again = make_run(
        folder,
        tmp_path / "b/a.run",
        label="test (1 op)",
        folder_name="unpacked",
        help_lines=["  --x"],
    )
    assert again.read_bytes() == run_file.read_bytes()


def test_needs_an_installer_and_a_plain_label(tmp_path, folder):
    with pytest.raises(ValueError, match=r"install\.sh"):
        make_run(tmp_path, tmp_path / "a.run", label="x", folder_name="x")
    with pytest.raises(ValueError, match="quotes"):
        make_run(folder, tmp_path / "a.run", label="it's", folder_name="x")
