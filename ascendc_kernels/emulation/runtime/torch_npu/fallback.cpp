// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Built-in ATen operators on the emulated NPU. torch_npu registers its own kernels for its
// dispatch key, which call operators that only exist on hardware; here each is overridden by one
// boxed kernel that runs PyTorch's CPU (or composite) implementation on the shared memory.
#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "alias.h"
#include "random.h"

namespace c10_npu {
bool npuSynchronizeDevice(bool check_error);  // torch_npu, exported
}  // namespace c10_npu

namespace opgen_npu {
namespace {

using c10::DispatchKey;
using c10::OperatorHandle;
using torch::jit::Stack;

// Operators which take CPU tensors beside NPU ones on hardware too; for all others torch's rule
// holds: same device, except zero-dimensional CPU tensors.
bool MixesDevices(const std::string& name) {
    static const std::unordered_set<std::string> kNames = {"aten::copy_",
                                                           "aten::_copy_from",
                                                           "aten::_copy_from_and_resize",
                                                           "aten::index.Tensor",
                                                           "aten::index_put_",
                                                           "aten::index_put",
                                                           "aten::_index_put_impl_",
                                                           "aten::index.Tensor_out",
                                                           "aten::_unsafe_index.Tensor",
                                                           "aten::_unsafe_index_put",
                                                           "aten::_pack_padded_sequence",
                                                           "aten::set_data",
                                                           "aten::_ctc_loss.Tensor",
                                                           "aten::_ctc_loss",
                                                           "aten::_ctc_loss_backward",
                                                           "aten::_ctc_loss_backward.Tensor",
                                                           "aten::is_set_to",
                                                           "aten::repeat_interleave.Tensor",
                                                           "aten::_foreach_copy_",
                                                           "aten::_foreach_copy"};
    return kNames.count(name) != 0;
}

// Calls visit(tensor) for each defined tensor in the arguments, inside lists too.
template <typename Visit>
void VisitTensors(const c10::IValue& value, Visit visit) {
    if (value.isTensor()) {
        if (value.toTensor().defined()) visit(value.toTensor());
    } else if (value.isTensorList() || value.isOptionalTensorList() || value.isList()) {
        for (const c10::IValue& element : value.toListRef()) VisitTensors(element, visit);
    }
}

c10::IValue MapTensors(const c10::IValue& value, AliasMap& map, c10::Device device, bool to_cpu) {
    auto convert = [&](const at::Tensor& tensor) {
        if (to_cpu) return IsNpu(tensor) ? map.ToCpu(tensor) : tensor;
        return map.ToNpu(tensor, device);
    };
    if (value.isTensor()) return convert(value.toTensor());
    if (value.isTensorList()) {
        c10::List<at::Tensor> list;
        for (const c10::IValue& element : value.toListRef()) {
            list.push_back(convert(element.toTensor()));
        }
        return list;
    }
    if (value.isOptionalTensorList()) {
        c10::List<std::optional<at::Tensor>> list;
        for (const c10::IValue& element : value.toListRef()) {
            if (element.isNone()) {
                list.push_back(std::nullopt);
            } else {
                list.push_back(convert(element.toTensor()));
            }
        }
        return list;
    }
    return value;
}

// The device the call is about: that of the first NPU tensor, else that of a Device argument.
std::optional<c10::Device> CallDevice(const OperatorHandle& op, const c10::IValue* arguments,
                                      size_t count) {
    std::optional<c10::Device> device;
    std::optional<c10::Device> other;
    for (size_t i = 0; i < count; ++i) {
        VisitTensors(arguments[i], [&](const at::Tensor& tensor) {
            if (IsNpu(tensor)) {
                if (!device) device = tensor.device();
                if (*device != tensor.device()) other = tensor.device();
            } else if (tensor.dim() > 0 && tensor.device().type() == c10::DeviceType::CPU) {
                other = tensor.device();
            }
        });
    }
    if (device && other) {
        const std::string name = c10::toString(op.schema().operator_name());
        TORCH_CHECK(MixesDevices(name),
                    "Expected all tensors to be on the same device, but found at least two "
                    "devices, ",
                    *device, " and ", *other, "! (", name, ")");
    }
    if (device) return device;
    for (size_t i = 0; i < count; ++i) {
        if (arguments[i].isDevice() &&
            arguments[i].toDevice().type() == c10::DeviceType::PrivateUse1) {
            return arguments[i].toDevice();
        }
    }
    return std::nullopt;
}

c10::Device WithIndex(c10::Device device) {
    if (device.has_index()) return device;
    c10::impl::VirtualGuardImpl guard(c10::DeviceType::PrivateUse1);
    return guard.getDevice();
}

bool IsRandom(const OperatorHandle& op) { return op.hasTag(at::Tag::nondeterministic_seeded); }

// Runs the implementation at `key` (CPU, SparseCPU, ...) on aliases of the arguments.
void RunOnCpu(const OperatorHandle& op, Stack* stack, DispatchKey key) {
    const c10::FunctionSchema& schema = op.schema();
    const size_t count = schema.arguments().size();
    const size_t begin = stack->size() - count;
    std::optional<c10::Device> found = CallDevice(op, stack->data() + begin, count);
    const c10::Device device = WithIndex(found.value_or(c10::Device(c10::DeviceType::PrivateUse1)));
    c10::OptionalDeviceGuard guard(device);

    // Custom operators wait in torch_npu's task queue; what they write must be there first.
    c10_npu::npuSynchronizeDevice(true);

    // The NPU arguments stay alive here: returns refer to them.
    std::vector<c10::IValue> originals(stack->begin() + begin, stack->end());
    AliasMap map;
    bool has_generator = false;
    for (size_t i = 0; i < count; ++i) {
        c10::IValue& value = (*stack)[begin + i];
        const c10::Argument& argument = schema.arguments()[i];
        if (value.isDevice()) {
            if (value.toDevice().type() == c10::DeviceType::PrivateUse1) {
                value = c10::Device(c10::DeviceType::CPU);
            }
        } else if (argument.name() == "generator" || value.isGenerator()) {
            std::optional<at::Generator> given;
            if (value.isGenerator()) given = value.toGenerator();
            value = NextCpuGenerator(given, device);
            has_generator = true;
        } else if (argument.name() == "pin_memory" && value.isBool()) {
            value = false;
        } else {
            value = MapTensors(value, map, device, /*to_cpu=*/true);
        }
    }
    {
        at::AutoDispatchBelowADInplaceOrView below;
        std::unique_ptr<DefaultGeneratorScope> random;
        if (IsRandom(op) && !has_generator) {
            random = std::make_unique<DefaultGeneratorScope>(device);
        }
        op.redispatchBoxed(c10::DispatchKeySet(key), stack);
    }
    map.CommitChanges();

    const size_t first = stack->size() - schema.returns().size();
    for (size_t i = 0; i < schema.returns().size(); ++i) {
        const c10::AliasInfo* info = schema.returns()[i].alias_info();
        c10::IValue& value = (*stack)[first + i];
        bool replaced = false;
        if (info != nullptr && info->isWrite()) {
            for (size_t j = 0; j < count && !replaced; ++j) {
                const c10::AliasInfo* argument = schema.arguments()[j].alias_info();
                if (argument != nullptr && argument->isWrite() &&
                    argument->beforeSets() == info->beforeSets()) {
                    value = originals[j];
                    replaced = true;
                }
            }
        }
        if (!replaced) value = MapTensors(value, map, device, /*to_cpu=*/false);
    }
}

template <DispatchKey key>
void CpuKernel(const OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    RunOnCpu(op, stack, key);
}

// Sparse tensors are rebuilt around shared memory for each call, so a kernel that would change one
// in place would change the copy.
template <DispatchKey key>
void SparseKernel(const OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    const auto& arguments = op.schema().arguments();
    const size_t begin = stack->size() - arguments.size();
    for (size_t i = 0; i < arguments.size(); ++i) {
        const c10::AliasInfo* info = arguments[i].alias_info();
        const c10::IValue& value = (*stack)[begin + i];
        bool written = info != nullptr && info->isWrite() && value.isTensor();
        TORCH_CHECK_NOT_IMPLEMENTED(!written || value.toTensor().layout() == at::kStrided,
                                    "operator ", op.schema().operator_name(),
                                    " is not emulated: it writes a sparse npu tensor");
    }
    RunOnCpu(op, stack, key);
}

// torch's own composite kernels, run on the NPU tensors: what they call comes back here.
void CompositeExplicitKernel(const OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    op.callBoxedForDispatchKey(DispatchKey::CompositeExplicitAutograd, *stack);
}

void CompositeImplicitKernel(const OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    op.callBoxedForDispatchKey(DispatchKey::CompositeImplicitAutograd, *stack);
}

// torch's own derivative formulas in place of torch_npu's, which call hardware operators.
void StockAutogradKernel(const OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    op.callBoxedForDispatchKey(DispatchKey::Autograd, *stack);
}

void NotEmulatedKernel(const OperatorHandle& op, c10::DispatchKeySet, Stack*) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        false, "operator ", op.schema().operator_name(),
        " is not emulated: opgen's emulated NPU has no implementation of it. It may well exist on "
        "a real NPU.");
}

