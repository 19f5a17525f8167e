#include "cicu.h"

#include <unicode/ucal.h>
#include <unicode/ucol.h>
#include <unicode/uenum.h>

void *cicu_open_root_collator(void) {
    UErrorCode status = U_ZERO_ERROR;
    UCollator *collator = ucol_open("", &status);
    return U_FAILURE(status) ? 0 : collator;
}

int cicu_compare(const void *collator, const char *left, int left_count, const char *right, int right_count) {
    UErrorCode status = U_ZERO_ERROR;
    return ucol_strcollUTF8((const UCollator *)collator, left, left_count, right, right_count, &status);
}

enum { zone_name_limit = 64 };

void *cicu_open_zone(const char *name) {
    UChar text[zone_name_limit], canonical[zone_name_limit];
    int length = 0;
    while (name[length]) {
        if (length == zone_name_limit - 1 || (unsigned char)name[length] > 0x7E) return 0;
        text[length] = (UChar)name[length];
        length++;
    }
    UErrorCode status = U_ZERO_ERROR;
    UBool is_system_zone = 0;
    ucal_getCanonicalTimeZoneID(text, length, canonical, zone_name_limit, &is_system_zone, &status);
    if (U_FAILURE(status) || !is_system_zone) return 0;
    UCalendar *calendar = ucal_open(text, length, "", UCAL_GREGORIAN, &status);
    return U_FAILURE(status) ? 0 : calendar;
}

int cicu_zone_offset(void *zone, double seconds) {
    UErrorCode status = U_ZERO_ERROR;
    UCalendar *calendar = zone;
    ucal_setMillis(calendar, seconds * 1000, &status);
    int32_t offset = ucal_get(calendar, UCAL_ZONE_OFFSET, &status);
    offset += ucal_get(calendar, UCAL_DST_OFFSET, &status);
    return U_FAILURE(status) ? 0 : offset / 1000;
}

void cicu_close_zone(void *zone) { ucal_close(zone); }

void cicu_list_zones(void *context, void (*take)(void *context, const char *name)) {
    UErrorCode status = U_ZERO_ERROR;
    UEnumeration *names = ucal_openTimeZones(&status);
    if (U_FAILURE(status)) return;
    const char *name;
    while ((name = uenum_next(names, 0, &status)) && U_SUCCESS(status)) take(context, name);
    uenum_close(names);
}
