// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Host side of row kernels: the iteration space of a reduction as rows and columns, and how it is
// cut into boxes. C++11, no CANN header needed.
#ifndef OPGEN_HOST_ROW_SPACE_H
#define OPGEN_HOST_ROW_SPACE_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "iteration_space.h"
#include "tile_budget.h"

namespace opgen {

constexpr int64_t kRowGroup = 8;  // rows that instructions copy or fill at once
// Elements of a tile whose computing takes longer than the start-ups of its instructions.
constexpr int64_t kOverlapped = 4096;
// Rows whose reduced axes are not one stretch are gathered in boxes of their own from so many
// elements on; shorter ones go through several at a time.
constexpr int64_t kJoinedElements = 8192;
constexpr int64_t kJoinedColumns = 64;
constexpr int64_t kRowsPerSum = 2;  // the least rows of a core for each sum of columns
// Rows that stream are read for their reductions and again for the outputs.
constexpr double kStreamedPasses = 2;
// What joining the accumulators of cores takes, in cycles: `opgen profile` shows some 5 us with few
// cores, most of it two waits of all cores, and a copy more for each core of a team.
constexpr double kExchangeCycles = 9000;
constexpr double kJoinCycles = 80;
// What teams have to save: the time that cores wait for one another is a guess.
constexpr double kWorthwhileTeams = 0.95;
// What row kernels take for each cycle that is counted: the steps of a reduction and the
// instructions on numbers of rows are not. `opgen profile` shows 1.3 to 1.6 for softmax.
constexpr double kRowOverhead = 1.5;

// UB bytes per element of a tile, per number of a row tile, per row of a box that has a number of
// its own, and per row of a box.
struct RowBudget {
    double element;
    double number;
    double row;
    double boxRow;

    RowBudget(double e, double n, double r) : element(e), number(n), row(r), boxRow(0) {}
    bool Fits(int64_t room, int64_t tileLength, int64_t rowLength, int64_t blockRows,
              int64_t boxRows) const {
        return element * static_cast<double>(tileLength) + number * static_cast<double>(rowLength) +
                   row * static_cast<double>(blockRows) + boxRow * static_cast<double>(boxRows) <=
               static_cast<double>(room);
    }
};

// What an operand that lacks a dimension of the space takes of UB in each of the budgets: bytes per
// element of a tile where it has one for every column, else bytes per row of a box.
struct SpreadOperand {
    size_t operand;
    double element[3];
    double boxRow[3];
};

// The budgets of a kernel: rows that stay in UB, with queues of one copy and of two, and rows that
// stream through.
struct RowBudgets {
    RowBudget resident;
    RowBudget doubled;
    RowBudget streamed;

    // Add what operands take that are the same for all columns, or are not.
    void Add(const SpreadOperand& spread, bool byCol) {
        RowBudget* const all[] = {&resident, &doubled, &streamed};
        for (size_t i = 0; i < 3; ++i) {
            all[i]->element += byCol ? spread.element[i] : 0;
            all[i]->boxRow += byCol ? 0 : spread.boxRow[i];
        }
    }
};

class RowSpace {
 public:
    // Sizes and strides as the kernel's Walk reads them: outer dimensions (kept ones first), rows,
    // columns.
    int64_t dim[kMaxDims];
    std::vector<std::vector<int64_t>> stride;
    std::vector<int64_t> offset;
    std::vector<OperandBounds> bounds;  // where the elements of each operand begin and end
    int64_t keptOuter = 0;              // number of kept outer dimensions
    bool lanes = true;                  // the columns are reduced
    bool joined = false;                // with lanes: the rows are reduced, too
    int64_t reducedCount = 1;           // elements per reduction
    bool fits = true;                   // false: more outer dimensions than a Walk has

    int64_t boxRows = 1;
    int64_t boxCols = 1;
    int64_t items = 0;
    int64_t chunks = 0;
    bool resident = false;
    int64_t split = 0;   // teams of cores that share the chunks of their items
    int64_t copies = 2;  // of the queues
    int64_t usedCores = 1;
    int64_t tileLength = 0;  // elements a tile holds; 0: not even one row group fits
    int64_t rowLength = 0;   // numbers a row tile holds
    int64_t blockRows = 0;   // rows of a box that have a block of their own

