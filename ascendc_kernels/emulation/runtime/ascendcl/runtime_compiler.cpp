// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Compiling kernels at run time (aclrtc*): the source goes to
// `msopgen_wrap.foreign.runtime_compiler`, which compiles it as `opgen run` compiles a program, and
// the library comes back.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <unordered_set>

#include "acl/acl.h"
#include "acl/acl_rt_compile.h"
#include "state.h"

using namespace opgen_runtime;

namespace {

struct Program {
    std::string name;
    std::string source;
    std::vector<std::pair<std::string, std::string>> headers;
    std::vector<std::string> expressions;
    std::map<std::string, std::string> lowered;  // of the expressions
    std::string log;
    std::string binary;
    bool compiled = false;
};

std::mutex programs_mutex;

std::unordered_set<void*>& Programs() {
    static std::unordered_set<void*> all;
    return all;
}

Program* Resolve(aclrtcProg handle, const char* api) {
    std::lock_guard<std::mutex> lock(programs_mutex);
    if (Programs().count(handle) != 0) return static_cast<Program*>(handle);
    Fail(ACL_ERROR_RTC_INVALID_PROG, "%s: the handle is no program", api);
    return nullptr;
}

void WriteFile(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
}

// Texts one after another, each with a final 0.
std::string Joined(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) all.append(text).push_back('\0');
    return all;
}

// The folder through which the compiler is told what to do, and answers.
class Exchange {
 public:
    Exchange() {
        path_ = TemporaryPattern("opgen-rtc");
        if (mkdtemp(&path_[0]) == nullptr) path_.clear();
    }
    ~Exchange() {
        for (const char* name :
             {"name", "source", "headers", "expressions", "options", "library", "log"}) {
            unlink((path_ + "/" + name).c_str());
        }
        if (!path_.empty()) rmdir(path_.c_str());
    }
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;
    const std::string& Path() const { return path_; }
    std::string File(const char* name) const { return path_ + "/" + name; }

 private:
    std::string path_;
};

