// libdispatch looks at its worker threads once a second, to start more where some are blocked, and goes on with that for
// ever after the first one has ended. A bot waits for changes for hours, and wakes nothing while it does: the program
// suspends that timer while there are no workers.
//
// The release build tells the linker to call these functions instead of libdispatch's own (--wrap, see Package.swift). In
// a debug build, where libdispatch is a shared library, nobody calls them. With a libdispatch that has other functions,
// nothing is wrapped, and the timer goes on.
//
// Source: swift-corelibs-libdispatch 6.3, src/event/workqueue.c: _dispatch_workq_init_once makes the timer when the first
// worker registers.

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OF_LIBDISPATCH extern __attribute__((weak))

OF_LIBDISPATCH intptr_t __real__dispatch_workq_worker_register(void *queue, uintptr_t more);
OF_LIBDISPATCH intptr_t __real__dispatch_workq_worker_unregister(void *queue, uintptr_t more);
OF_LIBDISPATCH void *__real_dispatch_source_create(const void *type, uintptr_t handle, uintptr_t mask, void *queue);
OF_LIBDISPATCH void dispatch_suspend(void *object);
OF_LIBDISPATCH void dispatch_resume(void *object);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int workers;
static void *timer;
// The first worker of all makes the timer while it registers.
static __thread bool registers;

intptr_t __wrap__dispatch_workq_worker_register(void *queue, uintptr_t more) {
    pthread_mutex_lock(&lock);
    if (workers++ == 0 && timer != NULL) dispatch_resume(timer);
    pthread_mutex_unlock(&lock);
    registers = true;
    intptr_t result = __real__dispatch_workq_worker_register(queue, more);
    registers = false;
    return result;
}

intptr_t __wrap__dispatch_workq_worker_unregister(void *queue, uintptr_t more) {
    intptr_t result = __real__dispatch_workq_worker_unregister(queue, more);
    pthread_mutex_lock(&lock);
    if (--workers == 0 && timer != NULL) dispatch_suspend(timer);
    pthread_mutex_unlock(&lock);
    return result;
}

void *__wrap_dispatch_source_create(const void *type, uintptr_t handle, uintptr_t mask, void *queue) {
    void *source = __real_dispatch_source_create(type, handle, mask, queue);
    if (registers) timer = source;
    return source;
}
