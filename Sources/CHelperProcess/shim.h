#pragma once
#include <spawn.h>
#include <stdbool.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/// Programs that this process starts gain no rights. No process may trace it or dump its memory.
static inline bool chelper_harden_process(void) {
    // Swift does not import variadic functions.
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
}

/// Waits until a child process has ended, and leaves it to be waited for again. The signal that ended it; 0 if it ended
/// by itself, or is unknown.
static inline int chelper_ending_signal(int process) {
    siginfo_t information = {0};
    if (waitid(P_PID, (id_t)process, &information, WEXITED | WNOWAIT) != 0) return 0;
    return information.si_code == CLD_KILLED || information.si_code == CLD_DUMPED ? information.si_status : 0;
}

// glibc 2.34 and later; declared only for sources that ask for GNU extensions.
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
