// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The numbers of the model of time, from emulation/profile_parameters.csv.
#ifndef OPGEN_PROFILE_PARAMETERS_H
#define OPGEN_PROFILE_PARAMETERS_H

#include <cstdint>
#include <string>

namespace ascendc_emu {
struct SocInfo;
namespace profile {

// Which end of the ranges of guessed parameters is taken.
enum class End : uint8_t { kValue, kFast, kSlow };

// Units as in the file; a field has the name of its row.
struct Parameters {
    double clock = 0, launch = 0, launch_core = 0;
    double gm_bandwidth = 0, gm_request = 0, l2_bandwidth = 0, gm_write_weight = 0;
    double gm_core_rate = 0, l2_core_rate = 0, store_rate = 0;
    double l2_bytes = 0, l2_ways = 0, l2_line = 0;
    double copy_issue = 0, load_latency = 0, store_latency = 0, burst = 0, same_line = 0;
    double scalar_issue = 0, scalar_queue = 0, scalar_access = 0, scalar_gm_hit = 0,
           scalar_gm_miss = 0;
    double queue_depth = 0, flag_latency = 0;
    double vector_start = 0, vector_repeat = 0, library_repeat = 0;
    double sync_all = 0, cross_flag = 0;
    double cube_start = 0, l0a_rate = 0, l0b_rate = 0, fixpipe_rate = 0, local_copy_rate = 0;
};

// The parameters of a SoC: a row of its own name wins over one of its family, that over "*".
// `path`: a file instead of the built-in table; "": the built-in one. Returns what is wrong with
// the table, a line per mistake; "": nothing.
std::string ReadParameters(const SocInfo& soc, const std::string& path, End end, Parameters* out);

}  // namespace profile
}  // namespace ascendc_emu

#endif  // OPGEN_PROFILE_PARAMETERS_H