// _copy_from(self, dst) and _copy_from_and_resize(self, dst): copy_ with the arguments turned.
void CopyFromKernel(const OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    bool resize = op.schema().name() == "aten::_copy_from_and_resize";
    const size_t begin = stack->size() - op.schema().arguments().size();
    at::Tensor source = (*stack)[begin].toTensor();
    at::Tensor target = (*stack)[begin + 1].toTensor();
    torch::jit::drop(*stack, op.schema().arguments().size());
    if (resize && target.sizes() != source.sizes()) target.resize_(source.sizes());
    target.copy_(source);
    stack->emplace_back(target);
}

// Allocates nothing: a tensor of symbolic zeros has a device and no memory.
struct NothingAllocator final : c10::Allocator {
    explicit NothingAllocator(c10::Device device) : device_(device) {}
    c10::DataPtr allocate(size_t) override { return {nullptr, nullptr, &DeleteNothing, device_}; }
    static void DeleteNothing(void*) {}
    c10::DeleterFnPtr raw_deleter() const override { return &DeleteNothing; }
    void copy_data(void*, const void*, size_t) const override {}
    c10::Device device_;
};

// _efficientzerotensor(size, dtype, layout, device, pin_memory): the gradient formulas return it.
void ZeroTensorKernel(const OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    const size_t begin = stack->size() - op.schema().arguments().size();
    const Stack arguments(stack->begin() + begin, stack->end());
    torch::jit::drop(*stack, op.schema().arguments().size());
    c10::Device device(c10::DeviceType::PrivateUse1);
    if (arguments[3].isDevice()) device = arguments[3].toDevice();
    device = WithIndex(device);
    NothingAllocator allocator(device);
    at::ScalarType dtype = arguments[1].isNone() ? c10::get_default_dtype_as_scalartype()
                                                 : arguments[1].toScalarType();
    c10::DispatchKeySet keys(DispatchKey::PrivateUse1);
    at::Tensor zero = at::detail::empty_generic(arguments[0].toIntVector(), &allocator,
                                                keys.add(DispatchKey::ZeroTensor), dtype,
                                                c10::MemoryFormat::Contiguous);
    stack->emplace_back(zero);
}

