#ifndef CHANGEBOT_EMBEDDED_FILES_H
#define CHANGEBOT_EMBEDDED_FILES_H

#include <stddef.h>

struct embedded_file {
    /// Where the file is in the repository, and in the temporary folder of the demo.
    const char *path;
    const unsigned char *bytes;
    size_t length;
};

extern const size_t demo_file_count;

/// The files that `changebot demo` needs, as they were when the program was built.
///
/// `index` is below `demo_file_count`.
const struct embedded_file *demo_file_at(size_t index);

extern const size_t recipe_count;

/// The files of `rules/examples/recipes`, sorted by name. Their paths are their names without the ending.
///
/// `index` is below `recipe_count`.
const struct embedded_file *recipe_at(size_t index);

/// What editors check rule files with.
extern const struct embedded_file rule_file_schema;

/// What editors check configuration files with.
extern const struct embedded_file configuration_schema;

/// The page of a running bot.
extern const struct embedded_file status_page;

/// The page of `changebot rules play`.
extern const struct embedded_file rules_page;

/// The commit that the program was built from, shortened; empty if the build was not told. See `.package/version`.
const char *build_commit(void);

/// The day of that commit in UTC, such as `2026-11-23`; empty if the build was not told.
const char *build_commit_date(void);

#endif
