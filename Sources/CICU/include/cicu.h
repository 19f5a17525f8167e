#pragma once
/*
 * ICU root collation and time zones behind a few functions. ICU's own headers must not be seen by Swift: Foundation on
 * Linux carries its own copy of ICU under the same names, and the two sets of declarations clash.
 */

/* Opens a root collator. Null if ICU's data is missing. Never closed: one lives as long as the process. */
void *cicu_open_root_collator(void);

/*
 * Compares two UTF-8 texts: -1, 0 or 1. A collator opened once and never changed may be used from any thread
 * (ICU user guide, "Collation API Details", thread safety).
 */
int cicu_compare(const void *collator, const char *left, int left_count, const char *right, int right_count);

/*
 * Opens a time zone of the tz database by its name, such as Europe/Berlin. Null if ICU does not know it; names of
 * offsets, such as GMT+3, are not known either. For one thread at a time.
 */
void *cicu_open_zone(const char *name);

/* How far the zone's clocks are ahead of UTC at a time in seconds since 1970; in seconds. */
int cicu_zone_offset(void *zone, double seconds);

void cicu_close_zone(void *zone);

/* Calls `take` with each name that cicu_open_zone knows; it must copy the name. */
void cicu_list_zones(void *context, void (*take)(void *context, const char *name));