// Fused attention kernels exist per device; the mathematical form works everywhere.
void MathAttentionKernel(const OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    torch::jit::drop(*stack, op.schema().arguments().size());
    stack->emplace_back(static_cast<int64_t>(0));
}

// torch_npu's kernels that only manage memory and metadata; they work on emulated memory as is.
bool KeepsTorchNpuKernel(const std::string& name) {
    static const std::unordered_set<std::string> kNames = {
        "aten::empty.memory_format",
        "aten::empty_strided",
        "aten::new_empty_strided",
        "aten::empty_with_format",
        "aten::empty_with_format.names",
        "aten::unsafe_empty_with_format",
        "aten::empty_with_swapped_memory",
        "aten::resize_",
        "aten::resize_as_",
        "aten::as_strided",
        "aten::as_strided_",
        "aten::view",
        "aten::_reshape_alias",
        "aten::set_",
        "aten::set_.source_Tensor",
        "aten::set_.source_Storage",
        "aten::set_.source_Storage_storage_offset",
        "aten::record_stream",
        "aten::is_pinned",
        "aten::pin_memory",
        "aten::_pin_memory",
        "aten::get_storage_size",
        "aten::get_npu_format",
        "aten::npu_change_data_ptr",
        "aten::copy_memory_",
        "aten::_has_compatible_shallow_copy_type"};
    return kNames.count(name) != 0;
}