    // keepsColumns: the reduced dimensions are never the columns, whatever lies together in memory.
    void Build(const std::vector<int64_t>& dims, const std::vector<bool>& reduced,
               const std::vector<Operand>& operands, bool keepsColumns = false) {
        std::vector<Dimension> space;
        for (size_t i = 0; i < dims.size(); ++i) {
            reducedCount *= reduced[i] ? dims[i] : 1;
            if (dims[i] == 1) {
                continue;
            }
            Dimension next(dims[i], reduced[i], operands.size());
            for (size_t v = 0; v < operands.size(); ++v) {
                const View& view = operands[v].view;
                const int64_t behind = DimensionBehind(view, dims.size(), i);
                const bool own = behind >= 0;
                const size_t at = static_cast<size_t>(own ? behind : 0);
                next.stride[v] = own ? view.stride[at] : 0;
                next.from[v] = own ? view.from[at] : 0;
                next.to[v] = view.Nothing() ? 0 : (own ? view.to[at] : dims[i]);
            }
            Append(space, next);
        }
        if (space.empty()) {
            space.push_back(Dimension(1, true, operands.size()));
        }
        const bool moves =
            Strided(space.back(), operands) || (keepsColumns && space.back().reduced);
        if (moves && !MoveColumns(space, operands, keepsColumns)) {
            // A strided last dimension becomes the rows of boxes with one column.
            const bool reduces = !keepsColumns && !inOrder_ && !space.back().reduced;
            space.push_back(Dimension(1, reduces, operands.size()));
        }
        Arrange(space, operands);
    }

    // Let a box hold the rows of one reduction where two dimensions are reduced with a kept one
    // between them, as in group norms: such a box has all elements of a result, or a large part.
    void JoinRows() {
        const size_t other = static_cast<size_t>(keptOuter);
        constexpr size_t rows = static_cast<size_t>(kMaxDims - 2);
        bool alone = lanes && fits && other < rows && dim[other] > 1;
        for (size_t i = other + 1; alone && i < rows; ++i) {
            alone = dim[i] == 1;
        }
        const int64_t cols = dim[kMaxDims - 1];
        if (!alone || cols < kJoinedColumns || dim[other] < kJoinedElements / cols) {
            return;
        }
        std::swap(dim[other], dim[rows]);
        for (size_t v = 0; v < stride.size(); ++v) {
            std::swap(stride[v][other], stride[v][rows]);
            std::swap(bounds[v].ends[other], bounds[v].ends[rows]);
            std::swap(bounds[v].ends[kMaxDims + other], bounds[v].ends[kMaxDims + rows]);
        }
        joined = true;
        ++keptOuter;
    }

