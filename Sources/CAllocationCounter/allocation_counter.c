#include "allocation_counter.h"

#include <errno.h>
#include <stddef.h>

/* glibc's own functions behind the public names. What they return is released by the untouched free(). */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *pointer, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

/* Per thread: a shared counter would slow down whatever allocates most, and so flatter the rest. */
static _Thread_local unsigned long long allocations;

static void count_one(void) { allocations += 1; }

unsigned long long allocation_counter_count(void) { return allocations; }

void *malloc(size_t size) {
    count_one();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    count_one();
    return __libc_calloc(count, size);
}

void *realloc(void *pointer, size_t size) {
    count_one();
    return __libc_realloc(pointer, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count_one();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **pointer, size_t alignment, size_t size) {
    count_one();
    void *memory = __libc_memalign(alignment, size);
    if (!memory) return ENOMEM;
    *pointer = memory;
    return 0;
}