bool HasDeviceArgument(const c10::FunctionSchema& schema) {
    for (const c10::Argument& argument : schema.arguments()) {
        if (argument.name() == "device") return true;
    }
    return false;
}

bool ReturnsView(const c10::FunctionSchema& schema) {
    for (const c10::Argument& result : schema.returns()) {
        if (result.alias_info() != nullptr && !result.alias_info()->isWrite()) return true;
    }
    return false;
}

// Composite kernels that must see the NPU tensors: they create tensors, return views, or draw
// random numbers through operators that take a generator.
bool RunsComposite(const OperatorHandle& op) {
    static const std::unordered_set<std::string> kNames = {"aten::clone", "aten::_lazy_clone",
                                                           "aten::empty_like"};
    return HasDeviceArgument(op.schema()) || ReturnsView(op.schema()) || IsRandom(op) ||
           kNames.count(c10::toString(op.schema().operator_name())) != 0;
}

struct Summary {
    int cpu = 0;
    int composite = 0;
    int autograd = 0;
    int refused = 0;
    int kept = 0;
};

class Registrar {
 public:
    Registrar()
        : aten_("aten", DispatchKey::PrivateUse1),
          autograd_("aten", DispatchKey::AutogradPrivateUse1),
          npu_("npu", DispatchKey::PrivateUse1),
          sparse_("aten", DispatchKey::SparsePrivateUse1),
          compressed_("aten", DispatchKey::SparseCsrPrivateUse1) {}

    // Sparse operators: torch_npu has none of its own, torch registers some for any backend.
    void AddSparse(const OperatorHandle& op) {
        const std::string name = c10::toString(op.schema().operator_name());
        if (op.hasKernelForDispatchKey(DispatchKey::SparseCPU) &&
            !op.hasKernelForDispatchKey(DispatchKey::SparsePrivateUse1)) {
            Implement<&SparseKernel<DispatchKey::SparseCPU>>(sparse_, name, summary.cpu);
        }
        if (op.hasKernelForDispatchKey(DispatchKey::SparseCsrCPU) &&
            !op.hasKernelForDispatchKey(DispatchKey::SparseCsrPrivateUse1)) {
            Implement<&SparseKernel<DispatchKey::SparseCsrCPU>>(compressed_, name, summary.cpu);
        }
    }

    // torch_npu's own operators: those with a CPU kernel or that only look at memory stay, the
    // rest fails by name until Python registers a reference implementation over it.
    void AddNpu(const OperatorHandle& op) {
        static const std::unordered_set<std::string> kKept = {
            "npu::copy_memory_", "npu::get_npu_format", "npu::get_storage_size",
            "npu::npu_change_data_ptr"};
        const std::string name = c10::toString(op.schema().operator_name());
        if (!op.hasKernelForDispatchKey(DispatchKey::PrivateUse1)) return;
        if (op.hasKernelForDispatchKey(DispatchKey::CPU) || kKept.count(name) != 0) {
            ++summary.kept;
            return;
        }
        Implement<&NotEmulatedKernel>(npu_, name, summary.refused);
    }