    // How many of `most` cores pay off; Choose needs what it found: a core more takes time at the
    // launch, and reads once more what all rows share. vectorCycles: of an element.
    int64_t WorthwhileCores(const std::vector<Operand>& operands, double vectorCycles,
                            const CoreRates& rates, int64_t most,
                            const Schedule& asked = Schedule()) {
        double all = 1;
        for (int64_t i = 0; i < kMaxDims; ++i) {
            all *= static_cast<double>(dim[i]);
        }
        double read = 0;
        double written = 0;
        double readByAll = 0;
        for (size_t v = 0; v < operands.size(); ++v) {
            double elements = 1;
            bool shared = false;
            for (int64_t i = 0; i < kMaxDims; ++i) {
                const bool moves = stride[v][static_cast<size_t>(i)] != 0;
                elements *= moves ? static_cast<double>(dim[i]) : 1.0;
                shared = shared || (!moves && dim[i] > 1 && !Reduces(i));
            }
            const double bytes = elements * static_cast<double>(operands[v].bytes);
            if (!operands[v].written) {
                (shared ? readByAll : read) += bytes;
            } else if (!shared) {
                written += bytes;
            }
        }
        sharedCycles_ = rates.Cycles(readByAll, 0, 0);
        workCycles_ = kRowOverhead * rates.Cycles(read, written, all * vectorCycles);
        if (asked.cores > 0 || !(all > 0)) {
            return most;  // no elements; rows of none have results, too
        }
        return CoresThatPay(workCycles_, most);
    }
    // room: bytes of UB; pitchUnit: rows of a box start at multiples of it; cores: how many can
    // work; spreads: what is not in the budgets, as it depends on the shapes.
    void Choose(RowBudgets budgets, int64_t room, int64_t pitchUnit,
                const std::vector<Operand>& operands, int64_t cores,
                const Schedule& asked = Schedule(),
                const std::vector<SpreadOperand>& spreads = std::vector<SpreadOperand>()) {
        for (const SpreadOperand& spread : spreads) {
            budgets.Add(spread, stride[spread.operand][kMaxDims - 1] != 0);
        }
        room_ = room;
        mostTile_ = asked.Tile(INT64_MAX);
        pitchUnit_ = pitchUnit;
        int64_t kept = 1;
        int64_t reduced = 1;
        for (int64_t i = 0; i < kMaxDims - 2; ++i) {
            (i < keptOuter ? kept : reduced) *= dim[i];
        }
        const int64_t rows = dim[kMaxDims - 2];
        const int64_t cols = dim[kMaxDims - 1];
        const RowBudget* chosen = &budgets.streamed;
        copies = 2;
        const bool stays = asked.rows != RowPlace::kStreamed;
        const bool whole = reduced == 1 && reducedCount > 0 && stays;
        if (whole && asked.buffers != 1 && Stay(budgets.doubled, operands, cores, kept)) {
            chosen = &budgets.doubled;
        } else if (whole && asked.buffers != 2 && Stay(budgets.resident, operands, cores, kept)) {
            chosen = &budgets.resident;
            copies = 1;
        } else if (joined) {
            StreamJoined(*chosen, operands, cores, kept);
        } else if (lanes) {
            StreamLanes(*chosen, operands, cores, kept, reduced);
        } else {
            StreamRows(*chosen, operands, cores, kept, reduced);
        }
        copies = asked.buffers == 1 ? 1 : copies;
        const int64_t rowBoxes = CeilDiv(rows, boxRows);
        const int64_t colBoxes = CeilDiv(cols, boxCols);
        items = kept * (joined ? 1 : (lanes ? rowBoxes : colBoxes));
        chunks = reduced * (joined ? rowBoxes * colBoxes : (lanes ? colBoxes : rowBoxes));
        resident = chunks == 1 && stays;
        const double all = static_cast<double>(kept) * static_cast<double>(lanes ? rows : cols);
        const int64_t part = lanes ? boxRows : boxCols;
        const double largest = joined ? 1.0 / static_cast<double>(std::max<int64_t>(1, kept))
                                      : static_cast<double>(part) / std::max(1.0, all);
        split = !resident && items > 0 && chunks > 1 ? Teams(items, items, largest, cores) : 0;
        // as few cores as are done in the same time: each reads what all rows share
        const int64_t teams = std::max<int64_t>(1, split);
        const int64_t work = std::max<int64_t>(1, split > 0 ? chunks : items);
        usedCores = teams * CeilDiv(work, CeilDiv(work, std::min(cores / teams, work)));
        Measure(boxRows, boxCols);
        if (!chosen->Fits(room, tileLength, rowLength, blockRows, boxRows)) {
            tileLength = 0;
        }
    }
    // Whether sums of the columns are made beside the rows: whole rows stay in UB, and each core
    // has so many of them that its sums, which all cores read again, are few beside them.
    bool AddsColumns(int64_t sums) const {
        int64_t rows = dim[kMaxDims - 2];
        for (int64_t i = 0; i < keptOuter; ++i) {
            rows *= dim[i];
        }
        const bool whole = resident && lanes && !joined && dim[kMaxDims - 1] == reducedCount;
        return tileLength > 0 && whole && rows >= kRowsPerSum * sums * usedCores;
    }
    OperandWalk Walk(size_t operand) const {
        OperandWalk walk;
        std::copy(stride[operand].begin(), stride[operand].end(), walk.steps);
        walk.steps[kMaxDims] = offset[operand];
        return walk;
    }

