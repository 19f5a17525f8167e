#define _GNU_SOURCE
#include "csimulated_system.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const csimulated_system *simulated = NULL;

void csimulated_system_start(const csimulated_system *system) { simulated = system; }

void csimulated_system_fix_addresses(char *const arguments[]) {
    if (getenv("SWIFT_DETERMINISTIC_HASHING") != NULL) return;
    setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1);
    personality(ADDR_NO_RANDOMIZE);
    execv("/proc/self/exe", arguments);
}

static void give_up(const char *reason) {
    fprintf(stderr, "changebot-simulate: %s\n", reason);
    abort();
}

// MARK: - System calls

/// `syscall` without the C library: Swift's runtime calls that function for random bytes, so it is replaced, too.
static long direct(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory", "cc");
    long result = x0;
#else
#error "changebot-simulate runs on x86-64 and AArch64"
#endif
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

long syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    if (simulated != NULL && number == SYS_getrandom) {
        simulated->random((void *)a, (size_t)b);
        return b;
    }
    return direct(number, a, b, c, d, e, f);
}

// MARK: - Clocks

static void store(struct timespec *time, int64_t nanoseconds) {
    time->tv_sec = nanoseconds / 1000000000;
    time->tv_nsec = nanoseconds % 1000000000;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (simulated == NULL) return (int)direct(SYS_clock_gettime, clock, (long)time, 0, 0, 0, 0);
    store(time, clock == CLOCK_REALTIME ? simulated->wall_time() : simulated->uptime());
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result != NULL) *result = now.tv_sec;
    return now.tv_sec;
}

int nanosleep(const struct timespec *wanted, struct timespec *left) {
    if (simulated == NULL) return (int)direct(SYS_nanosleep, (long)wanted, (long)left, 0, 0, 0, 0);
    simulated->sleep((int64_t)wanted->tv_sec * 1000000000 + wanted->tv_nsec);
    return 0;
}

int usleep(useconds_t wanted) {
    struct timespec time = {wanted / 1000000, (long)(wanted % 1000000) * 1000};
    return nanosleep(&time, NULL);
}

// MARK: - Random numbers

ssize_t getrandom(void *buffer, size_t count, unsigned int flags) {
    return syscall(SYS_getrandom, buffer, count, (long)flags, 0L, 0L, 0L);
}

int getentropy(void *buffer, size_t count) { return getrandom(buffer, count, 0) < 0 ? -1 : 0; }

void arc4random_buf(void *buffer, size_t count) { getrandom(buffer, count, 0); }

uint32_t arc4random(void) {
    uint32_t number;
    arc4random_buf(&number, sizeof number);
    return number;
}

/// The entry of Swift's runtime, which its own libraries also call without the C library.
void swift_stdlib_random(void *buffer, size_t count) { getrandom(buffer, count, 0); }

/// SQLite reads this file. A descriptor of a file in memory with the simulation's random numbers.
static int open_random(void) {
    char bytes[4096];
    simulated->random(bytes, sizeof bytes);
    int descriptor = memfd_create("random", MFD_CLOEXEC);
    if (descriptor < 0 || pwrite(descriptor, bytes, sizeof bytes, 0) != sizeof bytes) give_up("no random numbers");
    return descriptor;
}

static int open_file(const char *path, int flags, mode_t mode) {
    if (simulated != NULL && strcmp(path, "/dev/urandom") == 0) return open_random();
    return (int)direct(SYS_openat, AT_FDCWD, (long)path, flags, mode, 0, 0);
}

int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    return open_file(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    return open_file(path, flags | O_LARGEFILE, mode);
}

// MARK: - The disk

int fsync(int descriptor) {
    if (simulated == NULL) return (int)direct(SYS_fsync, descriptor, 0, 0, 0, 0, 0);
    simulated->synced(descriptor);
    return 0;
}

int fdatasync(int descriptor) {
    if (simulated == NULL) return (int)direct(SYS_fdatasync, descriptor, 0, 0, 0, 0, 0);
    simulated->synced(descriptor);
    return 0;
}

/// Files are not watched: libdispatch would start a thread for it. The code under test looks into its state instead.
int inotify_init1(int flags) {
    (void)flags;
    errno = ENOSYS;
    return -1;
}

// MARK: - Threads and queues

int pthread_create(
    pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*start)(void *),
    void *restrict argument) {
    (void)thread, (void)attributes, (void)start, (void)argument;
    give_up("the code under test starts a thread: the simulation has only one");
    return EAGAIN;
}

/// From libdispatch and the runtime of blocks.
extern void dispatch_sync(void *queue, void *block);
extern void *_Block_copy(const void *block);
extern void _Block_release(const void *block);

static void work(void *queue, void *context, void (*function)(void *), int64_t due) {
    if (simulated == NULL) give_up("work before the simulation has begun");
    simulated->work(queue, context, function, due);
}

/// Swift's runtime calls this once, and libdispatch would start a thread for it.
void dispatch_queue_set_width(void *queue, long width) { (void)queue, (void)width; }

/// libdispatch would start a thread to destroy a queue. Queues are small, and kept.
void dispatch_release(void *object) { (void)object; }

/// Swift's runtime passes it each part of a task.
void dispatch_async_f(void *queue, void *context, void (*function)(void *)) {
    (void)queue;
    work(NULL, context, function, -1);
}

/// `due` in libdispatch's form: bit 63 for a monotonic clock, bits 63 and 62 for the wall clock, which is negative then.
void dispatch_after_f(uint64_t due, void *queue, void *context, void (*function)(void *)) {
    (void)queue;
    if (due >> 62 == 3) give_up("a timer of the wall clock is not simulated");
    work(NULL, context, function, (int64_t)(due & ~(UINT64_C(1) << 63)));
}

typedef struct {
    void *queue, *block;
} queued_block;

static void run_block(void *context) {
    queued_block *queued = context;
    // On its queue, which is idle: nothing else runs.
    dispatch_sync(queued->queue, queued->block);
    _Block_release(queued->block);
    free(queued);
}

void dispatch_async(void *queue, void *block) {
    queued_block *queued = malloc(sizeof *queued);
    if (queued == NULL) give_up("no memory");
    *queued = (queued_block){queue, _Block_copy(block)};
    work(queue, queued, run_block, -1);
}
