#include "cicu.h"

#include <unicode/ucol.h>

void *cicu_open_root_collator(void) {
    UErrorCode status = U_ZERO_ERROR;
    UCollator *collator = ucol_open("", &status);
    return U_FAILURE(status) ? 0 : collator;
}

int cicu_compare(const void *collator, const char *left, int left_count, const char *right, int right_count) {
    UErrorCode status = U_ZERO_ERROR;
    return ucol_strcollUTF8((const UCollator *)collator, left, left_count, right, right_count, &status);
}
