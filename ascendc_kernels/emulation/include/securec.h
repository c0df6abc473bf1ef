// SPDX-License-Identifier: Apache-2.0
// The bounds-checked memory and string functions CANN headers bring with them.
#ifndef OPGEN_EMULATION_SECUREC_H
#define OPGEN_EMULATION_SECUREC_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#ifdef __cplusplus
#include <cstdarg>
#else
#include <stdarg.h>
#endif

typedef int errno_t;
#ifndef EOK
#define EOK 0
#endif
#ifndef EINVAL
#define EINVAL 22
#endif
#ifndef ERANGE
#define ERANGE 34
#endif

static inline errno_t memcpy_s(void *dest, size_t dest_max, const void *src, size_t count) {
    if (dest == NULL || src == NULL) {
        return EINVAL;
    }
    if (count > dest_max) {
        return ERANGE;
    }
    memcpy(dest, src, count);
    return EOK;
}

static inline errno_t memmove_s(void *dest, size_t dest_max, const void *src, size_t count) {
    if (dest == NULL || src == NULL) {
        return EINVAL;
    }
    if (count > dest_max) {
        return ERANGE;
    }
    memmove(dest, src, count);
    return EOK;
}

static inline errno_t memset_s(void *dest, size_t dest_max, int value, size_t count) {
    if (dest == NULL) {
        return EINVAL;
    }
    if (count > dest_max) {
        return ERANGE;
    }
    memset(dest, value, count);
    return EOK;
}

static inline errno_t strcpy_s(char *dest, size_t dest_max, const char *src) {
    return src == NULL ? EINVAL : memcpy_s(dest, dest_max, src, strlen(src) + 1);
}

static inline errno_t strcat_s(char *dest, size_t dest_max, const char *src) {
    if (dest == NULL || src == NULL) {
        return EINVAL;
    }
    const size_t used = strlen(dest);
    return used > dest_max ? ERANGE : strcpy_s(dest + used, dest_max - used, src);
}

static inline int vsnprintf_s(char *dest, size_t dest_max, size_t count, const char *format,
                              va_list args) {
    if (dest == NULL || format == NULL || count >= dest_max) {
        return -1;
    }
    const int written = vsnprintf(dest, count + 1, format, args);
    return written < 0 || (size_t)written > count ? -1 : written;
}

static inline int snprintf_s(char *dest, size_t dest_max, size_t count, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int written = vsnprintf_s(dest, dest_max, count, format, args);
    va_end(args);
    return written;
}

static inline int sprintf_s(char *dest, size_t dest_max, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int written =
        dest_max == 0 ? -1 : vsnprintf_s(dest, dest_max, dest_max - 1, format, args);
    va_end(args);
    return written;
}

#endif  // OPGEN_EMULATION_SECUREC_H
