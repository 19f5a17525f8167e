#ifndef CSIMULATED_SYSTEM_H
#define CSIMULATED_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

/// What a program that links this target gets in place of the system, from `csimulated_system_start` on.
typedef struct {
    /// Nanoseconds since 1970: CLOCK_REALTIME.
    int64_t (*wall_time)(void);
    /// Nanoseconds since an arbitrary start: all other clocks.
    int64_t (*uptime)(void);
    /// The process sleeps for so many nanoseconds.
    void (*sleep)(int64_t nanoseconds);
    /// Fills the buffer with random bytes.
    void (*random)(void *buffer, size_t count);
    /// A file was synced.
    void (*synced)(int descriptor);
    /// Work for later: `function(context)`. `queue` is NULL if it need not wait for other work of a queue. `due` is an
    /// uptime, or -1.
    void (*work)(void *queue, void *context, void (*function)(void *), int64_t due);
} csimulated_system;

/// Replaces the clocks, the random numbers, the disk's syncs and the scheduler of this process.
///
/// The functions of the C library and of libdispatch that this target defines take precedence over those of shared
/// libraries, also for calls from other shared libraries. Before the start, they do what the originals do, but there is
/// no libdispatch. From the start on, a thread can't be created.
void csimulated_system_start(const csimulated_system *system);

/// Starts this program again, with the same arguments, if it has random addresses or a random hash seed: both would make
/// two runs differ. Returns if that is done, or not possible.
void csimulated_system_fix_addresses(char *const arguments[]);

#endif
