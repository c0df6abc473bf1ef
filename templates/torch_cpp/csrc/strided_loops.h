// Loops over tensors of any strides: elements of a broadcast shape, and rows along some axes.
#ifndef STRIDED_LOOPS_H
#define STRIDED_LOOPS_H

#include <ATen/ExpandUtils.h>
#include <ATen/Parallel.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

namespace loops {

using Sizes = std::vector<int64_t>;
using Tensors = std::initializer_list<at::Tensor>;

// Elements that are worth a task of their own.
constexpr int64_t kGrain = 16384;

// Elements of a tensor along one axis.
template <typename T>
struct Strided {
    T* data;
    int64_t stride;
    T& operator[](int64_t i) const { return data[i * stride]; }
};

inline Sizes CommonShape(Tensors tensors) {
    Sizes shape;
    for (const at::Tensor& tensor : tensors) {
        shape = at::infer_size(shape, tensor.sizes());
    }
    return shape;
}

template <typename T>
at::Tensor Empty(at::IntArrayRef sizes, const at::TensorOptions& options) {
    return at::empty(sizes, options.dtype(c10::CppTypeToScalarType<T>::value));
}

inline void CheckRows(const char* op, const Sizes& shape, const Sizes& expected) {
    TORCH_CHECK(shape == expected, op, ": inputs that are reduced together have the shapes ",
                at::IntArrayRef(shape), " and ", at::IntArrayRef(expected));
}

// A view of `rank` axes where axis i of the tensor is axis places[i]; the others have size 1.
inline at::Tensor Aligned(const at::Tensor& tensor, const Sizes& places, int64_t rank) {
    Sizes sizes(rank, 1);
    Sizes strides(rank, 0);
    for (size_t i = 0; i < places.size(); ++i) {
        sizes[places[i]] = tensor.size(static_cast<int64_t>(i));
        strides[places[i]] = tensor.stride(static_cast<int64_t>(i));
    }
    return tensor.as_strided(sizes, strides);
}

// Axes from `first` on, without the last `kept` ones.
inline Sizes AxisRange(int64_t rank, int64_t first, int64_t kept) {
    Sizes axes;
    for (int64_t axis = first; axis < rank - kept; ++axis) {
        axes.push_back(axis);
    }
    return axes;
}

// Sizes of nested loops, and the strides of several tensors in them.
class Nest {
 public:
    Nest(at::IntArrayRef sizes, const std::vector<at::Tensor>& tensors) {
        data_.reserve(tensors.size());
        strides_.resize(tensors.size());
        for (const at::Tensor& tensor : tensors) {
            data_.push_back(tensor.data_ptr());
        }
        for (int64_t axis = 0; axis < static_cast<int64_t>(sizes.size()); ++axis) {
            Add(sizes[axis], axis, tensors);
        }
    }

    size_t rank() const { return sizes_.size(); }
    size_t tensors() const { return data_.size(); }
    const Sizes& sizes() const { return sizes_; }
    const Sizes& strides(size_t tensor) const { return strides_[tensor]; }
    const void* data(size_t tensor) const { return data_[tensor]; }
    int64_t last() const { return sizes_.empty() ? 1 : sizes_.back(); }
    int64_t stride(size_t tensor) const {
        return strides_[tensor].empty() ? 0 : strides_[tensor].back();
    }

    // The elements of a tensor along the last axis, from an element of the nest on.
    template <typename T>
    Strided<T> From(size_t tensor, int64_t element) const {
        int64_t offset = 0;
        for (size_t axis = rank(); axis-- > 0;) {
            offset += element % sizes_[axis] * strides_[tensor][axis];
            element /= sizes_[axis];
        }
        return {static_cast<T*>(data_[tensor]) + offset, stride(tensor)};
    }

 private:
    // An axis continues the one before it where it does so in every tensor.
    void Add(int64_t size, int64_t axis, const std::vector<at::Tensor>& tensors) {
        if (size == 1) {
            return;
        }
        bool continues = !sizes_.empty();
        for (size_t i = 0; i < tensors.size() && continues; ++i) {
            continues = strides_[i].back() == tensors[i].stride(axis) * size;
        }
        if (continues) {
            sizes_.back() *= size;
        } else {
            sizes_.push_back(size);
        }
        for (size_t i = 0; i < tensors.size(); ++i) {
            if (!continues) {
                strides_[i].push_back(0);
            }
            strides_[i].back() = tensors[i].stride(axis);
        }
    }

    std::vector<void*> data_;
    Sizes sizes_;
    std::vector<Sizes> strides_;
};

// A part of the last axis.
struct Run {
    const Nest& nest;
    int64_t first;
    int64_t length;

    template <typename T>
    Strided<T> at(size_t tensor) const {
        return nest.From<T>(tensor, first);
    }
};

// All elements of a shape that the tensors are broadcast to.
class Elements {
 public:
    Elements(at::IntArrayRef sizes, Tensors tensors)
        : count_(c10::multiply_integers(sizes)), nest_(sizes, Expanded(sizes, tensors)) {}

    int64_t count() const { return count_; }
    const Nest& nest() const { return nest_; }

    // Calls body(run) for parts of rows, on all threads.
    template <typename Body>
    void ForEachRun(const Body& body) const {
        at::parallel_for(0, count_, kGrain, [&](int64_t begin, int64_t end) {
            while (begin < end) {
                const int64_t rest = nest_.last() - begin % nest_.last();
                const int64_t length = std::min(end - begin, rest);
                body(Run{nest_, begin, length});
                begin += length;
            }
        });
    }

