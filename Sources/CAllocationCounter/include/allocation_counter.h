#pragma once
/*
 * Counts the allocations of the whole process: an executable that links this target has its malloc and relatives in
 * front of the C library's. For benchmarks only.
 */

/* How often anything has asked for memory since the process began. A realloc counts as one. */
unsigned long long allocation_counter_count(void);
