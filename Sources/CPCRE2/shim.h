#pragma once
/* Patterns and subjects are bytes (UTF-8), as CouchDB's are. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
