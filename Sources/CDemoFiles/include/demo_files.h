#ifndef CHANGEBOT_DEMO_FILES_H
#define CHANGEBOT_DEMO_FILES_H

#include <stddef.h>

struct demo_file {
    /// Where the file belongs, in a folder of the demonstration's own.
    const char *path;
    const unsigned char *bytes;
    size_t length;
};

extern const size_t demo_file_count;

/// The files that `changebot demo` needs, as they were when the program was built.
///
/// `index` is below `demo_file_count`.
const struct demo_file *demo_file_at(size_t index);

#endif