    void Add(const OperatorHandle& op) {
        const std::string name = c10::toString(op.schema().operator_name());
        bool owned = op.hasKernelForDispatchKey(DispatchKey::PrivateUse1);
        bool owned_autograd = op.hasKernelForDispatchKey(DispatchKey::AutogradPrivateUse1);
        bool cpu = op.hasKernelForDispatchKey(DispatchKey::CPU);
        bool implicit = op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd);
        bool explicit_kernel =
            op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd) ||
            op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional);
        if (KeepsTorchNpuKernel(name)) {
            ++summary.kept;
            return;
        }
        if (name == "aten::_copy_from" || name == "aten::_copy_from_and_resize") {
            Implement<&CopyFromKernel>(aten_, name, summary.cpu);
        } else if (name == "aten::_efficientzerotensor") {
            Implement<&ZeroTensorKernel>(aten_, name, summary.cpu);
        } else if (name == "aten::_fused_sdp_choice") {
            Implement<&MathAttentionKernel>(aten_, name, summary.composite);
        } else if (implicit && (!cpu || !op.hasKernelForDispatchKey(DispatchKey::Autograd))) {
            // A kernel at the backend's own key takes the derivative of the composite one away, so
            // the composite kernel goes in at both keys, and nowhere when torch_npu has none.
            if (owned) Implement<&CompositeImplicitKernel>(aten_, name, summary.composite);
            if (owned || owned_autograd) {
                Implement<&CompositeImplicitKernel>(autograd_, name, summary.autograd);
            }
            return;
        } else if (cpu) {
            Implement<&CpuKernel<DispatchKey::CPU>>(aten_, name, summary.cpu);
        } else if (explicit_kernel) {
            if (!owned) return;  // the dispatcher already chose the composite kernel
            if (RunsComposite(op) &&
                op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd)) {
                Implement<&CompositeExplicitKernel>(aten_, name, summary.composite);
            } else {
                Implement<&CpuKernel<DispatchKey::CPU>>(aten_, name, summary.cpu);
            }
        } else if (owned) {
            Implement<&NotEmulatedKernel>(aten_, name, summary.refused);
        }
        if (owned_autograd && op.hasKernelForDispatchKey(DispatchKey::Autograd)) {
            Implement<&StockAutogradKernel>(autograd_, name, summary.autograd);
        }
    }

    Summary summary;

 private:
    struct Target {
        std::unique_ptr<torch::Library> library;
        Target(const char* ns, DispatchKey key)
            : library(std::make_unique<torch::Library>(torch::Library::IMPL, ns, key, __FILE__,
                                                       __LINE__)) {}
    };

    template <void (*Kernel)(const OperatorHandle&, c10::DispatchKeySet, Stack*)>
    void Implement(Target& target, const std::string& name, int& counter) {
        target.library->impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<Kernel>());
        ++counter;
    }

    Target aten_;
    Target autograd_;
    Target npu_;
    Target sparse_;
    Target compressed_;
};

// Replacing a kernel is what this file is for; torch would warn about each first one.
class QuietWarnings : public c10::WarningHandler {
 public:
    void process(const c10::Warning&) override {}
};

}  // namespace
}  // namespace opgen_npu

// Overrides torch_npu's kernels, once per process. Returns a static text that counts what was
// registered ("cpu=.. composite=.. autograd=.. refused=.. kept=..").
extern "C" __attribute__((visibility("default"))) const char* opgen_npu_register_fallback() {
    using namespace opgen_npu;  // NOLINT
    static const std::string text = [] {
        QuietWarnings quiet;
        c10::WarningUtils::WarningHandlerGuard guard(&quiet);
        // Never destroyed: deregistering at exit would race with torch_npu's own teardown.
        auto* registrar = new Registrar;
        for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
            auto op = c10::Dispatcher::singleton().findSchema(name);
            if (!op.has_value()) continue;
            if (name.name.rfind("aten::", 0) == 0) {
                registrar->Add(*op);
                registrar->AddSparse(*op);
            }
            if (name.name.rfind("npu::", 0) == 0) registrar->AddNpu(*op);
        }
        const Summary& s = registrar->summary;
        return "cpu=" + std::to_string(s.cpu) + " composite=" + std::to_string(s.composite) +
               " autograd=" + std::to_string(s.autograd) + " refused=" + std::to_string(s.refused) +
               " kept=" + std::to_string(s.kept);
    }();
    return text.c_str();
}
