// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "random.h"

#include <ATen/CPUGeneratorImpl.h>

#include <mutex>

// Declared here instead of including torch_npu's header: that one pulls in half of ACL.
namespace at_npu {
namespace detail {
const at::Generator& getDefaultNPUGenerator(c10::DeviceIndex device_index);
}
}  // namespace at_npu

namespace opgen_npu {
namespace {

// Philox on hardware consumes counters in fours, and set_offset insists on multiples of it.
constexpr uint64_t kOffsetStep = 4;

std::recursive_mutex default_generator_mutex;

// splitmix64: spreads neighbouring (seed, offset) pairs over all seeds.
uint64_t Mix(uint64_t value) {
    value += 0x9E3779B97F4A7C15ULL;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
    return value ^ (value >> 31);
}

uint64_t NextSeed(const std::optional<at::Generator>& given, c10::Device device) {
    at::Generator generator = given.has_value() && given->defined()
                                  ? *given
                                  : at_npu::detail::getDefaultNPUGenerator(device.index());
    TORCH_CHECK(generator.device().type() == c10::DeviceType::PrivateUse1,
                "Expected a 'npu' device type for generator but found '", generator.device().type(),
                "'");
    std::lock_guard<std::mutex> lock(generator.mutex());
    uint64_t seed = generator.current_seed();
    uint64_t offset = generator.get_offset();
    generator.set_offset(offset + kOffsetStep);
    return Mix(seed ^ Mix(offset));
}

}  // namespace

at::Generator NextCpuGenerator(const std::optional<at::Generator>& given, c10::Device device) {
    return at::detail::createCPUGenerator(NextSeed(given, device));
}

DefaultGeneratorScope::DefaultGeneratorScope(c10::Device device) {
    default_generator_mutex.lock();
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    uint64_t seed = NextSeed(std::nullopt, device);
    std::lock_guard<std::mutex> lock(generator.mutex());
    saved_ = generator.get_state();
    generator.set_current_seed(seed);
}

DefaultGeneratorScope::~DefaultGeneratorScope() {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    {
        std::lock_guard<std::mutex> lock(generator.mutex());
        generator.set_state(saved_);
    }
    default_generator_mutex.unlock();
}

}  // namespace opgen_npu
