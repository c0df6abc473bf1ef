// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The sanitizer's sink: follows one launch and reports broken rules.
#ifndef ASCENDC_EMU_SANITIZER_CHECKER_H
#define ASCENDC_EMU_SANITIZER_CHECKER_H

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ascendc_emu/core.h"
#include "ascendc_emu/launch.h"
#include "ascendc_emu/record.h"
#include "core/instructions.h"
#include "report.h"
#include "shadow.h"
#include "state.h"

namespace ascendc_emu {
namespace sanitizer {

struct OutputTrace;

// A part of global memory the kernel may touch.
struct Region {
    uint64_t begin = 0;
    uint64_t end = 0;
    std::string name;
    int kind = OPGEN_GM_OTHER;
    bool slice = false;     // of a larger tensor: memory of that follows
    bool partial = false;   // an output of which a part may stay as it is
    bool optional = false;  // an output that may stay as it is
    bool device = false;    // lies in memory of the emulated runtime
    bool fresh = false;     // of a program, and some of it held no data before the launch
    uint32_t item = 0;      // bytes of an element; 0: not known
};

// Bytes of an operand that hold no data, counted along the operand (not by address).
struct LaneRuns {
    std::vector<ByteRun> runs;
    Epoch origin;  // the instruction that first read memory nobody wrote
    const Operand* operand = nullptr;
    uint64_t total = 0;
};

class Checker : public Sink {
 public:
    ~Checker() override { RestoreOutputs(); }
    void OnLaunch(const LaunchInfo& info) override;
    void OnLaunchEnd(const LaunchInfo& info) override;
    void OnCoreStart(Core& core) override;
    void OnCoreEnd(Core& core) override;
    void OnInstruction(Core& core, const Record& record) override;
    void OnSync(Core& core, const SyncEvent& event) override;
    void OnBuffer(Core& core, const BufferEvent& event) override;
    void OnProblem(Core& core, const Problem& problem) override;

 private:
    CoreState& State(Core& core);
    void Resize(size_t cores);

    struct Step;
    // buffers.cpp: the life of buffers
    void ReleaseBuffers(CoreState& state, const BufferEvent& event);
    static void ClearData(CoreState& state, const Buffer& buffer);
    void OnAlloc(CoreState& state, const BufferEvent& event, Buffer& buffer);
    void OnEnQue(CoreState& state, const BufferEvent& event, Buffer& buffer);
    void OnFree(CoreState& state, const BufferEvent& event, Buffer& buffer);
    void ReportLeak(const CoreState& state, const Buffer& buffer);
    void CheckLife(Step& step, const Operand& operand);
    void RememberStaleUse(const Step& step, const Operand& operand, bool writes, Finding* finding);
    void ReportStaleUses(const CoreState& state, Buffer& buffer);
    void CheckQueueSkipped(Step& step, const Operand& operand, const Buffer& buffer);

    // operand_checks.cpp: where operands lie
    // Outside: reported; races with what really lies there would only repeat it.
    enum class Place { kInside, kOutside, kNowhere };
    Place CheckPlace(Step& step, const Operand& operand);
    void CheckAlignment(Step& step, const Operand& operand, uint64_t begin, uint64_t end);
    void CheckCapacity(Step& step, const Operand& operand, uint64_t begin, uint64_t end);
    void ReportOutside(Step& step, const Operand& operand, ByteRun used, ByteRun bounds);
    void WarnBehindTensor(Step& step, const Operand& operand, uint64_t begin, uint64_t end);
    void CheckGmPlace(Step& step, const Operand& operand, uint64_t begin, uint64_t end);
    bool InSystemWorkspace(const Region& region, uint64_t end) const;
    [[noreturn]] void StopOutsideRegions(Step& step, const Operand& operand, uint64_t begin,
                                         uint64_t end);
    void CheckGmTail(Step& step, const Operand& operand, const Region& region, uint64_t begin,
                     uint64_t end);
    void CheckGlobalTensor(Step& step, const Operand& operand, uint64_t begin, uint64_t end);
    void CheckOverlap(Step& step);
    void CheckScalarScope(Step& step);
    void CheckScope(Step& step);
    void CheckArch(Step& step);

