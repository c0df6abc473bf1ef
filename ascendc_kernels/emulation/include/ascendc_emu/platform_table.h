// SPDX-License-Identifier: Apache-2.0
// platform_facts.csv as the host side reads it: every column of a SoC's row; architectures.csv.
#ifndef ASCENDC_EMU_PLATFORM_TABLE_H
#define ASCENDC_EMU_PLATFORM_TABLE_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ascendc_emu/arch_facts.h"

namespace ascendc_emu {
// The rows of a CSV text by the names of its first line; a quoted cell may contain commas.
std::vector<std::map<std::string, std::string>> CsvRows(const char *text);

struct SocFacts {
    std::string name;    // "Ascend910B3"
    std::string family;  // "Ascend910B"
    std::map<std::string, std::string> columns;

    // Numeric column, 0 when the cell is empty.
    uint64_t Number(const char *column) const;
    // Text column, "" when there is none.
    std::string Text(const char *column) const;
    // Cube and vector cores are separate (arch 2201).
    bool IsSplit() const;
    uint32_t CubeCores() const;
    uint32_t VectorCores() const;
    // Bytes of UB a kernel may use; tiling sees 256 less than the hardware on split cores.
    uint64_t UsableUb() const;
    // Bytes of workspace the device libraries use in front of the kernel's own.
    uint32_t LibraryWorkspace() const;
};

// An exact name or a family name in any case ("ascend910b3", "ascend910b": its reference part).
// Null or "": OPGEN_SOC, else ascend910b3. Null when there is no such SoC.
const SocFacts *FindSocFacts(const char *name);

// Null: the architecture is not emulated.
const ArchFacts *FindArchFacts(int32_t arch);

// Which architectures are emulated, for messages.
std::string EmulatedArchs();

// All exact names, by comma, for messages.
std::string KnownSocs();
}  // namespace ascendc_emu

#endif  // ASCENDC_EMU_PLATFORM_TABLE_H