 private:
    static std::vector<at::Tensor> Expanded(at::IntArrayRef sizes, Tensors tensors) {
        std::vector<at::Tensor> views;
        for (const at::Tensor& tensor : tensors) {
            views.push_back(tensor.expand(sizes));
        }
        return views;
    }

    int64_t count_;
    Nest nest_;
};

// Rows of a shape along some axes (negative ones count from the end): all elements that differ
// in these axes only.
class Rows {
 public:
    Rows(const Sizes& sizes, const Sizes& axes, Tensors tensors)
        : sizes_(sizes), order_(Order(static_cast<int64_t>(sizes.size()), axes)) {
        const size_t outer = sizes.size() - inner_;
        for (size_t i = 0; i < sizes.size(); ++i) {
            (i < outer ? count_ : columns_) *= sizes[order_[i]];
            packed_.push_back(sizes[order_[i]]);
        }
        Sizes shape(packed_.begin(), packed_.begin() + static_cast<int64_t>(outer));
        const Sizes row_shape = shape;
        shape.push_back(columns_);
        std::vector<at::Tensor> firsts;
        for (const at::Tensor& tensor : tensors) {
            columns_of_.push_back(Packed(tensor, shape));
            const bool empty = columns_ == 0;
            firsts.push_back(empty ? at::empty({}, tensor.options()).expand(row_shape)
                                   : columns_of_.back().select(-1, 0));
        }
        nest_ = std::make_unique<Nest>(row_shape, firsts);
    }

    int64_t count() const { return count_; }
    int64_t columns() const { return columns_; }
    const Nest& nest() const { return *nest_; }  // of the first elements of the rows
    int64_t step(size_t tensor) const { return columns_of_[tensor].stride(-1); }

    // One row of a tensor.
    template <typename T>
    Strided<T> Row(size_t tensor, int64_t row) const {
        T* const first = nest_->From<T>(tensor, row).data;
        return {first, columns_of_[tensor].stride(-1)};
    }

    // Calls body(row) for every row, on all threads.
    template <typename Body>
    void ForEachRow(const Body& body) const {
        const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, columns_));
        at::parallel_for(0, count_, grain, [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                body(row);
            }
        });
    }

    void CheckColumns(const char* op) const {
        TORCH_CHECK(count_ == 0 || columns_ > 0, op,
                    ": a row without elements has no largest or smallest one");
    }

    // Memory for a result with all elements, row by row, and for one with an element per row.
    template <typename T>
    at::Tensor Empty(const at::TensorOptions& options) const {
        return loops::Empty<T>(packed_, options);
    }
    template <typename T>
    at::Tensor EmptyColumn(const at::TensorOptions& options) const {
        return loops::Empty<T>({count_}, options);
    }

    // A result of Empty with its axes in the order of the shape.
    at::Tensor Restored(const at::Tensor& result) const {
        Sizes back(order_.size());
        for (size_t i = 0; i < order_.size(); ++i) {
            back[order_[i]] = static_cast<int64_t>(i);
        }
        return result.permute(back).contiguous();
    }

    // A result of EmptyColumn with the axes of the rows at size 1, or without them.
    at::Tensor RestoredColumn(const at::Tensor& result, bool keepdim) const {
        const size_t outer = sizes_.size() - inner_;
        if (!keepdim) {
            return result.view(at::IntArrayRef(packed_).slice(0, outer));
        }
        Sizes shape = sizes_;
        for (size_t i = outer; i < shape.size(); ++i) {
            shape[order_[i]] = 1;
        }
        return result.view(shape);
    }

 private:
    // Other axes first, then those of the rows.
    Sizes Order(int64_t rank, const Sizes& axes) {
        std::vector<bool> chosen(rank, false);
        for (const int64_t axis : axes) {
            if (rank > 0) {
                chosen[at::maybe_wrap_dim(axis, rank)] = true;
            }
        }
        Sizes order;
        for (const bool wanted : {false, true}) {
            for (int64_t axis = 0; axis < rank; ++axis) {
                if (chosen[axis] == wanted) {
                    order.push_back(axis);
                }
            }
        }
        inner_ = static_cast<size_t>(std::count(chosen.begin(), chosen.end(), true));
        return order;
    }

    // The tensor with its rows as the last axis. Rows that no single stride describes are
    // copied; axes that the tensor is only broadcast along stay so.
    at::Tensor Packed(const at::Tensor& tensor, const Sizes& shape) const {
        at::Tensor view = tensor.expand(sizes_).permute(order_);
        Sizes smaller = shape;
        for (size_t i = 0; i + 1 < shape.size(); ++i) {
            const int64_t axis = static_cast<int64_t>(i);
            if (shape[i] > 1 && view.stride(axis) == 0) {
                view = view.narrow(axis, 0, 1);
                smaller[i] = 1;
            }
        }
        return view.reshape(smaller).expand(shape);
    }

    size_t inner_ = 0;
    int64_t count_ = 1;
    int64_t columns_ = 1;
    Sizes sizes_;
    Sizes order_;
    Sizes packed_;
    std::vector<at::Tensor> columns_of_;
    std::unique_ptr<Nest> nest_;
};

}  // namespace loops

#endif  // STRIDED_LOOPS_H
