#pragma once
/*
 * ICU root collation behind two functions. ICU's own headers must not be seen by Swift: Foundation on Linux carries
 * its own copy of ICU under the same names, and the two sets of declarations clash.
 */

/* Opens a root collator. Null if ICU's data is missing. Never closed: one lives as long as the process. */
void *cicu_open_root_collator(void);

/*
 * Compares two UTF-8 texts: -1, 0 or 1. A collator opened once and never changed may be used from any thread
 * (ICU user guide, "Collation API Details", thread safety).
 */
int cicu_compare(const void *collator, const char *left, int left_count, const char *right, int right_count);