    // instruction.cpp: what one instruction reads and writes
    void ReportNote(const Step& step);
    void CheckOperands(Step& step, Place* places);
    void ReadOperands(Step& step, const Place* places);
    void WriteOperands(Step& step, const Place* places);
    void FillByReference(const Record& record, const Place* places);
    void WaitAutomatically(Step& step);
    // Whether all that is read holds data.
    bool ReadOperand(Step& step, const Operand& operand);
    void MarkRead(Step& step, const Operand& operand);
    // fills: what is written is data.
    void WriteOperand(Step& step, const Operand& operand, bool fills);
    void CheckUnread(Step& step, const Operand& operand);
    // A program does not tell what its memory holds; its kernels' stores do.
    void NoteItem(const Operand& operand) {
        if (FindRegion(operand.addr) == nullptr || regions_[lastRegion_].item != 0) return;
        regions_[lastRegion_].item = DTypeBits(operand.dtype) / 8;
    }
    Finding ConflictFinding(const Step& step, const Operand& operand,
                            const Conflict& conflict) const;
    void ReportConflicts(Step& step, const Operand& operand, const Conflicts& conflicts);
    void KeepUndecided(const Step& step, const Operand& operand, const Conflict& conflict,
                       const Finding& finding);
    void Decide(CoreState& state, Mem mem, uint64_t begin, uint64_t end);
    void ReportUndecided(CoreState& state);
    Conflicts WithoutPolled(Step& step, const Conflicts& conflicts);
    void ReportGm(Step& step, const Operand& operand, const GmHits& hits);
    void Settle(CoreState& state);
    void SettleScalarWrites();

    // data_cache.cpp: values that the scalar unit's cache and memory disagree about
    Finding CacheFinding(const Step& step, const Operand& operand, const std::vector<ByteRun>& runs,
                         Epoch writer, Words words) const;
    void ReportCachedBytes(const Step& step, const Operand& operand, const GmHits& hits);
    void ReportCacheLines(const Step& step, const Operand& operand, const GmHits& hits);
    void ReportUnlessNotes(const Operand& operand, const Finding& finding);
    void ReportSharedLines(const Step& step, uint64_t begin, uint64_t end);

    // polling.cpp: flags in global memory
    void KeepStore(const Step& step, const Operand& operand, uint64_t begin, uint64_t end);
    void CollectStores(const Step& step, uint64_t begin, uint64_t end, Glimpse* glimpse);
    void Glance(Step& step, const Operand& operand, GmHits* hits);
    void KeepGlimpse(Step& step, Glimpse glimpse);
    void ShowBefore(uint64_t begin, const std::vector<uint8_t>& bytes);
    void ShowNow();
    void UseGlimpses(Step& step);
    static bool Supersede(CoreState& state, Glimpse* glimpse);
    void Observe(CoreState& state, Glimpse& glimpse, uint64_t begin, uint64_t end,
                 bool surely = true);
    void LookThroughPointers(CoreState& state);
    static bool Unordered(const CoreState& state, const Glimpse::Part& part);
    static void Finish(CoreState& state, const Glimpse& glimpse);
    bool DeferPolled(const Pending& pending);
    void ReportUnpolled();

    // initialisation.cpp: which bytes hold data
    // Memory an instruction lends for its own use: written and read inside it, of no use
    // afterwards.
    bool IsDoubtful(uint64_t address, Epoch writer) const;
    void ReadData(Step& step, const Operand& operand, bool allData);
    void ReportEmptyIndices(Step& step);
    void ReportPoisonedOutputs();
    void KeepLostLines();
    using PoisonTold = std::map<std::pair<const Region*, uint32_t>, size_t>;
    void KeepPoisoned(uint64_t begin, uint64_t end, Epoch writer, PoisonTold* told);
    void KeepContents(bool known);
    Finding PoisonedOutput(const Region& region, Epoch writer) const;

    // data_flow.cpp: which bytes come from such that hold none
    static uint8_t GarbageBits(const Step& step, const Operand& operand, uint64_t offset);
    static void KeepPartBytes(const Step& step, const Operand& dst, const LaneRuns& source,
                              const ByteRun& run);
    static void PushUndecided(const Step& step, const LaneRuns& source, const ByteRun& run,
                              std::vector<ByteRun>* bad);
    void MarkData(CoreState& state, Mem mem, uint64_t begin, uint64_t end, bool value);
    static void PushEmptyLanes(const Step& step, const Operand& dst, const LaneRuns& source,
                               Flow flow, uint64_t total, std::vector<ByteRun>* bad);
    static std::vector<ByteRun> EmptyLanes(const Step& step, const Operand& operand, Epoch* origin);
    void WriteData(Step& step, const Operand& operand);

    // outputs.cpp: what of an output nobody has written
    void MarkOutputs();
    void RestoreOutputs();
    void ReportUnwrittenOutputs();
    bool WroteInputs();
    void KeepWriters(const Region& region);
    void CollectWriters(uint64_t begin, uint64_t end, OutputTrace* trace);
    Finding WriterFinding(Epoch near) const;

    // Stores of plain C++ to UB.
    static void TakePointer(CoreState& state, uint64_t begin, uint64_t end);
    static void DropPointers(CoreState& state, Mem mem, uint64_t begin, uint64_t end);
    static void AdoptPlainStores(CoreState& state, const Record& record, const Operand& operand);

