// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Autograd for calls that ask no gradient: goes on below autograd at once. The kernel that the
// Python package registers costs as much as a small op, only to find that nothing is to be
// recorded.
//
// A library of its own, bound to one torch version: torch's stable interface cannot go on below a
// dispatch key. It knows no op and no vendor; without it every call takes the Python kernel.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/GradMode.h>

#include <exception>
#include <optional>

namespace {

bool AsksGradient(const at::Tensor& tensor) {
    // A tangent of forward mode (torch has one level) is for the Python kernel to judge.
    return tensor.defined() && (tensor.requires_grad() || tensor._fw_grad(0).defined());
}

bool AsksGradient(const c10::IValue& value) {
    if (value.isTensor()) {
        return AsksGradient(value.toTensor());
    }
    if (value.isList()) {
        for (const c10::IValue& item : value.toListRef()) {
            if (AsksGradient(item)) {
                return true;
            }
        }
    }
    return false;
}

bool AsksGradient(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
    if (!c10::GradMode::is_enabled()) {
        return false;
    }
    for (const c10::IValue& value : torch::jit::last(stack, op.schema().arguments().size())) {
        if (AsksGradient(value)) {
            return true;
        }
    }
    return false;
}

void Enter(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const c10::DispatchKeySet below = keys & c10::after_autograd_keyset;
    if (AsksGradient(op, *stack)) {
        // The kernel of the alias Autograd serves this key too, and nobody takes this key from
        // it: the Python kernel goes on below autograd, with the keys it would have had.
        op.redispatchBoxed(below.add(c10::DispatchKey::AutogradOther), stack);
        return;
    }
    const at::AutoDispatchBelowAutograd guard;
    op.redispatchBoxed(below, stack);
}

}  // namespace

// Put Enter before the autograd kernel of the op `name` ("namespace::op"), for CPU and NPU tensors
// and as long as the process lives. Returns false where torch refuses.
extern "C" __attribute__((visibility("default"))) bool opgen_autograd_entry(const char* name) {
    try {
        for (const c10::DispatchKey key :
             {c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutogradPrivateUse1}) {
            // Never given back: at exit the dispatcher may be gone before this library.
            new c10::RegistrationHandleRAII(c10::Dispatcher::singleton().registerImpl(
                {name, ""}, key, c10::KernelFunction::makeFromBoxedFunction<&Enter>(), std::nullopt,
                nullptr, "opgen's entry to autograd"));
        }
    } catch (const std::exception&) {
        return false;
    }
    return true;
}
