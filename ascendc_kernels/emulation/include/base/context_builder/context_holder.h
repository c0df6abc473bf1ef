// SPDX-License-Identifier: Apache-2.0
// gert::ContextHolder: a context that a builder made, and all it refers to.
#ifndef OPGEN_EMULATION_BASE_CONTEXT_BUILDER_CONTEXT_HOLDER_H
#define OPGEN_EMULATION_BASE_CONTEXT_BUILDER_CONTEXT_HOLDER_H

#include <memory>
#include <utility>
#include <vector>

namespace gert {
class ContextHolderImpl;

// The context lives as long as its holder. Null when the builder was not told enough.
class ContextHolderVoid {
 public:
    ContextHolderVoid();
    explicit ContextHolderVoid(std::unique_ptr<ContextHolderImpl> impl);
    ~ContextHolderVoid();
    ContextHolderVoid(ContextHolderVoid &&other) noexcept;
    ContextHolderVoid &operator=(ContextHolderVoid &&other) noexcept;
    void *GetContext() const;

 private:
    std::unique_ptr<ContextHolderImpl> impl_;
};

template <typename ContextTypeT>
class ContextHolder {
 public:
    ContextHolder() = default;
    explicit ContextHolder(ContextHolderVoid &&holder) : holder_(std::move(holder)) {}
    ContextTypeT *GetContext() { return static_cast<ContextTypeT *>(holder_.GetContext()); }

 private:
    ContextHolderVoid holder_;
};
}  // namespace gert

#endif  // OPGEN_EMULATION_BASE_CONTEXT_BUILDER_CONTEXT_HOLDER_H
