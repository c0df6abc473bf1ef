"""Names of the graph engine and of arch 35 templates in op_host sources; nobody calls them."""

import ctypes

from msopgen_wrap.build.emulation import compile_shared

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
