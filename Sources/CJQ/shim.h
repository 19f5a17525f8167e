#pragma once
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

// jq's own headers rely on those above.
#include <jv.h>
#include <jq.h>

#include <spawn.h>
#include <sys/prctl.h>

// Swift does not import variadic functions.

/// No program that this process starts may gain rights, and nobody may trace it or dump its memory.
static inline bool cjq_harden_process(void) {
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
}

// glibc 2.34 and later; declared only for sources that ask for GNU extensions.
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
