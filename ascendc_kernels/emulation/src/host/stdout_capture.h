// SPDX-License-Identifier: Apache-2.0
// What a function prints to standard output.
#ifndef OPGEN_HOST_STDOUT_CAPTURE_H
#define OPGEN_HOST_STDOUT_CAPTURE_H

#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <mutex>
#include <string>

namespace ascendc_emu {
// Runs `body` with standard output going to a file and returns the last 2000 bytes of it. Other
// threads' output goes there too meanwhile, so this is for failures only.
template <typename Body>
std::string CaptureStdout(Body body) {
    static std::mutex mutex;
    const std::lock_guard<std::mutex> lock(mutex);
    std::FILE *const file = std::tmpfile();
    if (file == nullptr) {
        return "";
    }
    std::cout.flush();
    std::fflush(stdout);
    const int saved = dup(STDOUT_FILENO);
    if (saved < 0 || dup2(fileno(file), STDOUT_FILENO) < 0) {
        std::fclose(file);
        return "";
    }
    body();
    std::cout.flush();
    std::fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    constexpr long kLongest = 2000;
    std::fseek(file, 0, SEEK_END);
    const long size = std::ftell(file);
    const long start = size > kLongest ? size - kLongest : 0;
    std::fseek(file, start, SEEK_SET);
    std::string text(static_cast<size_t>(size - start), '\0');
    text.resize(std::fread(&text[0], 1, text.size(), file));
    std::fclose(file);
    return text;
}
}  // namespace ascendc_emu

#endif  // OPGEN_HOST_STDOUT_CAPTURE_H
