"""What is wrong with a project's build files, before CMake meets them on a machine with CANN.

Checked are the files' grammar, commands that nothing defines, folders and sources that are not
there, that op_host and op_kernel are built at all, and the presets' compute units and vendor.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from msopgen_wrap.build.cmake_language import (
    CMakeError,
    Command,
    Scope,
    commands,
    preset_variables,
)
from msopgen_wrap.cann.declarations import Declaration
from msopgen_wrap.cann_discovery import CannTree
from msopgen_wrap.diagnostics import Diagnostic, Location

_CMAKE_NAMES = (
    "add_compile_definitions add_compile_options add_custom_command add_custom_target "
    "add_definitions add_dependencies add_executable add_library add_link_options "
    "add_subdirectory add_test aux_source_directory block break build_command cmake_host_system"
    "_information cmake_language cmake_minimum_required cmake_parse_arguments cmake_path "
    "cmake_policy configure_file continue create_test_sourcelist define_property else elseif "
    "enable_language enable_testing endblock endforeach endfunction endif endmacro endwhile "
    "exec_program execute_process export file find_file find_library find_package find_path "
    "find_program foreach function get_cmake_property get_directory_property "
    "get_filename_component get_property get_source_file_property get_target_property "
    "get_test_property if include include_directories include_external_msproject "
    "include_guard install link_directories link_libraries list load_cache macro "
    "mark_as_advanced math message option project remove_definitions return "
    "separate_arguments set set_directory_properties set_property set_source_files_properties "
    "set_target_properties set_tests_properties site_name source_group string "
    "target_compile_definitions target_compile_features target_compile_options "
    "target_include_directories target_link_directories target_link_libraries "
    "target_link_options target_precompile_headers target_sources try_compile try_run unset "
    "variable_watch while check_cxx_compiler_flag check_include_file check_symbol_exists "
    "fetchcontent_declare fetchcontent_makeavailable gtest_discover_tests "
    "pybind11_add_module externalproject_add write_basic_package_version_file"
)
# Functions of CANN's project templates and of its CMake packages.
_CANN_NAMES = (
    "opbuild add_ops_compile_options add_kernels_compile add_kernel_compile "
    "add_bin_compile_target add_ops_info_target add_ops_impl_target add_ops_replay_targets "
    "add_npu_support_target add_opregistry_target add_cpack_target get_system_info "
    "get_op_type_and_validate add_cross_compile_target protobuf_generate "
    "ascendc_library ascendc_fatbin_library ascendc_compile_definitions "
    "ascendc_compile_options ascendc_include_directories ascendc_link_libraries "
    "npu_op_package npu_op_package_add npu_op_code_gen npu_op_library npu_op_kernel_library "
    "npu_op_kernel_sources npu_op_kernel_options npu_op_device_tiling_library "
    "add_ops_src_copy add_host_kernel_compile add_kernel_sources add_modules_sources "
    "add_device_kernel_compile add_static_ops add_ascendc_impl_aicpu_op "
    "add_tiling_sink_ascendc_impl_aicpu_op"
)
_CMAKE = frozenset(_CMAKE_NAMES.split())
_CANN = frozenset(_CANN_NAMES.split())
_BUILDS_KERNELS = {
    *("add_kernels_compile", "add_kernel_compile", "npu_op_kernel_library", "ascendc_library"),
    *("npu_op_kernel_sources", "add_ops_impl_target", "add_kernel_sources"),
}
_BUILDS_HOST = {"opbuild", "npu_op_code_gen"}
_SOURCES = (".cpp", ".cc", ".cxx", ".c", ".asc")


def build_files(project: Path) -> list[Path]:
    """Return the CMake files of a project's own tree, its top one first."""
    found = [project / "CMakeLists.txt"] if (project / "CMakeLists.txt").is_file() else []
    for folder in ("op_host", "op_kernel", "framework", "cmake"):
        for pattern in ("CMakeLists.txt", "*.cmake"):
            found += sorted((project / folder).rglob(pattern))
    return found


def is_whole_project(project: Path) -> bool:
    """Whether CMake is started in this folder, so that nothing comes from above."""
    path = project / "CMakeLists.txt"
    try:
        return path.is_file() and any(c.name == "project" for c in commands(_text(path)))
    except CMakeError:
        return True


def build_problems(
    project: Path, tree: CannTree, ops: Sequence[Declaration], vendor: str = ""
) -> dict[Path, list[Diagnostic]]:
    """Return what is wrong per build file; a file without findings has an empty list.

    Args:
        vendor: of a project of the kit; "" for others.
    """
    found: dict[Path, list[Diagnostic]] = {}
    read: dict[Path, list[Command]] = {}
    for path in build_files(project):
        found[path] = []
        try:
            read[path] = commands(_text(path))
        except CMakeError as error:
            place = Location(str(path), error.line)
            found[path].append(_wrong(str(error), place, "CMake stops at it", "correct the file"))
    whole = is_whole_project(project)
    known = _CMAKE | _CANN | _defined(read.values()) | _of_tree(tree)
    for path, listed in read.items():
        for command in listed if whole else ():
            if command.name not in known:
                place = Location(str(path), command.line)
                why = "neither CMake, nor CANN's project functions, nor this project have it"
                found[path].append(_wrong(f"no command {command.name}", place, why, "see CMake's"))
        found[path] += _missing_files(path, listed)
    if whole:
        for path, diagnostic in _unbuilt(project, read):
            found.setdefault(path, []).append(diagnostic)
    presets = project / "CMakePresets.json"
    if presets.is_file():
        found[presets] = _preset_problems(presets, ops, vendor)
    return found


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _wrong(what: str, place: Location, why: str, fix: str) -> Diagnostic:
    return Diagnostic("OPG617", what, place, why, fix)


