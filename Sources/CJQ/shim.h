#pragma once
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

// jq's own headers rely on those above.
#include <jv.h>
#include <jq.h>

// Part of libjq, but declared in none of the headers that it installs. The handler must not return.
extern void jv_nomem_handler(void (*handler)(void *), void *data);

// These two are declared only for sources that ask for GNU extensions. The kernel's set of processors is an array of bits.
extern char *strptime(const char *text, const char *format, struct tm *time);
extern int sched_getaffinity(int process, unsigned long size, void *set);

/// How many processors the scheduler may run this process on; 0 if that is unknown.
static inline int cjq_allowed_processors(void) {
    uint64_t set[128] = {0};
    if (sched_getaffinity(0, sizeof set, set) != 0) return 0;
    int count = 0;
    for (int word = 0; word < 128; word++) count += __builtin_popcountll(set[word]);
    return count;
}

/// The position from `at` on of the next number of checked JSON, of the next backslash in a string, or of the end. In C,
/// because it looks at each byte of each document.
static inline int64_t cjq_next_leaf(const uint8_t *bytes, int64_t count, int64_t at, bool *is_in_string) {
    for (; at < count; at++) {
        const uint8_t byte = bytes[at];
        if (byte == '"') {
            *is_in_string = !*is_in_string;
        } else if (*is_in_string ? byte == '\\' : byte == '-' || (uint8_t)(byte - '0') < 10) {
            break;
        }
    }
    return at;
}
