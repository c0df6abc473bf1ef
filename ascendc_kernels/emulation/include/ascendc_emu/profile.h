// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The modelled time of a launch in profile mode. The launch itself only records what the cores do;
// the first call of one of the functions below replays the record on the model of the SoC
// (emulation/profile_parameters.csv, docs/profile_model.md). Every number is modelled, none
// measured.
#ifndef ASCENDC_EMU_PROFILE_H
#define ASCENDC_EMU_PROFILE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum OpgenProfileEventKind {
    OPGEN_PROFILE_INSTRUCTION = 0,
    OPGEN_PROFILE_STALL = 1,
    OPGEN_PROFILE_SET_FLAG = 2,
    OPGEN_PROFILE_WAIT_FLAG = 3,
    OPGEN_PROFILE_BARRIER = 4,
    OPGEN_PROFILE_SYNC_ALL = 5,
    OPGEN_PROFILE_CROSS_CORE = 6
} OpgenProfileEventKind;

#define OPGEN_PROFILE_NO_EVENT 0xffffffffu

// Something that a pipe of a core does. Times are modelled nanoseconds from the launch.
typedef struct OpgenProfileEvent {
    double start_ns, end_ns;
    uint64_t bytes;     // that the instruction moves or works on; 0: none
    uint32_t core;      // as "core" of the JSON
    uint32_t line;      // of the kernel's source; 0: not known
    uint32_t file;      // index in "files" of the JSON
    uint32_t from;      // index of the event it waited for; OPGEN_PROFILE_NO_EVENT: none
    uint16_t api;       // index in "apis" of the JSON
    uint8_t pipe;       // pipe_t
    uint8_t kind;       // OpgenProfileEventKind
    uint32_t operands;  // index in "operands" of the JSON; 0: none
} OpgenProfileEvent;

typedef struct OpgenProfileOptions {
    int32_t l2;              // 0: OPGEN_PROFILE_L2, else cold; 1: cold; 2: warm
    int32_t ablation;        // 0: of launches that replay fast enough; 1: always; 2: never
    uint64_t max_events;     // that opgen_profile_events() keeps; 0: 8 million
    uint64_t max_records;    // that a launch may store, 40 bytes each; one with more is sampled; 0:
                             // OPGEN_PROFILE_MAX_RECORDS, else 24 million
    const char* parameters;  // file that replaces profile_parameters.csv; NULL:
                             // OPGEN_PROFILE_PARAMETERS, else the built-in one
} OpgenProfileOptions;

// Sets the options of the replays from now on, also of the last launch: its profile is made anew.
// NULL: the defaults.
void opgen_profile_options(const OpgenProfileOptions* options);

// The profile of the last launch in profile mode, a JSON object (docs/profile_model.md); "{}"
// before the first one; {"error":{"code","what","why","fix"}} where there is none. Valid until the
// next launch in profile mode or the next call of opgen_profile_options().
const char* opgen_profile_json(void);

// A process that OPGEN_PROFILE=FILE is set for appends the profile of each launch to that file, a
// line for each. OPGEN_PROFILE_EVENTS=FILE, beside it, appends the events to another one: as they
// lie in memory, "events" of the profile says how many.

// Takes a record that OPGEN_PROFILE_RECORDS=DIR left (DIR/<number of the launch>.record) for the
// last launch: the same kernel with other parameters or another state of L2, without running it.
// Records are those of the same build of this library. Returns 1 where the file is none.
int opgen_profile_load(const char* record);

// The events of that profile, in the order of their core, then of their end; returns how many.
uint64_t opgen_profile_events(const OpgenProfileEvent** first);

#ifdef __cplusplus
}
#endif
#endif  // ASCENDC_EMU_PROFILE_H
