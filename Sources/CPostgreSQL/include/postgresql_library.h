#pragma once

// Debian keeps the headers in a folder of their own; others do not.
#if __has_include(<postgresql/libpq-fe.h>)
#include <postgresql/libpq-fe.h>
#else
#include <libpq-fe.h>
#endif

// The functions of libpq, which is loaded when it is first needed: the program also starts where it is not installed.

#define CPOSTGRESQL_FUNCTIONS(EACH)                                                                                    \
    EACH(PQbackendPID)                                                                                                 \
    EACH(PQclear)                                                                                                      \
    EACH(PQcmdStatus)                                                                                                  \
    EACH(PQcmdTuples)                                                                                                  \
    EACH(PQconnectPoll)                                                                                                \
    EACH(PQconnectStartParams)                                                                                         \
    EACH(PQconsumeInput)                                                                                               \
    EACH(PQenterPipelineMode)                                                                                          \
    EACH(PQerrorMessage)                                                                                               \
    EACH(PQexitPipelineMode)                                                                                           \
    EACH(PQfinish)                                                                                                     \
    EACH(PQflush)                                                                                                      \
    EACH(PQfname)                                                                                                      \
    EACH(PQftype)                                                                                                      \
    EACH(PQgetisnull)                                                                                                  \
    EACH(PQgetlength)                                                                                                  \
    EACH(PQgetResult)                                                                                                  \
    EACH(PQgetvalue)                                                                                                   \
    EACH(PQisBusy)                                                                                                     \
    EACH(PQnfields)                                                                                                    \
    EACH(PQntuples)                                                                                                    \
    EACH(PQpipelineSync)                                                                                               \
    EACH(PQresultErrorField)                                                                                           \
    EACH(PQresultStatus)                                                                                               \
    EACH(PQsendPrepare)                                                                                                \
    EACH(PQsendQuery)                                                                                                  \
    EACH(PQsendQueryParams)                                                                                            \
    EACH(PQsendQueryPrepared)                                                                                          \
    EACH(PQsetErrorVerbosity)                                                                                          \
    EACH(PQsetnonblocking)                                                                                             \
    EACH(PQsetNoticeProcessor)                                                                                         \
    EACH(PQsocket)                                                                                                     \
    EACH(PQstatus)                                                                                                     \
    EACH(PQtransactionStatus)

/// A pointer for each function, of its type and with its name. Nil only before ``cpostgresql_load()``.
struct cpostgresql_functions {
#define CPOSTGRESQL_FIELD(name) __typeof__(name) *name;
    CPOSTGRESQL_FUNCTIONS(CPOSTGRESQL_FIELD)
#undef CPOSTGRESQL_FIELD
};

/// Loads `libpq.so.5` and fills in the functions. Not more than once at a time; the library stays loaded.
///
/// Returns NULL, or why it can't: libpq is missing, or older than version 14. The text is valid until the next call of
/// `dlerror()` in this thread.
const char *cpostgresql_load(struct cpostgresql_functions *functions);

// Macros for characters, which Swift does not import.
static const int cpostgresql_sqlstate = PG_DIAG_SQLSTATE;
static const int cpostgresql_message = PG_DIAG_MESSAGE_PRIMARY;
static const int cpostgresql_severity = PG_DIAG_SEVERITY_NONLOCALIZED;
