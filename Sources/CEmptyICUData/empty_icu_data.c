// Foundation carries its own ICU with 34 MB of locales, calendars and time zones, which a statically linked program holds
// whole. changebot formats nothing for a locale: its sources import FoundationEssentials, which needs no ICU, and the
// packages that import Foundation ask ICU for nothing but what is compiled into its code. (Mango's collation uses the
// system's ICU, through CICU.) So the program defines the data's symbol itself, as an empty package, and the linker leaves
// Foundation's data out. With another version of ICU the name does not match: then the whole data is linked, and nothing
// else changes.
//
// Source: ICU 76, source/stubdata/stubdata.cpp, and the header of udata.h (UDataInfo) and ucmndata.h.

#include <stdint.h>

// Hidden: in a debug build, Foundation is a shared library and keeps its own.
__attribute__((visibility("hidden"), aligned(16))) const struct {
    uint16_t header_size;
    uint8_t magic[2];
    uint16_t info_size, reserved;
    uint8_t is_big_endian, charset_family, size_of_uchar, reserved_byte;
    uint8_t data_format[4], format_version[4], data_version[4];
    char padding[8];
    uint32_t count, reserved_count;
    int32_t names_and_data[4];
} icudt76_dat = {32, {0xda, 0x27}, 20, 0, 0, 0, 2, 0, {'T', 'o', 'C', 'P'}, {1, 0, 0, 0}, {0, 0, 0, 0}, {0}, 0, 0, {0}};