// Runs the compiler; its exit code, or -1 when it did not run.
int RunCompiler(const std::string& folder) {
    // Set by `opgen run`, so that the same Python with the same packages compiles.
    const char* python = getenv("OPGEN_PYTHON");
    if (python == nullptr || *python == 0) python = "python3";
    const char* const command[] = {python, "-m", "msopgen_wrap.foreign.runtime_compiler",
                                   folder.c_str(), nullptr};
    const pid_t child = fork();
    if (child < 0) return -1;
    if (child == 0) {
        execvp(python, const_cast<char* const*>(command));
        _exit(127);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

// What the exit codes of msopgen_wrap.foreign.runtime_compiler mean; its docstring has them.
aclError CodeOf(int exit_code) {
    switch (exit_code) {
        case 0:
            return ACL_SUCCESS;
        case 3:
            return ACL_ERROR_RTC_INVALID_OPTION;
        case 4:
            return ACL_ERROR_RTC_COMPILATION;
        case 5:
            return ACL_ERROR_RTC_LINKING;
        default:
            return ACL_ERROR_RTC_FAILURE;
    }
}

// Takes the library over: its bytes, and the mangled names of the expressions.
aclError TakeLibrary(Program& program, const std::string& path) {
    const char* const api = "aclrtcCompileProg";
    const OpgenRuntimeKernel* table = OpenKernels(path, api);
    if (table == nullptr) return ACL_ERROR_RTC_LINKING;
    for (const OpgenRuntimeKernel* kernel = table; kernel->name != nullptr; ++kernel) {
        program.lowered[kernel->name] = LinkName(*kernel);
    }
    if (!ReadFile(path, &program.binary))
        return Fail(ACL_ERROR_RTC_LINKING, "%s: cannot read %s", api, path.c_str());
    RememberBinary(program.binary, path);
    program.compiled = true;
    return ACL_SUCCESS;
}

aclError GiveSize(size_t size, size_t* target, const char* api) {
    if (target == nullptr) return Fail(ACL_ERROR_RTC_INVALID_INPUT, "%s: null argument", api);
    *target = size;
    return ACL_SUCCESS;
}

aclError GiveText(const std::string& text, char* target, const char* api) {
    if (target == nullptr) return Fail(ACL_ERROR_RTC_INVALID_INPUT, "%s: null argument", api);
    std::memcpy(target, text.data(), text.size());
    return ACL_SUCCESS;
}

}  // namespace

extern "C" {

aclError aclrtcCreateProg(aclrtcProg* prog, const char* src, const char* name, int numHeaders,
                          const char** headers, const char** includeNames) {
    if (prog == nullptr || src == nullptr || numHeaders < 0 ||
        (numHeaders > 0 && (headers == nullptr || includeNames == nullptr))) {
        return Fail(ACL_ERROR_RTC_INVALID_INPUT,
                    "aclrtcCreateProg: no source, or headers without text or name");
    }
    auto program = std::make_unique<Program>();
    program->name = name != nullptr && *name != 0 ? name : "default_program";
    program->source = src;
    for (int i = 0; i < numHeaders; ++i) {
        if (headers[i] == nullptr || includeNames[i] == nullptr) {
            return Fail(ACL_ERROR_RTC_INVALID_INPUT,
                        "aclrtcCreateProg: header %d has no text or no name", i);
        }
        program->headers.emplace_back(includeNames[i], headers[i]);
    }
    std::lock_guard<std::mutex> lock(programs_mutex);
    *prog = program.get();
    Programs().insert(program.release());
    return ACL_SUCCESS;
}

aclError aclrtcDestroyProg(aclrtcProg* prog) {
    std::lock_guard<std::mutex> lock(programs_mutex);
    if (prog == nullptr || Programs().erase(*prog) == 0) {
        return Fail(ACL_ERROR_RTC_INVALID_PROG, "aclrtcDestroyProg: the handle is no program");
    }
    delete static_cast<Program*>(*prog);
    *prog = nullptr;
    return ACL_SUCCESS;
}

aclError aclrtcAddNameExpr(aclrtcProg prog, const char* const nameExpression) {
    Program* program = Resolve(prog, "aclrtcAddNameExpr");
    if (program == nullptr) return ACL_ERROR_RTC_INVALID_PROG;
    if (nameExpression == nullptr || *nameExpression == 0) {
        return Fail(ACL_ERROR_RTC_INVALID_INPUT, "aclrtcAddNameExpr: no name");
    }
    if (program->compiled) {
        return Fail(ACL_ERROR_RTC_NO_NAME_EXPR_AFTER_COMPILATION,
                    "aclrtcAddNameExpr: %s comes after aclrtcCompileProg; add names before it",
                    nameExpression);
    }
    auto& all = program->expressions;
    if (std::find(all.begin(), all.end(), nameExpression) == all.end())
        all.emplace_back(nameExpression);
    return ACL_SUCCESS;
}

aclError aclrtcCompileProg(aclrtcProg prog, int numOptions, const char** options) {
    const char* const api = "aclrtcCompileProg";
    Program* program = Resolve(prog, api);
    if (program == nullptr) return ACL_ERROR_RTC_INVALID_PROG;
    if (numOptions < 0 || (numOptions > 0 && options == nullptr)) {
        return Fail(ACL_ERROR_RTC_INVALID_INPUT, "%s: %d options, and no list of them", api,
                    numOptions);
    }
    std::vector<std::string> given;
    for (int i = 0; i < numOptions; ++i) {
        if (options[i] == nullptr)
            return Fail(ACL_ERROR_RTC_INVALID_OPTION, "%s: option %d is null", api, i);
        given.emplace_back(options[i]);
    }
    Exchange exchange;
    if (exchange.Path().empty())
        return Fail(ACL_ERROR_RTC_FAILURE, "%s: cannot make a temporary folder", api);
    std::vector<std::string> headers;
    for (const auto& header : program->headers) {
        headers.push_back(header.first);
        headers.push_back(header.second);
    }
    WriteFile(exchange.File("name"), program->name);
    WriteFile(exchange.File("source"), program->source);
    WriteFile(exchange.File("headers"), Joined(headers));
    WriteFile(exchange.File("expressions"), Joined(program->expressions));
    WriteFile(exchange.File("options"), Joined(given));
    const int exit_code = RunCompiler(exchange.Path());
    program->log.clear();
    ReadFile(exchange.File("log"), &program->log);  // none when the compiler did not run
    const aclError code = CodeOf(exit_code);
    if (code == ACL_ERROR_RTC_FAILURE && program->log.empty()) {
        return Fail(
            code,
            "%s: cannot run the compiler (python3 -m msopgen_wrap.foreign.runtime_compiler, exit "
            "code %d); "
            "run the program under `opgen run`, or set OPGEN_PYTHON to a Python that has opgen",
            api, exit_code);
    }
    if (code != ACL_SUCCESS)
        return Fail(code, "%s: %s: %s", api, program->name.c_str(), program->log.c_str());
    std::string library;
    ReadFile(exchange.File("library"), &library);
    return TakeLibrary(*program, library);
}

aclError aclrtcGetLoweredName(aclrtcProg prog, const char* const nameExpression,
                              const char** loweredName) {
    Program* program = Resolve(prog, "aclrtcGetLoweredName");
    if (program == nullptr) return ACL_ERROR_RTC_INVALID_PROG;
    if (nameExpression == nullptr || loweredName == nullptr) {
        return Fail(ACL_ERROR_RTC_INVALID_INPUT, "aclrtcGetLoweredName: null argument");
    }
    if (!program->compiled) {
        return Fail(ACL_ERROR_RTC_NO_LOWERED_NAMES_BEFORE_COMPILATION,
                    "aclrtcGetLoweredName: the program is not compiled yet");
    }
    const auto& all = program->expressions;
    auto found = program->lowered.find(nameExpression);
    if (std::find(all.begin(), all.end(), nameExpression) == all.end() ||
        found == program->lowered.end()) {
        return Fail(ACL_ERROR_RTC_NAME_EXPR_NOT_VALID,
                    "aclrtcGetLoweredName: %s was not added with aclrtcAddNameExpr",
                    nameExpression);
    }
    *loweredName = found->second.c_str();
    return ACL_SUCCESS;
}

aclError aclrtcGetBinDataSize(aclrtcProg prog, size_t* binDataSizeRet) {
    Program* program = Resolve(prog, "aclrtcGetBinDataSize");
    if (program == nullptr) return ACL_ERROR_RTC_INVALID_PROG;
    return GiveSize(program->binary.size(), binDataSizeRet, "aclrtcGetBinDataSize");
}

aclError aclrtcGetBinData(aclrtcProg prog, char* binData) {
    Program* program = Resolve(prog, "aclrtcGetBinData");
    return program != nullptr ? GiveText(program->binary, binData, "aclrtcGetBinData")
                              : ACL_ERROR_RTC_INVALID_PROG;
}

aclError aclrtcGetCompileLogSize(aclrtcProg prog, size_t* logSizeRet) {
    Program* program = Resolve(prog, "aclrtcGetCompileLogSize");
    if (program == nullptr) return ACL_ERROR_RTC_INVALID_PROG;
    return GiveSize(program->log.size() + 1, logSizeRet, "aclrtcGetCompileLogSize");
}

aclError aclrtcGetCompileLog(aclrtcProg prog, char* log) {
    Program* program = Resolve(prog, "aclrtcGetCompileLog");
    if (program == nullptr) return ACL_ERROR_RTC_INVALID_PROG;
    if (aclError failed = GiveText(program->log, log, "aclrtcGetCompileLog")) return failed;
    log[program->log.size()] = 0;
    return ACL_SUCCESS;
}

}  // extern "C"
