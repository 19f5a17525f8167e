#pragma once
#include <spawn.h>
#include <stdbool.h>
#include <sys/prctl.h>

/// No program that this process starts may gain rights, and nobody may trace it or dump its memory.
static inline bool chelper_harden_process(void) {
    // Swift does not import variadic functions.
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
}

// glibc 2.34 and later; declared only for sources that ask for GNU extensions.
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
