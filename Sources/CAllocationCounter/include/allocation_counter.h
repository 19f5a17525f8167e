#pragma once
/*
 * Counts allocations: an executable that links this target has its malloc and relatives in front of the C library's.
 * For benchmarks only, on glibc.
 */

/* How often the calling thread has asked for memory so far, through whatever library. A realloc counts as one. */
unsigned long long allocation_counter_count(void);
