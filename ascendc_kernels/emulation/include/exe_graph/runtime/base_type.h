// SPDX-License-Identifier: Apache-2.0
// C names that gert function types are spelled with.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_BASE_TYPE_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_BASE_TYPE_H

typedef unsigned int UINT32;
typedef UINT32 KernelStatus;

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_BASE_TYPE_H
