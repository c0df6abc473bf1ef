"""Names that CANN's host headers bring along and op_host sources rely on."""

import ctypes

from msopgen_wrap.build.emulation import compile_shared

SOURCE = r"""
#include "register/op_def_registry.h"
#include "tiling/tiling_api.h"
#include "hcom/hcom_topo_info.h"
#include "hccl/hcom.h"
#include "hccl/hccl.h"
#include "runtime/rt_external_base.h"
#include "tiling/matrix/matmul_tilingdata.h"
#include "tiling/select/selectwithbytesmask_tiling.h"
using namespace ge;
using namespace AscendC;

namespace optiling {
BEGIN_TILING_DATA_DEF(GatherTiling)
TILING_DATA_FIELD_DEF_STRUCT(Mc2InitTiling, init);
TILING_DATA_FIELD_DEF_STRUCT(Mc2CcTiling, task);
END_TILING_DATA_DEF;
}

extern "C" int Names() {
    const string text = "ab";
    const vector<uint32_t> sizes = {ONE_BLK_SIZE, BLOCK_CUBE, std::max(ONE_BLK_SIZE, 2U)};
    return static_cast<int>(text.size() + sizes[0] + sizes[1]);
}
static_assert(HCCL_SUCCESS == 0, "the C interface's");
static_assert(sizeof(HcclRootInfo) == HCCL_ROOT_INFO_BYTES);
static_assert(std::is_same_v<decltype(&HcclGetRankSize), HcclResult (*)(HcclComm, uint32_t*)>);
extern "C" int HalfSize() { return sizeof(half); }
extern "C" int Spec(const char* key, char* value, uint32_t bytes) {
    return rtGetSocSpec("version", key, value, bytes) == RT_ERROR_NONE;
}
extern "C" int Ranks() {
    int64_t ranks = 0;
    return HcomTopoInfo::Instance().GetGroupRankSize("group", ranks) == SUCCESS ? ranks : -1;
}
extern "C" int Communication(const char* group, uint32_t task) {
    optiling::GatherTiling data;
    Mc2CcTilingConfig config(group, task, "AllGather=level0:doublering");
    config.SetStepSize(3);
    if (config.GetTiling(data.init) != 0 || config.GetTiling(data.task) != 0) return -1;
    ::Mc2CcTiling plain;
    config.GetTiling(plain);
    Mc2HcommCfg seen;
    static_assert(sizeof(seen) == sizeof(plain), "documented size");
    std::memcpy(&seen, plain.reserved, sizeof(seen));
    return std::memcmp(data.task.get_reserved(), plain.reserved, sizeof(seen)) == 0 &&
                   string(seen.groupName) == group
               ? seen.opType * 10 + seen.stepSize
               : -2;
}
"""


def test_names(tmp_path):
    source = tmp_path / "names.cpp"
    source.write_text(SOURCE)
    host = ctypes.CDLL(str(compile_shared([source], opt="-O0")))
    assert host.Names() == 2 + 32 + 16
    assert host.HalfSize() == 8  # as in CANN
    assert host.Ranks() == 1
    assert host.Communication(b"tp", 6) == 63
    assert host.Communication(b"tp", 0) == -1
    assert host.Communication(b"x" * 129, 6) == -1


def test_platform_of_the_runtime(tmp_path):
    source = tmp_path / "names.cpp"
    source.write_text(SOURCE)
    host = ctypes.CDLL(str(compile_shared([source], opt="-O0")))
    value = ctypes.create_string_buffer(16)
    assert host.Spec(b"NpuArch", value, 16) == 1 and value.value == b"2201"
    assert host.Spec(b"Short_SoC_version", value, 16) == 1 and value.value == b"Ascend910B"
    assert host.Spec(b"Short_SoC_version", value, 10) == 0  # one byte short
    assert host.Spec(b"NoSuchKey", value, 16) == 0


def test_communication_domains_that_a_repository_declares_itself(tmp_path):
    """Its header has the functions it calls; their definitions are CANN's, here the library's."""
    source = tmp_path / "own.cpp"
    source.write_text(
        "#include <cstdint>\n"
        "namespace ge { using Status = uint32_t; class HcomTopoInfo { public:\n"
        "  static HcomTopoInfo& Instance();\n"
        "  Status GetGroupRankSize(const char* group, int64_t& rank_size); }; }\n"
        'extern "C" int Ranks() { int64_t n = 0;\n'
        '  return ge::HcomTopoInfo::Instance().GetGroupRankSize("group", n) == 0 ? n : -1; }\n'
    )
    assert ctypes.CDLL(str(compile_shared([source], opt="-O0"))).Ranks() == 1
