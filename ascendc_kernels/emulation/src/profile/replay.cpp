// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "profile/replay.h"

#include <algorithm>
#include <memory>
#include <queue>

#include "profile/core_replay.h"

namespace ascendc_emu {
namespace profile {
namespace {

// A copy is served in parts, so that cores take turns. Neither limit is a property of the SoC:
// smaller parts only make the replay slower.
constexpr uint64_t kPartBytes = 8192;
constexpr uint32_t kPartRuns = 32;

// Which bytes of a buffer were touched, in pieces.
class Touched {
 public:
    void Reset(uint64_t bytes) {
        shift_ = 5;
        while ((bytes >> shift_) > (1u << 21)) ++shift_;
        bits_.assign((bytes >> shift_) / 64 + 1, 0);
        bytes_ = bytes;
    }
    void Add(uint64_t begin, uint64_t end) {
        for (uint64_t piece = begin >> shift_; piece << shift_ < end; ++piece) {
            bits_[piece / 64] |= 1ull << (piece % 64);
        }
    }
    uint64_t Bytes() const {
        uint64_t pieces = 0;
        for (const uint64_t word : bits_)
            pieces += static_cast<uint64_t>(__builtin_popcountll(word));
        return std::min(pieces << shift_, bytes_);
    }

 private:
    std::vector<uint64_t> bits_;
    uint64_t bytes_ = 0;
    int shift_ = 5;
};

// How much the copies of a launch moved from and to each buffer.
class Traffic {
 public:
    explicit Traffic(const Trace& trace) : trace_(trace), results_(trace.buffers.size() + 1) {
        read_.resize(trace.buffers.size());
        written_.resize(trace.buffers.size());
        for (size_t i = 0; i < trace.buffers.size(); ++i) {
            read_[i].Reset(trace.buffers[i].end - trace.buffers[i].begin);
            written_[i].Reset(trace.buffers[i].end - trace.buffers[i].begin);
        }
    }
    void Add(const Request& q) {
        const size_t index = Find(q.addr);
        const uint64_t bytes = uint64_t{q.burst} * q.count;
        (q.store ? results_[index].written : results_[index].read) += bytes;
        if (index == trace_.buffers.size()) return;
        const Buffer& buffer = trace_.buffers[index];
        Touched& touched = q.store ? written_[index] : read_[index];
        uint64_t addr = q.addr;
        for (uint32_t i = 0; i < q.count; ++i, addr += static_cast<uint64_t>(q.stride)) {
            const uint64_t end = std::min(addr + q.burst, buffer.end);
            if (addr < buffer.begin || addr >= end) continue;
            touched.Add(addr - buffer.begin, end - buffer.begin);
        }
    }
    std::vector<BufferResult> Take() {
        for (size_t i = 0; i < read_.size(); ++i) {
            results_[i].distinctRead = read_[i].Bytes();
            results_[i].distinctWritten = written_[i].Bytes();
        }
        return std::move(results_);
    }

 private:
    // The buffer of an address: mostly that of the last one.
    size_t Find(uint64_t addr) {
        const auto& buffers = trace_.buffers;
        if (last_ < buffers.size() && addr >= buffers[last_].begin && addr < buffers[last_].end &&
            (last_ + 1 == buffers.size() || addr < buffers[last_ + 1].begin)) {
            return last_;
        }
        const size_t found = BufferAt(buffers, addr);
        if (found < buffers.size()) last_ = found;
        return found;
    }

    const Trace& trace_;
    std::vector<BufferResult> results_;
    std::vector<Touched> read_, written_;
    size_t last_ = 0;
};

struct Turn {
    double time;
    uint32_t core;
    uint8_t pipe;
    bool operator>(const Turn& other) const {
        return time != other.time   ? time > other.time
               : core != other.core ? core > other.core
                                    : pipe > other.pipe;
    }
};

class Machine {
 public:
    Machine(const Trace& trace, const Parameters& p, const ReplayOptions& options)
        : trace_(trace),
          p_(p),
          options_(options),
          memory_(MemoryOf(p, options)),
          traffic_(trace),
          shared_{trace, p, options, 1000 / p.clock, result_, {}, {}} {
        result_.cores.resize(trace.cores.size());
        if (options.detail) result_.lines.resize(trace.sites.size() * kPipeCount);
        for (const uint32_t n : trace.contributors) {
            shared_.effects.emplace_back();
            shared_.effects.back().left = n;
        }
        if (!options.effects.rereads) memory_.SetFreeRereads();
        if (options.warm) {
            for (const Buffer& buffer : trace.buffers) memory_.Warm(buffer.begin, buffer.end);
        }
    }

    Result Run() {
        result_.launch = p_.launch * 1000;
        const double each = options_.effects.coreStart ? p_.launch_core * 1000 : 0;
        for (uint32_t i = 0; i < trace_.cores.size(); ++i) {
            cores_.push_back(std::make_unique<CoreReplay>(shared_, trace_.cores[i], i,
                                                          result_.launch + each * (i + 1)));
        }
        for (auto& core : cores_) Continue(*core);
        while (true) {
            while (!turns_.empty()) {
                const Turn turn = turns_.top();
                turns_.pop();
                Serve(turn);
            }
            // Nobody can go on: what is waited for was not reached.
            bool forced = false;
            for (auto& core : cores_) forced = core->ForceOn() || forced;
            if (!forced) break;
            result_.stuck = true;
        }
        double end = result_.launch, begin = end;
        for (const auto& core : cores_) {
            end = std::max(end, core->end());
            result_.sampleError = std::max(result_.sampleError, core->sampleError());
            result_.windows += core->windows();
        }
        result_.kernel = end - begin;
        result_.gmBytes = memory_.gmBytes();
        result_.l2Bytes = memory_.l2Bytes();
        result_.hitBytes = memory_.hitBytes();
        if (options_.detail) result_.buffers = traffic_.Take();
        return std::move(result_);
    }

