// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "core/call_names.h"

#include <cctype>
#include <fstream>

namespace ascendc_emu {
namespace {

bool IsNameChar(char c) { return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string TextAt(Loc loc) {
    std::string line;
    if (loc.file == nullptr) return line;
    std::ifstream file(loc.file);
    for (uint32_t i = 0; i < loc.line; ++i) {
        if (!std::getline(file, line)) return "";
    }
    return line.substr(0, line.find("//"));
}

void SkipSpaceBack(const std::string& text, size_t* at) {
    while (*at > 0 && isspace(static_cast<unsigned char>(text[*at - 1]))) --*at;
}

void SkipSpace(const std::string& text, size_t* at) {
    while (*at < text.size() && isspace(static_cast<unsigned char>(text[*at]))) ++*at;
}

// The name, path or element (`a`, `this->q`, `queues[i].in`) that ends before `at`, without
// "this->".
std::string PathBefore(const std::string& text, size_t* at) {
    const size_t end = *at;
    int depth = 0;
    while (*at > 0) {
        const char c = text[*at - 1];
        if (c == ']') ++depth;
        const bool arrow = *at > 1 && c == '>' && text[*at - 2] == '-';
        if (depth == 0 && !IsNameChar(c) && c != '.' && !arrow) break;
        if (c == '[' && --depth < 0) break;
        *at -= arrow ? 2 : 1;
    }
    std::string path = text.substr(*at, end - *at);
    if (path.rfind("this->", 0) == 0) path.erase(0, 6);
    return path;
}

// Where `method` stands as a word of its own; npos: nowhere, or more than once.
size_t OnlyUse(const std::string& text, const std::string& method) {
    size_t found = std::string::npos;
    for (size_t at = text.find(method); at != std::string::npos; at = text.find(method, at + 1)) {
        const size_t end = at + method.size();
        if ((at > 0 && IsNameChar(text[at - 1])) || (end < text.size() && IsNameChar(text[end])))
            continue;
        if (found != std::string::npos) return std::string::npos;
        found = at;
    }
    return found;
}

}  // namespace

CallNames NamesOfCall(Loc loc, const char* method) {
    CallNames names;
    const std::string text = TextAt(loc);
    const size_t use = OnlyUse(text, method);
    if (use == std::string::npos) return names;
    size_t at = use;
    if (at >= 9 && text.compare(at - 9, 9, "template ") == 0) at -= 9;
    if (at > 0 && text[at - 1] == '.') {
        --at;
        names.object = PathBefore(text, &at);
    } else if (at > 1 && text.compare(at - 2, 2, "->") == 0) {
        at -= 2;
        names.object = PathBefore(text, &at);
    }
    SkipSpaceBack(text, &at);
    if (at > 1 && text[at - 1] == '=' &&
        (IsNameChar(text[at - 2]) || isspace(static_cast<unsigned char>(text[at - 2])) ||
         text[at - 2] == ']')) {
        --at;
        SkipSpaceBack(text, &at);
        names.result = PathBefore(text, &at);
    }
    const size_t open = text.find('(', use);
    if (open == std::string::npos) return names;
    size_t first = open + 1;
    SkipSpace(text, &first);
    size_t end = first;
    while (end < text.size() && text[end] != ',' && text[end] != ')') ++end;
    const size_t stop = end;
    SkipSpaceBack(text, &end);
    size_t begin = end;
    const std::string argument = PathBefore(text, &begin);
    if (stop < text.size() && begin == first) names.argument = argument;
    return names;
}

std::string TensorNameAt(Loc loc, const char* method) {
    const CallNames names = NamesOfCall(loc, method);
    return names.result.empty() ? names.argument : names.result;
}

std::string QueueNameAt(Loc alloc, Loc declared) {
    const CallNames names = NamesOfCall(alloc, "AllocTensor");
    return names.object.empty() ? NamesOfCall(declared, "InitBuffer").argument : names.object;
}

}  // namespace ascendc_emu