    // sync.cpp
    void OnSetFlag(CoreState& state, const SyncEvent& event);
    void OnWaitFlag(CoreState& state, const SyncEvent& event);
    void CheckSyncSpace(CoreState& state, const SyncEvent& event);
    void OnCross(CoreState& state, const SyncEvent& event);
    void OnMeeting(CoreState& state, const SyncEvent& event);
    void ReportLeftCrossFlags();
    uint32_t Senders(const Round& round) const;

    // messages.cpp
    Finding Start(const CoreState& state, const char* check, const char* op, Loc loc) const;
    Finding Start(const CoreState& state, const char* check, const char* op, Loc loc,
                  Words words) const;
    // About bytes [begin, end) of an operand.
    Finding Start(const Step& step, const char* check, const Operand& operand, uint64_t begin,
                  uint64_t end) const;
    void Describe(const CoreState& state, const Operand& operand, uint64_t begin, uint64_t end,
                  Finding* finding) const;
    void SetOther(Epoch epoch, const char* access, Finding* finding) const;
    std::string BufferText(const Buffer& buffer) const;
    const Region* FindRegion(uint64_t address) const;
    const Region* RegionBefore(uint64_t address) const;  // null: none ends at or before it

    std::vector<Region> regions_;  // sorted by begin, disjoint
    mutable size_t lastRegion_ = 0;
    std::vector<std::unique_ptr<CoreState>> cores_;
    std::vector<Core> identities_;  // copies: reports outlive the cores they name
    Sites sites_;
    GmShadow gm_;
    std::string kernel_;
    const void* code_ = nullptr;  // the kernel's entry
    // Of an output: bytes that must be written, and what was there before.
    struct Marked {
        ByteRun run;
        std::vector<uint8_t> before;
        const Region* region = nullptr;
        std::vector<ByteRun> unwritten;  // once the launch has ended
        bool plain = false;              // plain C++ has stored to it
    };
    std::vector<Marked> marked_;
    std::vector<char> started_;
    int64_t ended_ = 0;
    std::vector<std::array<size_t, kCrossFlags>> cursors_;  // rounds a core has waited for
    std::vector<Round> rounds_[kCrossFlags];
    std::map<std::tuple<int, int, int, uint64_t>, size_t> roundIndex_;
    std::vector<Meeting> meetings_[3];  // SyncAll rounds per scope
    std::map<int, CrossClock> blockFlags_;
    std::unordered_map<uint64_t, Epoch> origins_;  // by the bits of the writing epoch
    std::unordered_set<uint64_t> doubtful_;        // by epoch: see IsDoubtful
    std::unordered_map<uint64_t, CrossClock> scalarReleases_;
    std::unordered_map<uint64_t, CrossClock> directStores_;   // WriteGmByPassDCache, by address
    std::map<uint64_t, Finding> sharedLines_;                 // by number of the line
    std::vector<std::pair<uint32_t, ByteRun>> scalarWrites_;  // (core, bytes) not seen yet
    FlagStores flagStores_;
    std::vector<std::pair<uint64_t, std::vector<uint8_t>>>
        hidden_;                                // bytes that a poll must not see yet
    std::vector<std::vector<ByteRun>> polled_;  // per core, when it has ended
    std::vector<Pending> unpolled_;  // stores over what a core has read: right if it polled there
};

// What one instruction is being checked against.
struct Checker::Step {
    CoreState& state;
    const Record& record;
    int pipe;
    Epoch me;
    Limits limits;
    std::vector<LaneRuns> poison;  // of its sources
    size_t sources = 0;            // sources whose data the results depend on
};

// What an instruction does with an operand.
inline bool Reads(const Operand& o) { return static_cast<int>(o.access) & 1; }

// tensor(i) gives a reference, so nobody knows whether it was read or written. On global memory,
// where cores meet, it counts as a read: nearly all are.
inline bool ByReference(const Record& r) { return r.scalarAccess && r.api == Api::kOperatorCall; }
inline bool Writes(const Record& r, const Operand& o) {
    return (static_cast<int>(o.access) & 2) && !(o.mem == Mem::kGm && ByReference(r));
}

// Whether what a product's operand lacks is part of every element of the result (data_flow.cpp).
bool SpoilsProduct(const Record& r, const LaneRuns& source);

const char* PositionName(uint8_t position);
std::string CoreText(const Core& core);

// First and one past the last byte the operand touches; false: it touches nothing.
bool Extent(const Record& r, const Operand& o, uint64_t* begin, uint64_t* end);

inline bool Contiguous(const Operand& o) {
    return (o.blocks <= 1 || o.blockStride == o.blockBytes) &&
           (o.repeats <= 1 || o.repeatStride == int64_t{o.blockBytes} * o.blocks);
}

}  // namespace sanitizer
}  // namespace ascendc_emu

#endif  // ASCENDC_EMU_SANITIZER_CHECKER_H
