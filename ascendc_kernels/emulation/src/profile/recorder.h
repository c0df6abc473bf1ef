// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The sink of profile mode that stores what the cores do as a Trace.
#ifndef OPGEN_PROFILE_RECORDER_H
#define OPGEN_PROFILE_RECORDER_H

#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profile/costs.h"
#include "profile/operand_names.h"
#include "profile/placement.h"
#include "profile/sampling.h"
#include "profile/trace.h"

namespace ascendc_emu {
namespace profile {

class Recorder {
 public:
    // `room`: how many steps are stored at most. A launch with more is sampled (sampling.h).
    Recorder(const Parameters& parameters, uint64_t room);

    void OnLaunch(const LaunchInfo& info);
    void OnCoreStart(Core& core);
    void OnCoreEnd(Core& core);
    void OnInstruction(Core& core, const Record& record);
    void OnSync(Core& core, const SyncEvent& event);
    void OnBuffer(Core& core, const BufferEvent& event);

    // What was recorded; the recorder is spent.
    std::unique_ptr<Trace> Take();

 private:
    struct Fifo {
        std::vector<uint32_t> slots;
        size_t head = 0;
    };
    struct Hint {
        uint64_t begin, end;
        bool bypass;
    };
    // A buffer of a queue: the slots of "filled" and "free again", plus one; 0: nobody has set it.
    struct BufferSlots {
        uint32_t filled = 0, freed = 0;
    };
    struct CoreState {
        CoreTrace trace;
        Window window;
        float scalar = 0;  // cycles of the scalar unit since the last step
        std::unordered_map<uint32_t, Fifo> flags;
        std::vector<BufferSlots> buffers;
        std::vector<Hint> hints;
        std::array<uint32_t, 3> barrier = {};                 // last effect, by scope
        std::map<std::pair<int, int>, uint32_t> sets, waits;  // how often, by mode and flag
        std::array<uint64_t, 256> lines = {};                 // of the data cache
    };
    using EffectKey = std::tuple<int, int, int, int, uint32_t>;

    CoreState& State(const Core& core);
    Step* Add(CoreState& state, StepKind kind, Pipe pipe, Loc loc);
    Step* Place(CoreState& state, StepKind kind);
    bool MakeRoom();
    static uint32_t NewSlot(CoreState& state) {
        return state.window.skipping ? kPassedSlot : state.trace.slots++;
    }
    uint32_t SiteOf(Loc loc);
    uint32_t EffectOf(const EffectKey& key);
    void AddCopies(CoreState& state, const Record& record, const Operand& operand);
    void AddSet(CoreState& state, Pipe pipe, uint32_t slot, Loc loc);
    Step* AddWait(CoreState& state, Pipe pipe, uint32_t slot, WaitFor what, Pipe from, Loc loc);
    void AddScalar(CoreState& state, const Record& record);
    void CrossSet(const Core& core, CoreState& state, const SyncEvent& event);
    void CrossWait(const Core& core, CoreState& state, const SyncEvent& event);

    Parameters p_;
    Costs costs_;
    uint64_t room_;
    uint64_t together_ = 0;  // steps that cores do together
    bool full_ = false;      // a larger stride would make no room
    std::unique_ptr<Trace> trace_;
    Placement placed_;
    OperandNames operandNames_;
    std::vector<std::unique_ptr<CoreState>> states_;  // by Core::id
    std::map<EffectKey, uint32_t> effects_;
    std::array<uint32_t, 3> open_ = {};  // effect of the barrier that cores arrive at, plus one
    std::unordered_map<const char*, uint32_t> fileNumbers_;
    std::map<std::string, uint32_t> fileNames_;
    std::unordered_map<uint64_t, uint32_t> siteNumbers_;
    struct SiteCache {
        bool used = false;
        const char* file = nullptr;
        uint32_t line = 0, site = 0;
    };
    std::array<SiteCache, 256> siteCache_ = {};
};

}  // namespace profile
}  // namespace ascendc_emu

#endif  // OPGEN_PROFILE_RECORDER_H