def _defined(files: Iterable[Sequence[Command]]) -> set[str]:
    found = set()
    for listed in files:
        for command in listed:
            if command.name in ("function", "macro") and command.words:
                found.add(command.words[0].text.lower())
    return found


def _of_tree(tree: CannTree) -> set[str]:
    """Return the functions that the project template of the CANN at hand defines."""
    folder = tree.project_template
    if folder is None:
        return set()
    found: set[str] = set()
    for path in folder.rglob("*.cmake"):
        try:
            found |= _defined([commands(_text(path))])
        except CMakeError:
            continue
    return found


def _missing_files(path: Path, listed: Sequence[Command]) -> list[Diagnostic]:
    found = []
    scope = Scope({"CMAKE_CURRENT_SOURCE_DIR": str(path.parent)})
    if path.name != "CMakeLists.txt":
        return []
    for command in scope.taken(listed):
        place = Location(str(path), command.line)
        words = [w for w in command.texts if "$" not in w]
        if command.name == "add_subdirectory" and words:
            if not (path.parent / words[0] / "CMakeLists.txt").is_file():
                what = f"add_subdirectory({words[0]}): it has no CMakeLists.txt"
                found.append(_wrong(what, place, "CMake stops at it", "correct the path"))
        elif command.name in ("add_library", "add_executable", "target_sources"):
            for word in words[1:]:
                if word.endswith(_SOURCES) and not (path.parent / word).is_file():
                    what = f"{command.name}: there is no source {word}"
                    found.append(_wrong(what, place, "CMake stops at it", "correct the path"))
    return found


def _unbuilt(project: Path, read: dict[Path, list[Command]]) -> list[tuple[Path, Diagnostic]]:
    """Return which part of a project no command builds."""
    found = []
    names = {path: {c.name for c in listed} for path, listed in read.items()}
    top = project / "CMakeLists.txt"
    if top in read:
        words = {w.strip("./") for c in read[top] for w in c.texts}
        for part in ("op_host", "op_kernel"):
            there = (project / part / "CMakeLists.txt").is_file()
            if there and not any(part in w.split("/") for w in words):
                what = f"{part} is not part of the build"
                why = f"no command of {top.name} names the folder"
                found.append((top, _wrong(what, Location(str(top)), why, "add_subdirectory")))
    for part, builders, text in (
        ("op_host", _BUILDS_HOST, "opbuild never runs"),
        ("op_kernel", _BUILDS_KERNELS, "no kernel is compiled"),
    ):
        path = project / part / "CMakeLists.txt"
        if path in read and not any(builders & n for n in names.values()):
            fix = f"call one of {', '.join(sorted(builders))}"
            why = "the package would be built without its result"
            found.append((path, _wrong(text, Location(str(path)), why, fix)))
    return found


def _preset_problems(path: Path, ops: Sequence[Declaration], vendor: str) -> list[Diagnostic]:
    place = Location(str(path))
    text = _text(path)
    try:
        values = preset_variables(json.loads(text))
    except (ValueError, AttributeError) as error:
        where = Location(str(path), getattr(error, "lineno", 0))
        return [_wrong(f"not JSON: {error}", where, "CMake stops at it", "correct the file")]
    found = []

    def at(name: str) -> Location:
        where = text.find(f'"{name}"')
        return Location(str(path), text.count("\n", 0, where) + 1) if where >= 0 else place

    declared = {name for op in ops for name, _ in op.configs}
    units = [u for u in values.get("ASCEND_COMPUTE_UNIT", "").split(";") if u]
    if "ASCEND_COMPUTE_UNIT" in values and declared:
        missing = sorted(declared - set(units))
        strange = sorted(set(units) - declared)
        where = at("ASCEND_COMPUTE_UNIT")
        if missing:
            what = f"ASCEND_COMPUTE_UNIT leaves out {', '.join(missing)}"
            why = "AddConfig names it, and no kernel is compiled for it"
            found.append(_wrong(what, where, why, "add it, or drop the AddConfig"))
        if strange:
            what = f"ASCEND_COMPUTE_UNIT names {', '.join(strange)}"
            why = f"no op has an AddConfig of it (they name {', '.join(sorted(declared))})"
            found.append(_wrong(what, where, why, "use the name that AddConfig has"))
    name = values.get("vendor_name", "")
    if vendor and name and name != vendor:
        why = "opgen.json names the vendor, and the torch package and the ONNX plugin follow it"
        what = f"vendor_name is {name}, not {vendor}"
        found.append(_wrong(what, at("vendor_name"), why, "opgen new --vendor changes all of them"))
    return found
