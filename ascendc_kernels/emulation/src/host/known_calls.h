// SPDX-License-Identifier: Apache-2.0
// Calls that have been inferred and tiled before. A call with the same op, shapes, dtypes, formats
// and attributes gets the same tiling, so InferShape and TilingFunc need not run for it again.
#ifndef OPGEN_HOST_KNOWN_CALLS_H
#define OPGEN_HOST_KNOWN_CALLS_H

#include <memory>
#include <string>
#include <vector>

#include "host/op_call.h"

namespace ascendc_emu {
// What was found out for a call. Shared by all later calls like it; only `kernel` changes.
struct KnownCall {
    std::shared_ptr<const OpEntry> entry;  // alive, so that no other op gets its address
    const SocFacts *soc = nullptr;
    std::vector<std::string> attr_texts;  // of OpCall::Describe
    std::shared_ptr<const TilingResult> tiling;
    uint64_t workspace_size = 0;
    std::shared_ptr<const FoundKernel> kernel;  // by std::atomic_load and std::atomic_store
};

// Everything that InferShape and TilingFunc may ask for, as bytes; empty when calls are not to be
// remembered now: outside of fast mode, and with OPGEN_TILING_CACHE=0 or OPGEN_HOST_LOG.
std::string KeyOfCall(const OpgenCall &call);

// Returns what is known of a call; null when it is new.
std::shared_ptr<KnownCall> FindKnownCall(const std::string &key, const char *op_type);

// Remembers a call after its tiling. The first time only what came out is noted: a call is known
// when a second one has given the same. An op of which it did not is never remembered, nor is one
// that reads values of its inputs, computes shapes in its kernel, or logs.
void RememberCall(const std::string &key, const OpgenExec &exec);
}  // namespace ascendc_emu

#endif  // OPGEN_HOST_KNOWN_CALLS_H
