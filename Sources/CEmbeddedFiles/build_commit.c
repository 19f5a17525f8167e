#include "embedded_files.h"

// Package.swift defines them if the environment of the build has variables of these names.
#ifndef CHANGEBOT_COMMIT
#define CHANGEBOT_COMMIT ""
#endif
#ifndef CHANGEBOT_COMMIT_DATE
#define CHANGEBOT_COMMIT_DATE ""
#endif

const char *build_commit(void) { return CHANGEBOT_COMMIT; }

const char *build_commit_date(void) { return CHANGEBOT_COMMIT_DATE; }
