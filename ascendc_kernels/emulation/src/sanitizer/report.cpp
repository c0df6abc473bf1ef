// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "ascendc_emu/sanitizer.h"
#include "core/json_text.h"

namespace ascendc_emu {
namespace sanitizer {

namespace {

std::mutex g_mutex;

// Writes "key": value pairs of one JSON object.
class Object {
 public:
    explicit Object(std::string* out) : out_(out) { *out_ += '{'; }
    ~Object() { *out_ += '}'; }
    void Text(const char* key, const std::string& value) {
        Key(key);
        AppendQuoted(out_, value);
    }
    void Number(const char* key, int64_t value) {
        Key(key);
        *out_ += std::to_string(value);
    }
    std::string* Key(const char* key) {
        if (!first_) *out_ += ", ";
        first_ = false;
        AppendQuoted(out_, key);
        *out_ += ": ";
        return out_;
    }

 private:
    std::string* out_;
    bool first_ = true;
};

void WriteFinding(std::string* out, const Finding& f) {
    Object o(out);
    o.Text("check", f.check);
    o.Text("severity", f.warning ? "warning" : "error");
    o.Text("what", f.what);
    o.Text("why", f.why);
    o.Text("fix", f.fix);
    o.Text("file", f.file);
    o.Number("line", f.line);
    o.Text("op", f.op);
    o.Text("kernel", f.kernel);
    if (!f.role.empty()) {
        Object operand(o.Key("operand"));
        operand.Text("role", f.role);
        operand.Text("memory", f.memory);
        operand.Text("name", f.name);
        operand.Text("dtype", f.dtype);
        operand.Number("begin", static_cast<int64_t>(f.begin));
        operand.Number("end", static_cast<int64_t>(f.end));
    }
    if (f.coreId >= 0) {
        Object core(o.Key("core"));
        core.Number("id", f.coreId);
        core.Text("kind", f.coreKind);
        core.Number("block", f.block);
        core.Number("sub_block", f.subBlock);
    }
    o.Text("pipe", f.pipe);
    if (f.hasOther) {
        Object other(o.Key("other"));
        other.Text("op", f.other.op);
        other.Text("file", f.other.file);
        other.Number("line", f.other.line);
        other.Text("pipe", f.other.pipe);
        other.Text("core", f.other.core);
        other.Text("access", f.other.access);
    }
    o.Number("count", static_cast<int64_t>(f.count));
}

}  // namespace

std::string Format(const char* format, ...) {
    va_list args;
    va_start(args, format);
    va_list copy;
    va_copy(copy, args);
    int size = vsnprintf(nullptr, 0, format, copy);
    va_end(copy);
    std::string text(size > 0 ? static_cast<size_t>(size) : 0, '\0');
    if (size > 0) vsnprintf(&text[0], text.size() + 1, format, args);
    va_end(args);
    return text;
}

Findings& Findings::Instance() {
    static Findings findings;
    return findings;
}

void Findings::Add(const Finding& finding) {
    std::lock_guard<std::mutex> lock(g_mutex);
    // One bug is one pair of source lines: cores, iterations and offsets only raise the count.
    Key key(finding.check, finding.file, finding.line, finding.op, finding.role,
            finding.hasOther ? finding.other.file : "", finding.hasOther ? finding.other.line : 0);
    auto found = index_.find(key);
    if (found != index_.end()) {
        Finding& known = items_[found->second];
        const uint64_t count = known.count + 1;
        if (known.warning && !finding.warning) {
            // A loop that at first only came near the end: the error is what matters.
            known = finding;
            --warnings_;
            ++errors_;
        }
        known.count = count;
        return;
    }
    index_.emplace(key, items_.size());
    items_.push_back(finding);
    ++(finding.warning ? warnings_ : errors_);
}

bool Findings::Has(const std::string& check, const std::string& op, Loc loc) const {
    std::lock_guard<std::mutex> lock(g_mutex);
    std::string file = loc.file ? loc.file : "";
    return std::any_of(items_.begin(), items_.end(), [&](const Finding& f) {
        return !f.warning && f.check == check && f.op == op && f.line == loc.line && f.file == file;
    });
}

void Findings::Clear() {
    std::lock_guard<std::mutex> lock(g_mutex);
    items_.clear();
    index_.clear();
    errors_ = warnings_ = 0;
}

std::string Findings::Json() const {
    std::lock_guard<std::mutex> lock(g_mutex);
    std::string out = "[";
    for (size_t i = 0; i < items_.size(); ++i) {
        if (i) out += ",\n ";
        WriteFinding(&out, items_[i]);
    }
    return out + "]";
}

namespace {

bool Apply(Options* options, const std::string& text) {
    size_t equals = text.find('=');
    if (equals == std::string::npos) return false;
    std::string name = text.substr(0, equals);
    std::string value = text.substr(equals + 1);
    if (name == "tail-write") {
        options->tailWriteIsError = value == "error";
        return value == "error" || value == "warning";
    }
    if (name == "freed-tensor") {
        options->freedTensorIsError = value == "error";
        return value == "error" || value == "warning";
    }
    if (name == "auto-sync") options->autoOrderIsWarning = value == "project";
    if (name == "auto-sync" && value == "project") {
        options->autoSync = false;
        return true;
    }
    if (value != "on" && value != "off") return false;
    bool on = value == "on";
    if (name == "auto-sync") {
        options->autoSync = on;
    } else if (name == "uninit") {
        options->uninit = on;
    } else if (name == "suspicious") {
        options->suspicious = on;
    } else if (name == "leak-check") {
        options->leakCheck = on;
    } else if (name == "unused-memory") {
        options->unusedMemory = on;
    } else if (name == "unwritten") {
        options->unwritten = on;
    } else {
        return false;
    }
    return true;
}

Options FromEnvironment() {
    Options options;
    const char* text = std::getenv("OPGEN_CHECK");
    std::string rest = text ? text : "";
    while (!rest.empty()) {
        size_t comma = rest.find(',');
        std::string item = rest.substr(0, comma);
        rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
        if (!item.empty() && !Apply(&options, item)) {
            // A mistyped option must not silently weaken or strengthen the checks.
            std::fprintf(stderr, "opgen: OPGEN_CHECK: unknown option \"%s\" ignored\n",
                         item.c_str());
        }
    }
    return options;
}

}  // namespace

Options& GetOptions() {
    static Options options = FromEnvironment();
    return options;
}

bool SetOption(const std::string& text) { return Apply(&GetOptions(), text); }

}  // namespace sanitizer
}  // namespace ascendc_emu

extern "C" {

const char* opgen_sanitizer_json(void) {
    thread_local std::string text;
    text = ascendc_emu::sanitizer::Findings::Instance().Json();
    return text.c_str();
}

uint64_t opgen_sanitizer_errors(void) {
    return ascendc_emu::sanitizer::Findings::Instance().Errors();
}

uint64_t opgen_sanitizer_warnings(void) {
    return ascendc_emu::sanitizer::Findings::Instance().Warnings();
}

void opgen_sanitizer_clear(void) { ascendc_emu::sanitizer::Findings::Instance().Clear(); }

int opgen_sanitizer_option(const char* text) {
    return ascendc_emu::sanitizer::SetOption(text ? text : "") ? 0 : 1;
}

}  // extern "C"
