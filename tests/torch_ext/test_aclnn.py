"""The aclnn C interface, called by ctypes as a C program would."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_double, c_int64, c_uint64, c_void_p
from pathlib import Path

import numpy as np
import pytest

FLOAT, HALF, DOUBLE, ND = 0, 1, 11, 2
NULLPTR, INVALID, TILING, INNER = 161001, 161002, 561002, 561000


class Api:
    """A loaded libcust_opapi.so."""

    def __init__(self, path: Path) -> None:
        self.lib = ctypes.CDLL(str(path))
        self.alive: list[np.ndarray] = []  # descriptors borrow their data
        for name in ("aclCreateTensor", "aclCreateTensorList", "aclCreateIntArray"):
            getattr(self.lib, name).restype = c_void_p
        self.lib.aclGetRecentErrMsg.restype = c_char_p
        self.lib.opgen_launch_count.restype = c_uint64
        self.lib.fake_loaded.restype = c_char_p
        self.lib.fake_behind.restype = c_uint64

    def tensor(
        self, array: np.ndarray | None, *, dtype: int = FLOAT, view: np.ndarray | None = None
    ):
        """Describe ``view`` (default: all) of ``array`` by shape, strides and offset."""
        self.alive.append(array)
        view = array if view is None else view
        shape = (c_int64 * view.ndim)(*view.shape)
        strides = (c_int64 * view.ndim)(*(s // array.itemsize for s in view.strides))
        offset = (view.ctypes.data - array.ctypes.data) // array.itemsize
        storage = (c_int64 * 1)(array.size)
        return c_void_p(
            self.lib.aclCreateTensor(
                shape,
                c_uint64(view.ndim),
                dtype,
                strides,
                c_int64(offset),
                ND,
                storage,
                c_uint64(1),
                c_void_p(array.ctypes.data),
            )
        )

    def prepare(self, name: str, *args):
        """Phase 1; returns (status, workspace bytes, executor)."""
        size, executor = c_uint64(99), c_void_p(1)
        status = getattr(self.lib, name + "GetWorkspaceSize")(*args, byref(size), byref(executor))
        return status, size.value, executor

    def launch(self, name: str, size: int, executor, workspace=None) -> int:
        """Phase 2 with a workspace of ``size`` bytes."""
        self.workspace = ctypes.create_string_buffer(max(size, 1))
        pointer = ctypes.addressof(self.workspace) if workspace is None else workspace
        return getattr(self.lib, name)(c_void_p(pointer), c_uint64(size), executor, None)

    def run(self, name: str, *args) -> None:
        status, size, executor = self.prepare(name, *args)
        assert status == 0, self.error()
        assert self.launch(name, size, executor) == 0, self.error()

    def error(self) -> str:
        return self.lib.aclGetRecentErrMsg().decode()


@pytest.fixture(scope="module")
def api(fake_vendor: Path) -> Api:
    return Api(fake_vendor / "op_api" / "lib" / "libcust_opapi.so")


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


VIEWS = {
    "contiguous": lambda a: a,
    "transposed": lambda a: a.T,
    "every second": lambda a: a[::2, 1::3],
    "one column": lambda a: a[:, 3:4],
    "expanded": lambda a: np.broadcast_to(a[:1], (5, a.shape[1])),
    "offset": lambda a: a[2:, 1:],
    "empty": lambda a: a[:0],
    "scalar": lambda a: a[1, 1],
}


@pytest.mark.parametrize("view", VIEWS)
def test_input_views_are_read_as_they_are(api: Api, view: str) -> None:
    base = floats(6, 8)
    x = np.asarray(VIEWS[view](base)) if view != "scalar" else base[1:2, 1:2].reshape(())
    z = np.full(x.shape, 7, np.float32)
    before = api.lib.opgen_launch_count()
    api.run("aclnnFakeAdd", api.tensor(base, view=x), None, api.tensor(z))
    np.testing.assert_array_equal(z, np.maximum(x, 0))
    assert api.lib.opgen_launch_count() == before + 1


@pytest.mark.parametrize(
    ("view", "behind"),
    [
        (lambda base: base, 0),
        (lambda base: base[:3], 5 * 4),  # a slice: other data of the storage follows
        (lambda base: base[3:], 0),  # the end of the storage is the end of its allocation
        (lambda base: base[::2], 0),  # the kernel gets a copy
    ],
)
def test_the_kernel_knows_that_a_slice_has_neighbours(api: Api, view, behind: int) -> None:
    base = floats(8)
    z = view(base)
    x = floats(*z.shape)
    api.run("aclnnFakeAdd", api.tensor(x), None, api.tensor(base, view=z))
    assert api.lib.fake_behind() == behind


@pytest.mark.parametrize("view", ["transposed", "every second", "one column", "offset"])
def test_output_views_are_written_in_place_and_nothing_else(api: Api, view: str) -> None:
    base = np.full((6, 8), -5, np.float32)
    z = VIEWS[view](base)
    x, y = floats(*z.shape), floats(*z.shape)
    expected = base.copy()
    VIEWS[view](expected)[...] = np.maximum(x + y, 0)
    api.run("aclnnFakeAdd", api.tensor(x), api.tensor(y), api.tensor(base, view=z))
    np.testing.assert_array_equal(base, expected)


def test_inplace_parameter_is_input_and_output(api: Api) -> None:
    base, grad = floats(4, 6), floats(4, 3)
    expected = base.copy()
    expected[:, ::2] -= np.float32(0.25) * grad
    api.run("aclnnFakeStep", api.tensor(base, view=base[:, ::2]), api.tensor(grad), c_double(0.25))
    np.testing.assert_array_equal(base, expected)


def test_lists(api: Api) -> None:
    a, b = [floats(3), floats(2, 4)], [floats(3), floats(2, 4)]
    c = [np.zeros_like(x) for x in a]

    def listed(arrays):
        items = (c_void_p * len(arrays))(*(api.tensor(x) for x in arrays))
        return c_void_p(api.lib.aclCreateTensorList(items, c_uint64(len(arrays))))

    lists = [listed(a), listed(b), listed(c)]
    api.run("aclnnFakeEach", *lists)
    for x, y, z in zip(a, b, c, strict=True):
        np.testing.assert_array_equal(z, np.maximum(x + y, 0))
    assert [api.lib.aclDestroyTensorList(t) for t in lists] == [0, 0, 0]


def add(api: Api, **change):
    """Phase 1 of FakeAdd on good arguments, but for the given ones."""
    good = {"x": api.tensor(floats(3)), "y": api.tensor(floats(3)), "z": api.tensor(floats(3))}
    good.update(change)
    return api.prepare("aclnnFakeAdd", good["x"], good["y"], good["z"])


BUFFER = np.zeros(8, np.float32)
OVERLAP = np.lib.stride_tricks.as_strided(BUFFER, (3, 3), (4, 4))
GARBAGE = ctypes.create_string_buffer(4096)

BAD = {
    "null input": (lambda a: {"x": None}, NULLPTR, "input 'x' is null"),
    "null output": (lambda a: {"z": None}, NULLPTR, "output 'z' is null"),
    "dtype": (
        lambda a: {"y": a.tensor(floats(3), dtype=HALF)},
        INVALID,
        "dtypes x float32, y float16, z float32 are not supported; supported: "
        "(float32, float32, float32), (float16, float16, float16)",
    ),
    "unknown dtype": (lambda a: {"x": a.tensor(floats(3), dtype=55)}, INVALID, "unsupported dtype"),
    "shapes": (lambda a: {"y": a.tensor(floats(4))}, INVALID, "inputs differ in shape"),
    "output shape": (
        lambda a: {"z": a.tensor(floats(4))},
        INVALID,
        "output 'z' has shape [4], expected [3]",
    ),
    "rank": (lambda a: {"x": a.tensor(floats(*[1] * 9))}, INVALID, "rank 9"),
    "overlapping output": (
        lambda a: {
            "x": a.tensor(floats(3, 3)),
            "y": None,
            "z": a.tensor(BUFFER, view=OVERLAP),
        },
        INVALID,
        "overlapping",
    ),
    "garbage": (
        lambda a: {"x": c_void_p(ctypes.addressof(GARBAGE))},
        INVALID,
        "not a live aclTensor",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_phase_1_refuses(api: Api, case: str) -> None:
    change, status, text = BAD[case]
    result, size, executor = add(api, **change(api))
    assert (result, size, executor.value) == (status, 0, None)
    assert text in api.error()
    assert api.error().startswith("aclnnFakeAdd: ")


def test_null_result_pointers(api: Api) -> None:
    x = api.tensor(floats(3))
    assert api.lib.aclnnFakeAddGetWorkspaceSize(x, None, x, None, None) == NULLPTR


def fail(api: Api, step: bytes, flags="default"):
    values = (c_int64 * 2)(3, 4)
    array = c_void_p(api.lib.aclCreateIntArray(values, c_uint64(2))) if flags else None
    arguments = (api.tensor(floats(3)), c_char_p(step), array, api.tensor(floats(3)))
    return api.prepare("aclnnFakeFail", *arguments)


def test_tiling_failure_carries_the_reason(api: Api) -> None:
    status, _, executor = fail(api, b"tiling")
    assert status == TILING and executor.value is None
    assert api.error() == (
        "aclnnFakeFail: tiling of FakeFail failed: the tile of 7 does not divide 5"
    )


def test_null_attr(api: Api) -> None:
    assert fail(api, b"none", flags=None)[0] == NULLPTR
    assert "attr 'flags' is null" in api.error()


def test_kernel_failure_is_reported_by_phase_2(api: Api) -> None:
    status, size, executor = fail(api, b"launch")
    assert status == 0
    assert api.launch("aclnnFakeFail", size, executor) == INNER
    assert api.error() == "aclnnFakeFail: the kernel trapped"


def test_phase_2_refuses_null_dead_and_foreign_executors(api: Api) -> None:
    assert api.launch("aclnnFakeAdd", 64, None) == NULLPTR
    assert "executor is null" in api.error()
    _, size, executor = add(api)
    assert api.launch("aclnnFakeStep", size, executor) == INVALID
    assert "belongs to aclnnFakeAdd" in api.error()
    assert api.launch("aclnnFakeAdd", size, executor) == 0
    assert api.launch("aclnnFakeAdd", size, executor) == INVALID
    assert "dead" in api.error()
    assert api.lib.aclDestroyAclOpExecutor(executor) == 0  # as CANN's samples do after a launch


def test_phase_2_checks_the_workspace(api: Api) -> None:
    _, size, executor = add(api)
    assert size == 64
    assert api.launch("aclnnFakeAdd", 32, executor) == INVALID
    assert api.launch("aclnnFakeAdd", 64, executor, workspace=0) == NULLPTR
    assert api.launch("aclnnFakeAdd", 64, executor) == 0


def test_tensors_may_be_destroyed_before_the_launch(api: Api) -> None:
    x, z = floats(3), np.zeros(3, np.float32)
    tensors = [api.tensor(x), api.tensor(z)]
    _, size, executor = api.prepare("aclnnFakeAdd", tensors[0], None, tensors[1])
    assert [api.lib.aclDestroyTensor(t) for t in tensors] == [0, 0]
    assert api.launch("aclnnFakeAdd", size, executor) == 0
    np.testing.assert_array_equal(z, np.maximum(x, 0))


def test_repeatable_executor_takes_new_addresses(api: Api) -> None:
    first, second, z = floats(3), floats(3) + 1, np.zeros(3, np.float32)
    _, size, executor = api.prepare("aclnnFakeAdd", api.tensor(first), None, api.tensor(z))
    address = c_void_p(second.ctypes.data)
    assert api.lib.aclSetInputTensorAddr(executor, c_uint64(0), None, address) == INVALID
    assert api.lib.aclSetAclOpExecutorRepeatable(executor) == 0
    assert api.launch("aclnnFakeAdd", size, executor) == 0
    np.testing.assert_array_equal(z, np.maximum(first, 0))
    assert api.lib.aclSetInputTensorAddr(executor, c_uint64(0), None, address) == 0
    assert api.launch("aclnnFakeAdd", size, executor) == 0
    np.testing.assert_array_equal(z, np.maximum(second, 0))
    other = np.zeros(3, np.float32)
    # inputs x and y, so flat index 2 is the output
    assert api.lib.aclSetTensorAddr(executor, c_uint64(2), None, c_void_p(other.ctypes.data)) == 0
    assert api.launch("aclnnFakeAdd", size, executor) == 0
    np.testing.assert_array_equal(other, z)
    assert api.lib.aclSetOutputTensorAddr(executor, c_uint64(5), None, address) == INVALID
    assert api.lib.aclDestroyAclOpExecutor(executor) == 0


def test_descriptors_answer_questions(api: Api) -> None:
    base = floats(4, 6)
    tensor = api.tensor(base, view=base[1:, ::2])
    dims, count = ctypes.POINTER(c_int64)(), c_uint64()
    assert api.lib.aclGetViewShape(tensor, byref(dims), byref(count)) == 0
    assert dims[: count.value] == [3, 3]
    assert api.lib.aclGetViewStrides(tensor, byref(dims), byref(count)) == 0
    assert dims[: count.value] == [6, 2]
    assert api.lib.aclGetStorageShape(tensor, byref(dims), byref(count)) == 0
    assert dims[: count.value] == [24]
    offset, dtype, data = c_int64(), ctypes.c_int(-1), c_void_p()
    assert api.lib.aclGetViewOffset(tensor, byref(offset)) == 0 and offset.value == 6
    assert api.lib.aclGetDataType(tensor, byref(dtype)) == 0 and dtype.value == FLOAT
    assert api.lib.aclGetRawTensorAddr(tensor, byref(data)) == 0
    assert data.value == base.ctypes.data
    assert api.lib.aclGetDataType(None, byref(dtype)) == NULLPTR
    assert (
        api.lib.aclCreateTensor(None, c_uint64(2), 0, None, c_int64(0), 2, None, c_uint64(0), None)
        is None
    )


def test_the_package_finds_its_parts_beside_itself(api: Api, fake_vendor: Path) -> None:
    add(api)
    loaded = api.lib.fake_loaded().decode().splitlines()
    kernel, host = (line.replace("/op_api/lib/../..", "") for line in loaded)
    folder = fake_vendor / "op_impl" / "ai_core" / "tbe" / "kernel"
    assert kernel == f"FakeAdd||float32,float32,float32|{folder}/ascend910b/fake.so|fake_add"
    assert host == f"{folder}/../host.so"
