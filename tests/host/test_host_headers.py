"""Names that op_host sources rely on: CANN's host headers, the graph engine, arch 35 templates."""

import ctypes

from msopgen_wrap.build.emulation import compile_shared

# ---- Names that CANN's host headers bring along and op_host sources rely on ----------------------

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


# ---- Names of the graph engine and of arch 35 templates in op_host sources; nobody calls them ----

# Functions of the graph engine, registered by hand beside OP_ADD.
CHECKS = r"""
#include "register/op_check.h"
#include "register/op_def_registry.h"
namespace ops {
static ge::graphStatus Supported(const ge::Operator& op, ge::AscendString& result) {
    const auto shape = op.GetInputDesc("x").GetShape();
    ge::TensorDesc desc;
    if (op.TryGetInputDesc("bias", desc) == ge::GRAPH_SUCCESS || op.GetInputsSize() > 0) return 1;
    if (shape.GetDimNum() != op.GetOutputDesc(0).GetShape().GetDimNum()) return ge::GRAPH_FAILED;
    result = ge::AscendString(R"({"isSupported": "True"})");
    return ge::GRAPH_SUCCESS;
}
static ge::graphStatus General(const ge::Operator&, const ge::AscendString&, ge::AscendString&) {
    return ge::GRAPH_SUCCESS;
}
class Folded : public OpDef {
public:
    explicit Folded(const char* name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->AICore().SetCheckSupport(Supported);
    }
};
static int registered = [](const char* name) {
    Folded def(name);
    optiling::OpCheckFuncHelper(FUNC_CHECK_SUPPORTED, name, def.AICore().GetCheckSupport());
    return 7;
}("Folded");
REG_OP_SELECT_FORMAT(Folded, Supported);
REG_OP_PARAM_GENERALIZE(Folded, General);
}
extern "C" int Registered() {
    ge::AscendString text;
    return ops::registered + (ops::Supported(ge::Operator("x"), text) == ge::GRAPH_SUCCESS);
}
"""


def test_check_functions_are_registered_by_hand(tmp_path):
    source = tmp_path / "checks.cpp"
    source.write_text(CHECKS)
    assert ctypes.CDLL(str(compile_shared([source], opt="-O0"))).Registered() == 8


# What headers of ops with kernels for several architectures name of the arch 35 templates.
ATVOSS = r"""
#include "atvoss/broadcast/broadcast_tiling.h"
#include "atvoss/elewise/elewise_tiling.h"
#include "atvoss/reduce/reduce_tiling.h"
#include "op_common/atvoss/elewise/elewise_base_struct.h"
using namespace Ops::Base;
struct RegbaseData { EleBaseTilingDataV2 base; float limit; };
class RegbaseTiling {
public:
    explicit RegbaseTiling(gert::TilingContext* context) : context_(context) {}
    ge::graphStatus Elewise() {
        RegbaseData data;
        ElewiseBaseTiling tiling(context_);
        return tiling.DoTiling<int>(data.base, 1024);
    }
    ge::graphStatus Broadcast() {
        BroadcastBaseTiling<int> tiling(context_);
        tiling.SetScalar<float>(1.0F);
        return tiling.DoTiling();
    }
private:
    gert::TilingContext* context_;
    ReduceTilingKey key_;
};
extern "C" int Failures() {
    RegbaseTiling tiling(nullptr);
    return (tiling.Elewise() == ge::GRAPH_FAILED) + (tiling.Broadcast() == ge::GRAPH_FAILED);
}
"""


def test_templates_of_another_architecture_are_named_and_fail(tmp_path):
    source = tmp_path / "atvoss.cpp"
    source.write_text(ATVOSS)
    assert ctypes.CDLL(str(compile_shared([source], opt="-O0"))).Failures() == 2


OWN_LOG_LEVEL = """
#include "toolchain/slog.h"
#include "log/log.h"
int32_t CheckLogLevel(int32_t moduleId, int32_t logLevel) {
    return moduleId == OP && logLevel == DLOG_ERROR;
}
extern "C" int Level()
{
    return CheckLogLevel(OP, DLOG_ERROR) + AlogCheckDebugLevel(OP, DLOG_ERROR);
}
"""


def test_a_log_function_that_a_source_defines_itself(tmp_path):
    """Tests of repositories and some sources stand in for the log library."""
    source = tmp_path / "level.cpp"
    source.write_text(OWN_LOG_LEVEL)
    library = compile_shared([source], output_name="liblevel.so")
    assert ctypes.CDLL(str(library)).Level() >= 1
