// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "profile/trace_file.h"

#include <algorithm>
#include <fstream>
#include <type_traits>

namespace ascendc_emu {
namespace profile {
namespace {

constexpr uint64_t kMagic = 0x6f706e67'70726f66ull + sizeof(Step) + (uint64_t{Api::kCount} << 32);

class Writer {
 public:
    explicit Writer(const std::string& path) : file_(path, std::ios::binary) {}
    template <typename T>
    void Value(const T& value) {
        static_assert(std::is_trivially_copyable<T>::value, "a plain struct");
        file_.write(reinterpret_cast<const char*>(&value), sizeof(T));
    }
    void Text(const std::string& text) {
        Value(uint64_t{text.size()});
        file_.write(text.data(), static_cast<std::streamsize>(text.size()));
    }
    template <typename T, typename F>
    void List(const std::vector<T>& list, F&& each) {
        Value(uint64_t{list.size()});
        for (const T& one : list) each(one);
    }
    bool good() {
        file_.flush();
        return file_.good();
    }

 private:
    std::ofstream file_;
};

class Reader {
 public:
    explicit Reader(const std::string& path) : file_(path, std::ios::binary) {}
    template <typename T>
    void Value(T* value) {
        file_.read(reinterpret_cast<char*>(value), sizeof(T));
        if (!file_) *value = T();
    }
    uint64_t Count() {
        uint64_t count = 0;
        Value(&count);
        return file_ ? count : 0;
    }
    void Text(std::string* text) {
        text->clear();
        for (uint64_t left = Count(); left > 0 && file_;) {
            char piece[4096];
            const auto bytes =
                static_cast<std::streamsize>(std::min<uint64_t>(left, sizeof(piece)));
            file_.read(piece, bytes);
            text->append(piece, static_cast<size_t>(file_.gcount()));
            left -= static_cast<uint64_t>(bytes);
        }
    }
    template <typename T, typename F>
    void List(std::vector<T>* list, F&& each) {
        for (uint64_t left = Count(); left > 0 && file_; --left) {
            list->emplace_back();
            each(&list->back());
        }
    }
    bool good() const { return file_.good(); }

 private:
    std::ifstream file_;
};

}  // namespace

bool SaveTrace(const Trace& trace, const std::string& path) {
    Writer out(path);
    out.Value(kMagic);
    out.Text(trace.kernel);
    out.Text(trace.soc ? trace.soc->name : "");
    out.List(trace.sites, [&](const Site& site) { out.Value(site); });
    out.List(trace.files, [&](const std::string& name) { out.Text(name); });
    out.List(trace.apis, [&](const std::string& name) { out.Text(name); });
    out.List(trace.contributors, [&](uint32_t count) { out.Value(count); });
    out.List(trace.buffers, [&](const Buffer& buffer) {
        out.Text(buffer.name);
        out.Value(buffer.begin);
        out.Value(buffer.end);
        out.Value(buffer.kind);
    });
    out.List(trace.operands, [&](const std::string& names) { out.Text(names); });
    for (const uint64_t value :
         {trace.records, trace.ubRead, trace.ubWritten, trace.kept, trace.dropped,
          uint64_t{trace.stride}, uint64_t{trace.failed}, uint64_t{trace.timeOnly}}) {
        out.Value(value);
    }
    out.List(trace.cores, [&](const CoreTrace& core) {
        out.Value(core.id);
        out.Value(core.kind);
        out.Value(core.slots);
        out.Value(core.ended);
        out.Value(core.tail);
        out.Value(core.steps.size());
        for (uint32_t i = 0; i < core.steps.size(); ++i) out.Value(core.steps[i]);
        out.List(core.gaps, [&](const Gap& gap) {
            out.Value(gap.steps);
            out.Value(gap.slotEnd);
            out.List(gap.copies, [&](const Step& step) { out.Value(step); });
        });
    });
    return out.good();
}

std::unique_ptr<Trace> LoadTrace(const std::string& path) {
    Reader in(path);
    uint64_t magic = 0;
    in.Value(&magic);
    if (magic != kMagic) return nullptr;
    auto trace = std::make_unique<Trace>();
    std::string soc;
    in.Text(&trace->kernel);
    in.Text(&soc);
    trace->soc = FindSoc(soc.c_str());
    in.List(&trace->sites, [&](Site* site) { in.Value(site); });
    in.List(&trace->files, [&](std::string* name) { in.Text(name); });
    in.List(&trace->apis, [&](std::string* name) { in.Text(name); });
    in.List(&trace->contributors, [&](uint32_t* count) { in.Value(count); });
    in.List(&trace->buffers, [&](Buffer* buffer) {
        in.Text(&buffer->name);
        in.Value(&buffer->begin);
        in.Value(&buffer->end);
        in.Value(&buffer->kind);
    });
    trace->operands.clear();
    in.List(&trace->operands, [&](std::string* names) { in.Text(names); });
    uint64_t failed = 0, stride = 1, timeOnly = 0;
    for (uint64_t* value : {&trace->records, &trace->ubRead, &trace->ubWritten, &trace->kept,
                            &trace->dropped, &stride, &failed, &timeOnly}) {
        in.Value(value);
    }
    trace->stride = static_cast<uint32_t>(stride);
    trace->failed = failed != 0;
    trace->timeOnly = timeOnly != 0;
    in.List(&trace->cores, [&](CoreTrace* core) {
        uint32_t steps = 0;
        in.Value(&core->id);
        in.Value(&core->kind);
        in.Value(&core->slots);
        in.Value(&core->ended);
        in.Value(&core->tail);
        in.Value(&steps);
        for (; steps > 0 && in.good(); --steps) in.Value(&core->steps.Add());
        in.List(&core->gaps, [&](Gap* gap) {
            in.Value(&gap->steps);
            in.Value(&gap->slotEnd);
            in.List(&gap->copies, [&](Step* step) { in.Value(step); });
        });
    });
    if (!in.good() || trace->soc == nullptr) return nullptr;
    return trace;
}

}  // namespace profile
}  // namespace ascendc_emu