 protected:
    // Whether the only reduced dimension has to be the rows or the columns of boxes, which a core
    // goes through in order.
    bool inOrder_ = false;

    // Whether several rows can be copied at once, also in the last, narrower box.
    bool RowsFit(int64_t cols, const std::vector<Operand>& operands) const {
        for (size_t v = 0; v < stride.size(); ++v) {
            if (operands[v].bytes == 0) {
                continue;  // counted, not copied
            }
            const int64_t row = stride[v][kMaxDims - 2];
            const int64_t used = stride[v][kMaxDims - 1] == 0 ? 1 : cols;
            // rows that run backwards are copied one by one
            if (row > 0 && (row < used || row > kMaxRowBytes / operands[v].bytes)) {
                return false;
            }
        }
        return true;
    }

 private:
    struct Dimension {
        int64_t size;
        bool reduced;
        std::vector<int64_t> stride;
        std::vector<int64_t> from;
        std::vector<int64_t> to;
        Dimension(int64_t s, bool r, size_t operands)
            : size(s), reduced(r), stride(operands, 0), from(operands, 0), to(operands, s) {}
    };

    // Whether an operand in memory is neither contiguous nor the same along a dimension.
    static bool Strided(const Dimension& dimension, const std::vector<Operand>& operands) {
        for (size_t v = 0; v < operands.size(); ++v) {
            const int64_t step = dimension.stride[v];
            if (operands[v].bytes > 0 && step != 0 && step != 1) {
                return true;
            }
        }
        return false;
    }
    // Make a dimension that no operand strides along the last one, as that of a transposed tensor
    // is; false: there is none. Reduced dimensions keep their order, which positions follow.
    static bool MoveColumns(std::vector<Dimension>& space, const std::vector<Operand>& operands,
                            bool keepsColumns) {
        bool reduces = false;
        for (size_t i = space.size(); i > 0; --i) {
            const Dimension& next = space[i - 1];
            const bool mayMove = !(next.reduced && (reduces || keepsColumns));
            if (mayMove && !Strided(next, operands)) {
                std::rotate(space.begin() + static_cast<int64_t>(i) - 1,
                            space.begin() + static_cast<int64_t>(i), space.end());
                return true;
            }
            reduces = reduces || next.reduced;
        }
        return false;
    }
    // Whether a dimension of the arranged space is reduced.
    bool Reduces(int64_t i) const {
        return i < kMaxDims - 2 ? i >= keptOuter : joined || (i == kMaxDims - 1) == lanes;
    }
    static void Append(std::vector<Dimension>& space, const Dimension& next) {
        bool merges = !space.empty() && space.back().reduced == next.reduced;
        for (size_t v = 0; merges && v < next.stride.size(); ++v) {
            merges = space.back().stride[v] == next.stride[v] * next.size && next.from[v] == 0 &&
                     next.to[v] == next.size;
        }
        if (!merges) {
            space.push_back(next);
            return;
        }
        Dimension& joined = space.back();
        joined.size *= next.size;
        joined.stride = next.stride;
        for (size_t v = 0; v < next.stride.size(); ++v) {
            joined.from[v] *= next.size;
            joined.to[v] *= next.size;
        }
    }
    void Arrange(std::vector<Dimension>& space, const std::vector<Operand>& operands) {
        const Dimension cols = space.back();
        space.pop_back();
        lanes = cols.reduced;
        Dimension rows(1, !lanes, operands.size());
        for (size_t i = space.size(); i > 0; --i) {
            if (space[i - 1].reduced != lanes) {
                rows = space[i - 1];
                space.erase(space.begin() + static_cast<int64_t>(i) - 1);
                break;
            }
        }
        std::vector<Dimension> order;
        for (int32_t pass = 0; pass < 2; ++pass) {
            for (size_t i = 0; i < space.size(); ++i) {
                if (space[i].reduced == (pass == 1)) {
                    order.push_back(space[i]);
                }
            }
            keptOuter = pass == 0 ? static_cast<int64_t>(order.size()) : keptOuter;
        }
        fits = order.size() <= static_cast<size_t>(kMaxDims - 2);
        order.resize(static_cast<size_t>(kMaxDims - 2), Dimension(1, true, operands.size()));
        order.push_back(rows);
        order.push_back(cols);
        stride.assign(operands.size(), std::vector<int64_t>());
        offset.clear();
        bounds.assign(operands.size(), OperandBounds());
        for (size_t v = 0; v < operands.size(); ++v) {
            const bool nothing = operands[v].view.Nothing();
            offset.push_back(operands[v].view.offset);
            for (size_t i = 0; i < static_cast<size_t>(kMaxDims) && i < order.size(); ++i) {
                stride[v].push_back(order[i].stride[v]);
                bounds[v].ends[i] = order[i].from[v];
                bounds[v].ends[kMaxDims + i] = nothing ? 0 : order[i].to[v];
            }
        }
        for (size_t i = 0; i < order.size(); ++i) {
            dim[i] = order[i].size;
        }
    }
    // The lengths of tiles for boxes of these sizes.
    void Measure(int64_t rows, int64_t cols) {
        const int64_t pitch = AlignUp(cols, pitchUnit_);
        tileLength = AlignUp(rows * pitch, kUnit);
        const int64_t own = lanes && !joined ? rows : 1;  // with a number each
        rowLength = AlignUp(lanes ? own : pitch, kUnit);
        blockRows = AlignUp(own, kRowGroup);
    }
    bool Holds(const RowBudget& budget, int64_t rows, int64_t cols) {
        Measure(rows, cols);
        return tileLength <= mostTile_ &&
               budget.Fits(room_, tileLength, rowLength, blockRows, rows);
    }
    // The most rows of `cols` elements that one box holds, 0: not one.
    int64_t MostRows(const RowBudget& budget, int64_t cols) {
        const int64_t pitch = AlignUp(cols, pitchUnit_);
        const double row = (lanes && !joined ? budget.number + budget.row : 0.0) + budget.boxRow;
        const double most = Left(budget, lanes ? kUnit : AlignUp(pitch, kUnit)) /
                            (budget.element * static_cast<double>(pitch) + row);
        const int64_t fit = std::min(static_cast<int64_t>(most), mostTile_ / pitch);
        const int64_t rows = std::max<int64_t>(1, fit);
        return Holds(budget, rows, cols) ? rows : 0;
    }
    // The most columns of `rows` elements that one box holds, 0: not one group of them.
    int64_t MostCols(const RowBudget& budget, int64_t rows) {
        const double number = lanes ? 0.0 : budget.number;
        const double room = Left(budget, kUnit) - budget.boxRow * static_cast<double>(rows);
        const double fit = room / (budget.element * static_cast<double>(rows) + number);
        const double most = std::min(fit, static_cast<double>(mostTile_ / rows));
        const int64_t unit = most >= kUnit ? kUnit : (most >= 64 ? 64 : pitchUnit_);
        const int64_t cols = most < 1 ? 0 : static_cast<int64_t>(most) / unit * unit;
        return cols > 0 && Holds(budget, rows, cols) ? cols : 0;
    }
    // What is left of UB for elements when the lengths of tiles are rounded up.
    double Left(const RowBudget& budget, int64_t numbers) const {
        return static_cast<double>(room_) - budget.element * static_cast<double>(kUnit) -
               budget.number * static_cast<double>(numbers) -
               budget.row * static_cast<double>(kRowGroup);
    }
    // Boxes that hold all elements of their reductions; false: UB is too small for that.
    bool Stay(const RowBudget& budget, const std::vector<Operand>& operands, int64_t cores,
              int64_t kept) {
        const int64_t rows = std::max<int64_t>(1, dim[kMaxDims - 2]);
        const int64_t cols = std::max<int64_t>(1, dim[kMaxDims - 1]);
        if (joined) {
            boxRows = rows;
            boxCols = cols;
            return rows <= kMaxBlockCount && Holds(budget, rows, cols) && RowsFit(cols, operands);
        }
        if (lanes) {
            const int64_t most = std::min(MostRows(budget, cols), kMaxBlockCount);
            boxCols = cols;
            boxRows = RowsFit(cols, operands)
                          ? std::min(std::min(rows, most), FairRows(rows * kept, cols, cores))
                          : 1;
            return most > 0;
        }
        const int64_t most = std::min(MostCols(budget, rows), FairCols(cores, kept));
        boxRows = rows;
        boxCols = std::min(cols, most);
        return rows <= kMaxBlockCount && most >= std::min<int64_t>(cols, 64) &&
               RowsFit(boxCols, operands);
    }
    // Rows that leave items for all cores: two for each where these are long enough, so that
    // copies overlap computing.
    static int64_t FairRows(int64_t rows, int64_t cols, int64_t cores) {
        const int64_t each = std::max<int64_t>(1, CeilDiv(rows, cores));
        const int64_t half = CeilDiv(each, 2);
        return half * cols >= kOverlapped ? half : each;
    }
    // Columns that leave items for all cores, as long as copies stay above a few blocks.
    int64_t FairCols(int64_t cores, int64_t kept) const {
        const int64_t parts = std::max<int64_t>(1, cores / std::max<int64_t>(1, kept));
        const int64_t each = CeilDiv(std::max<int64_t>(1, dim[kMaxDims - 1]), parts);
        return AlignUp(each, std::max<int64_t>(64, pitchUnit_));
    }
    // How many teams of cores share the chunks of their items, as many items each, with an exchange
    // for each item; 1: all cores go through `sharedItems`; 0: cores that have items of their own
    // are ready sooner. largest: the share of an item of all work.
    int64_t Teams(int64_t apart, int64_t sharedItems, double largest, int64_t cores) const {
        if (apart <= 0) {
            return 0;
        }
        // What all items share is read once more for each of them.
        const double item = largest * kStreamedPasses * workCycles_ + sharedCycles_;
        double least = kWorthwhileTeams * static_cast<double>(CeilDiv(apart, cores)) * item;
        int64_t best = 0;
        for (int64_t teams = std::min(apart, cores / 2); teams > 1; --teams) {
            if (apart % teams != 0) {
                continue;
            }
            const int64_t team = cores / teams;
            const double cycles = static_cast<double>(apart / teams) *
                                  (item / static_cast<double>(team) + ExchangeCycles(team));
            if (cycles < least) {
                least = cycles;
                best = teams;
            }
        }
        const double together =
            kStreamedPasses * workCycles_ / static_cast<double>(cores) +
            static_cast<double>(sharedItems) *
                (ExchangeCycles(cores) + sharedCycles_ / static_cast<double>(cores));
        return together <= least && cores > 1 ? 1 : best;
    }
    static double ExchangeCycles(int64_t cores) {
        return kExchangeCycles + kJoinCycles * static_cast<double>(cores);
    }
    // One row per kept element: whole rows where they fit, else chunks.
    void StreamLanes(const RowBudget& budget, const std::vector<Operand>& operands, int64_t cores,
                     int64_t kept, int64_t reduced) {
        const int64_t rows = std::max<int64_t>(1, dim[kMaxDims - 2]);
        const int64_t cols = std::max<int64_t>(1, dim[kMaxDims - 1]);
        const int64_t most = std::min(MostRows(budget, cols), kMaxBlockCount);
        if (most > 0) {
            boxCols = cols;
            boxRows = RowsFit(cols, operands) ? std::min(rows, most) : 1;
            boxRows = std::min(boxRows, std::max<int64_t>(1, CeilDiv(rows * kept, cores)));
            return;
        }
        boxRows = 1;
        const int64_t apart = rows * kept;
        const double largest = 1.0 / static_cast<double>(std::max<int64_t>(1, apart));
        const int64_t teams = Teams(apart, kept * CeilDiv(rows, kRowGroup), largest, cores);
        if (teams == 0) {
            boxCols = std::max<int64_t>(1, MostCols(budget, 1));
            return;
        }
        // Cores will share the chunks of each item: as many for every core. Where all cores do,
        // chunks have several rows, so that an exchange serves all of them.
        boxRows = teams == 1 && RowsFit(kUnit, operands) ? std::min(rows, kRowGroup) : 1;
        const int64_t widest = std::max<int64_t>(1, MostCols(budget, boxRows));
        const int64_t each = std::max<int64_t>(1, CeilDiv(cols * reduced, cores / teams));
        const int64_t fair = AlignUp(CeilDiv(each, CeilDiv(each, widest)), 64);
        boxCols = std::min(widest, std::max<int64_t>(CeilDiv(1024, boxRows), fair));
        boxRows = RowsFit(boxCols, operands) ? boxRows : 1;
    }
    // Several rows of one reduction: whole ones where they fit, else parts of one row.
    void StreamJoined(const RowBudget& budget, const std::vector<Operand>& operands, int64_t cores,
                      int64_t kept) {
        const int64_t rows = std::max<int64_t>(1, dim[kMaxDims - 2]);
        const int64_t cols = std::max<int64_t>(1, dim[kMaxDims - 1]);
        const double largest = 1.0 / static_cast<double>(std::max<int64_t>(1, kept));
        const int64_t teams = Teams(kept, kept, largest, cores);
        const int64_t sharing = teams > 0 ? cores / teams : 1;
        const int64_t most = std::min(MostRows(budget, cols), kMaxBlockCount);
        boxCols = cols;
        boxRows = 1;
        if (most == 0) {
            const int64_t widest = std::max<int64_t>(1, MostCols(budget, 1));
            const int64_t even = CeilDiv(cols, CeilDiv(cols, widest));
            boxCols = std::min(widest, AlignUp(even, kJoinedColumns));
        } else if (RowsFit(cols, operands)) {
            const int64_t longest = std::min(most, CeilDiv(rows, std::min(rows, sharing)));
            boxRows = CeilDiv(rows, CeilDiv(rows, longest));
        }
    }
    // One row per reduced element, vectorised over the kept columns.
    void StreamRows(const RowBudget& budget, const std::vector<Operand>& operands, int64_t cores,
                    int64_t kept, int64_t reduced) {
        const int64_t rows = std::max<int64_t>(1, dim[kMaxDims - 2]);
        const int64_t cols = std::max<int64_t>(1, dim[kMaxDims - 1]);
        const int64_t widest =
            std::min(std::min(cols, FairCols(cores, kept)),
                     std::min<int64_t>(512, mostTile_) / pitchUnit_ * pitchUnit_);
        boxCols = widest;
        boxRows = std::min(std::min(rows, std::max<int64_t>(1, MostRows(budget, boxCols))),
                           kMaxBlockCount);
        boxRows = RowsFit(boxCols, operands) ? boxRows : 1;
        const int64_t apart = kept * CeilDiv(cols, boxCols);
        const double largest =
            static_cast<double>(boxCols) / static_cast<double>(std::max<int64_t>(1, kept * cols));
        const int64_t teams = Teams(apart, apart, largest, cores);
        if (teams > 0) {
            const int64_t each = CeilDiv(rows * reduced, cores / teams);
            boxRows = std::max<int64_t>(1, std::min(boxRows, std::max<int64_t>(each, 8)));
        }
    }

    double workCycles_ = 0;    // that a single core takes to read and compute everything once
    double sharedCycles_ = 0;  // that it takes to read what all results share
    int64_t room_ = 0;
    int64_t mostTile_ = INT64_MAX;  // elements a tile may hold
    int64_t pitchUnit_ = 1;
};

}  // namespace opgen

#endif  // OPGEN_HOST_ROW_SPACE_H
