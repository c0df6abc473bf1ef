// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "core/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#define OPGEN_UCONTEXT 1
#endif

namespace ascendc_emu {
namespace {
// Kernels keep their data in the emulated buffers; the stack only holds scalars, small arrays and
// the printf of a dump. Pages are touched lazily.
constexpr size_t kStackBytes = 1 << 20;
// Must not be touched, so that an overflow faults; large local arrays shall not jump over it.
constexpr size_t kGuardBytes = 1 << 20;
}  // namespace

#if !defined(OPGEN_UCONTEXT)
// Saves the callee-saved registers on the current stack, stores its pointer, and continues on the
// other stack. The signal mask is left alone: that is what makes it fast.
extern "C" void opgen_switch_stack(void** save, void* load);
#if defined(__x86_64__)
__asm__(R"(
.text
.p2align 4
.globl opgen_switch_stack
.hidden opgen_switch_stack
.type opgen_switch_stack, @function
opgen_switch_stack:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    subq $8, %rsp
    stmxcsr (%rsp)
    fnstcw 4(%rsp)
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    ldmxcsr (%rsp)
    fldcw 4(%rsp)
    addq $8, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size opgen_switch_stack, .-opgen_switch_stack
)");
constexpr int kSavedWords = 8;  // control word, six registers, return address
#else
__asm__(R"(
.text
.p2align 4
.globl opgen_switch_stack
.hidden opgen_switch_stack
.type opgen_switch_stack, %function
opgen_switch_stack:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
.size opgen_switch_stack, .-opgen_switch_stack
)");
#endif

namespace {
thread_local Fiber* g_starting = nullptr;
}  // namespace
#endif

namespace {
// Stacks of finished fibers: launches follow one another, and mapping and faulting in a stack takes
// longer than a small kernel does.
struct Stacks {
    std::mutex mutex;
    std::vector<void*> free;
};
constexpr size_t kMostFree = 64;

Stacks& FreeStacks() {
    static Stacks* const stacks = new Stacks;  // threads may outlive main()
    return *stacks;
}

void* TakeStack() {
    {
        Stacks& stacks = FreeStacks();
        std::lock_guard<std::mutex> lock(stacks.mutex);
        if (!stacks.free.empty()) {
            void* const stack = stacks.free.back();
            stacks.free.pop_back();
            return stack;
        }
    }
    void* const stack = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) throw std::bad_alloc();
    mprotect(stack, kGuardBytes, PROT_NONE);
    return stack;
}

void GiveStack(void* stack) {
    {
        Stacks& stacks = FreeStacks();
        std::lock_guard<std::mutex> lock(stacks.mutex);
        if (stacks.free.size() < kMostFree) {
            stacks.free.push_back(stack);
            return;
        }
    }
    munmap(stack, kGuardBytes + kStackBytes);
}
}  // namespace

Fiber::Fiber() {
    stack_ = TakeStack();
#if defined(OPGEN_UCONTEXT)
    context_ = new ucontext_t;
    caller_ = new ucontext_t;
#endif
}

Fiber::~Fiber() {
    GiveStack(stack_);
#if defined(OPGEN_UCONTEXT)
    delete static_cast<ucontext_t*>(context_);
    delete static_cast<ucontext_t*>(caller_);
#endif
}

void Fiber::Abandon() {
    finished_ = true;
    Yield();
}

void Fiber::Main(void* self) {
    Fiber* f = static_cast<Fiber*>(self);
    f->function_(f->argument_);
    f->finished_ = true;
    f->Yield();
    abort();  // a finished fiber is never resumed
}

#if defined(OPGEN_UCONTEXT)
namespace {
void Trampoline(unsigned hi, unsigned lo) {
    const uintptr_t p = (static_cast<uintptr_t>(hi) << 32) | lo;
    auto pair = reinterpret_cast<void**>(p);
    reinterpret_cast<void (*)(void*)>(pair[0])(pair[1]);
}
thread_local void* g_pair[2];
}  // namespace

void Fiber::Start(void (*function)(void*), void* context) {
    function_ = function;
    argument_ = context;
    finished_ = false;
    auto* uc = static_cast<ucontext_t*>(context_);
    getcontext(uc);
    uc->uc_stack.ss_sp = static_cast<char*>(stack_) + kGuardBytes;
    uc->uc_stack.ss_size = kStackBytes;
    uc->uc_link = nullptr;
    g_pair[0] = reinterpret_cast<void*>(&Fiber::Main);
    g_pair[1] = this;
    const uintptr_t p = reinterpret_cast<uintptr_t>(g_pair);
    makecontext(uc, reinterpret_cast<void (*)()>(&Trampoline), 2,
                static_cast<unsigned>(static_cast<uint64_t>(p) >> 32), static_cast<unsigned>(p));
}
bool Fiber::Resume() {
    swapcontext(static_cast<ucontext_t*>(caller_), static_cast<ucontext_t*>(context_));
    return finished_;
}
void Fiber::Yield() {
    swapcontext(static_cast<ucontext_t*>(context_), static_cast<ucontext_t*>(caller_));
}
#else
void Fiber::Entry() { Main(g_starting); }

void Fiber::Start(void (*function)(void*), void* context) {
    function_ = function;
    argument_ = context;
    finished_ = false;
    char* top = static_cast<char*>(stack_) + kGuardBytes + kStackBytes;
    top = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t(63));
#if defined(__x86_64__)
    // Leave the stack as after a call: the entry expects rsp % 16 == 8.
    auto* words = reinterpret_cast<uint64_t*>(top - 72) - kSavedWords;
    for (int i = 0; i < kSavedWords; ++i) words[i] = 0;
    words[0] = 0x0000037f00001f80ull;  // default mxcsr and x87 control word
    words[7] = reinterpret_cast<uint64_t>(&Fiber::Entry);
    words[8] = 0;  // return address of the entry: ends unwinding
    context_ = words;
#else
    auto* words = reinterpret_cast<uint64_t*>(top - 160);
    for (int i = 0; i < 20; ++i) words[i] = 0;
    words[11] = reinterpret_cast<uint64_t>(&Fiber::Entry);  // x30
    context_ = words;
#endif
}

bool Fiber::Resume() {
    g_starting = this;
    opgen_switch_stack(&caller_, context_);
    return finished_;
}

void Fiber::Yield() { opgen_switch_stack(&context_, caller_); }

#endif

}  // namespace ascendc_emu
