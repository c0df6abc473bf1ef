// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "alias.h"

#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/ops/_sparse_compressed_tensor_unsafe.h>
#include <ATen/ops/_sparse_coo_tensor_unsafe.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/zeros.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include <cstring>

namespace opgen_npu {
namespace {

void ReleaseStorage(void* context) { delete static_cast<c10::Storage*>(context); }

// A CPU storage over a device storage's bytes, keeping the latter alive. It is resizable with the
// CPU allocator, so that out= kernels may grow it; CommitChanges then moves the result back.
c10::Storage AliasStorage(const c10::Storage& device) {
    auto* keep_alive = new c10::Storage(device);
    c10::DataPtr data(device.mutable_data(), keep_alive, &ReleaseStorage,
                      c10::Device(c10::DeviceType::CPU));
    return c10::Storage(c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), device.nbytes(), std::move(data),
        c10::GetCPUAllocator(), /*resizable=*/true));
}

// Bytes from the first to past the last element that sizes and strides reach.
size_t ExtentBytes(const at::Tensor& tensor) {
    if (tensor.numel() == 0) return 0;
    int64_t last = 0;
    for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
        last += (tensor.size(dim) - 1) * tensor.stride(dim);
    }
    return static_cast<size_t>(last + 1) * tensor.element_size();
}

void CopyBytes(const at::Tensor& to, const at::Tensor& from) {
    size_t bytes = ExtentBytes(from);
    if (bytes != 0) std::memcpy(to.mutable_data_ptr(), from.const_data_ptr(), bytes);
}

bool SameGeometry(const at::Tensor& a, const at::Tensor& b) {
    return a.sizes() == b.sizes() && a.strides() == b.strides() &&
           a.storage_offset() == b.storage_offset();
}

// Some kernels compute what only a backward pass needs when an input requires grad; autograd itself
// is switched off around the call.
at::Tensor LikeGrad(at::Tensor cpu, const at::Tensor& npu) {
    if (npu.requires_grad()) cpu.set_requires_grad(true);
    return cpu;
}

}  // namespace

at::Tensor AliasMap::ToCpu(const at::Tensor& npu) { return LikeGrad(Alias(npu), npu); }

at::Tensor AliasMap::Alias(const at::Tensor& npu) {
    if (npu.layout() == at::kSparse) {
        return at::_sparse_coo_tensor_unsafe(
            ToCpu(npu._indices()), ToCpu(npu._values()), npu.sizes(),
            npu.options().device(c10::DeviceType::CPU), npu.is_coalesced());
    }
    if (at::sparse_csr::is_sparse_compressed(npu)) {
        bool rows = npu.layout() == at::kSparseCsr || npu.layout() == at::kSparseBsr;
        return at::_sparse_compressed_tensor_unsafe(
            ToCpu(rows ? npu.crow_indices() : npu.ccol_indices()),
            ToCpu(rows ? npu.col_indices() : npu.row_indices()), ToCpu(npu.values()), npu.sizes(),
            npu.options().device(c10::DeviceType::CPU));
    }
    if (npu._is_zerotensor() || !npu.has_storage()) {
        // A tensor of symbolic zeros has no memory to share.
        return at::zeros(npu.sizes(), npu.options().device(c10::DeviceType::CPU));
    }
    c10::Storage storage;
    for (const Entry& entry : entries_) {
        if (entry.npu.unsafeGetTensorImpl() == npu.unsafeGetTensorImpl()) return entry.cpu;
        if (entry.npu.storage().unsafeGetStorageImpl() == npu.storage().unsafeGetStorageImpl()) {
            storage = entry.cpu.storage();
        }
    }
    if (!storage) storage = AliasStorage(npu.storage());
    auto impl = c10::make_intrusive<c10::TensorImpl>(
        std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), npu.dtype());
    impl->set_sizes_and_strides(npu.sizes(), npu.strides(), npu.storage_offset());
    if (npu.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
    at::Tensor cpu(std::move(impl));
    if (npu.is_conj()) cpu._set_conj(true);
    if (npu.is_neg()) cpu._set_neg(true);
    entries_.push_back(Entry{npu, cpu, cpu.storage().mutable_data()});
    return cpu;
}

void AliasMap::CommitChanges() {
    for (Entry& entry : entries_) {
        bool moved = entry.cpu.storage().mutable_data() != entry.data;
        if (!moved && SameGeometry(entry.npu, entry.cpu)) continue;
        c10::TensorImpl* impl = entry.npu.unsafeGetTensorImpl();
        if (moved) {
            // torch_npu's resize_ grows the storage and keeps its own description of it in step.
            // The kernel may have chosen strides with gaps, so the extent counts, not the size.
            auto extent = static_cast<int64_t>(ExtentBytes(entry.cpu) / entry.cpu.element_size());
            entry.npu.resize_({extent});
            impl->set_sizes_and_strides(entry.cpu.sizes(), entry.cpu.strides());
            CopyBytes(entry.npu, entry.cpu);
        } else {
            impl->set_sizes_and_strides(entry.cpu.sizes(), entry.cpu.strides(),
                                        entry.cpu.storage_offset());
        }
    }
}

at::Tensor AliasMap::ToNpu(const at::Tensor& cpu, c10::Device device) {
    if (!cpu.defined()) return cpu;
    if (cpu.device().type() != c10::DeviceType::CPU) return cpu;
    if (cpu.layout() == at::kSparse) {
        return at::_sparse_coo_tensor_unsafe(ToNpu(cpu._indices(), device),
                                             ToNpu(cpu._values(), device), cpu.sizes(),
                                             cpu.options().device(device), cpu.is_coalesced());
    }
    if (at::sparse_csr::is_sparse_compressed(cpu)) {
        bool rows = cpu.layout() == at::kSparseCsr || cpu.layout() == at::kSparseBsr;
        return at::_sparse_compressed_tensor_unsafe(
            ToNpu(rows ? cpu.crow_indices() : cpu.ccol_indices(), device),
            ToNpu(rows ? cpu.col_indices() : cpu.row_indices(), device),
            ToNpu(cpu.values(), device), cpu.sizes(), cpu.options().device(device));
    }
    if (cpu.layout() != at::kStrided) return cpu;
    for (const Entry& entry : entries_) {
        if (entry.cpu.unsafeGetTensorImpl() == cpu.unsafeGetTensorImpl()) return entry.npu;
    }
    for (const Entry& entry : entries_) {
        if (cpu.has_storage() && entry.cpu.storage().is_alias_of(cpu.storage()) &&
            entry.npu.scalar_type() == cpu.scalar_type()) {
            return at::as_strided(entry.npu, cpu.sizes(), cpu.strides(), cpu.storage_offset());
        }
    }
    return CopyToNpu(cpu, device);
}

at::Tensor CopyToNpu(const at::Tensor& cpu, c10::Device device) {
    const at::TensorOptions options = cpu.options().device(device).pinned_memory(false);
    at::Tensor npu = at::empty_strided(cpu.sizes(), cpu.strides(), options);
    CopyBytes(npu, cpu);
    if (cpu.is_conj()) npu._set_conj(true);
    if (cpu.is_neg()) npu._set_neg(true);
    return npu;
}

}  // namespace opgen_npu
