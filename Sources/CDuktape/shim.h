#pragma once
#include <duktape.h>
#include <unistd.h>

// Duktape's errors outside of a protected call; it must not return.
static inline void cduk_end(void *unused, const char *message) {
    (void)unused;
    (void)message;
    _exit(70);
}

static inline duk_context *cduk_create(void) { return duk_create_heap(NULL, NULL, NULL, NULL, cduk_end); }

// Swift does not import macros with arguments.

/// Compiles and runs a program. Leaves its value or an error on the stack; not 0 for an error.
static inline duk_int_t cduk_evaluate(duk_context *engine, const char *text, size_t length) {
    return duk_peval_lstring(engine, text, length);
}