 private:
    static Parameters MemoryOf(Parameters p, const ReplayOptions& options) {
        if (!options.effects.bursts) p.request_hit = p.request_miss = p.gm_request = 0;
        return p;
    }

    void Continue(CoreReplay& core) {
        shared_.woken.push_back(core.index());
        while (!shared_.woken.empty()) {
            const uint32_t index = shared_.woken.back();
            shared_.woken.pop_back();
            CoreReplay& one = *cores_[index];
            one.Advance();
            for (const auto& start : one.starts) turns_.push({start.time, index, start.pipe});
            one.starts.clear();
        }
    }

    // Runs of a copy to or from UB that are no whole blocks of 32 bytes: copies to L1 pad in
    // passing.
    double UnalignedRuns(const Request& q) const {
        if (trace_.cores[q.core].kind == CoreKind::kAic) return 0;
        if (q.burst % 32 == 0 && q.addr % 32 == 0 && q.stride % 32 == 0) return 0;
        return q.count;
    }

    double StoreCycles(const Request& q) const {
        // Runs of a store are requests, too; L2 takes them all.
        const double run = std::max(static_cast<double>(q.burst) / p_.store_rate, p_.request_hit);
        return run * q.count;
    }

    // All that a copy asks for.
    static Request RequestOf(const Step& step, uint32_t core) {
        Request q;
        q.store = (step.flags & kStore) != 0;
        q.bypass = (step.flags & kBypass) != 0;
        q.stride = step.copy.stride;
        q.core = core;
        q.addr = step.copy.addr;
        q.burst = step.copy.burst;
        q.count = step.copy.count;
        return q;
    }

    Served Ask(const Request& q, double now) {
        const uint64_t bytes = uint64_t{q.burst} * q.count;
        (q.store ? result_.writtenBytes : result_.readBytes) += static_cast<double>(bytes);
        if (options_.detail) traffic_.Add(q);
        return memory_.Serve(q, now);
    }

    // The next copy of a gap: it loads the shared memories and fills L2, and the core does not wait
    // for it.
    void ServeGap(const Turn& turn) {
        CoreReplay& core = *cores_[turn.core];
        SkipProgress& skip = core.skip();
        const Step& step = skip.gap->copies[skip.copy];
        Ask(RequestOf(step, turn.core), turn.time);
        if (++skip.copy == skip.gap->copies.size()) {
            core.EndSkip();
            Continue(core);
            return;
        }
        const double share =
            static_cast<double>(skip.copy) / static_cast<double>(skip.gap->copies.size());
        turns_.push({skip.begin + skip.length * share, turn.core, kGapPipe});
    }

    // The next part of a copy.
    void Serve(const Turn& turn) {
        if (turn.pipe == kGapPipe) return ServeGap(turn);
        CoreReplay& core = *cores_[turn.core];
        CopyProgress& copy = core.copy(turn.pipe);
        const auto& c = copy.step->copy;
        Request q = RequestOf(*copy.step, turn.core);
        q.addr += static_cast<uint64_t>(static_cast<int64_t>(copy.run) * c.stride);
        if (c.burst > kPartBytes) {
            const uint64_t left = c.burst - copy.offset;
            q.addr += copy.offset;
            q.burst = static_cast<uint32_t>(std::min<uint64_t>(left, kPartBytes));
            q.count = 1;
            copy.offset += q.burst;
            if (copy.offset == c.burst) {
                copy.offset = 0;
                ++copy.run;
            }
        } else {
            q.count =
                std::min({c.count - copy.run, kPartRuns,
                          std::max(1u, static_cast<uint32_t>(kPartBytes / std::max(1u, c.burst)))});
            copy.run += q.count;
        }
        copy.bytes += uint64_t{q.burst} * q.count;
        const Served served = Ask(q, turn.time);
        double cycles = q.store ? StoreCycles(q) : served.cycles;
        if (options_.effects.bursts) cycles += p_.unaligned_run * UnalignedRuns(q);
        const double port = turn.time + cycles * shared_.cycle;
        const double end = std::max(port, served.end);
        copy.portEnd += port - turn.time;
        copy.gmWait += end - port;
        if (copy.run < c.count) {
            turns_.push({end, turn.core, turn.pipe});
            return;
        }
        const double latency = !options_.effects.latency ? 0
                               : q.store                 ? p_.store_latency
                                                         : p_.load_latency;
        core.EndCopy(turn.pipe, end, end + latency * shared_.cycle);
        Continue(core);
    }

    const Trace& trace_;
    const Parameters& p_;
    const ReplayOptions& options_;
    Memory memory_;
    Traffic traffic_;
    Result result_;
    Shared shared_;
    std::vector<std::unique_ptr<CoreReplay>> cores_;
    std::priority_queue<Turn, std::vector<Turn>, std::greater<Turn>> turns_;
};

}  // namespace

Result Replay(const Trace& trace, const Parameters& parameters, const ReplayOptions& options) {
    return Machine(trace, parameters, options).Run();
}

}  // namespace profile
}  // namespace ascendc_emu
