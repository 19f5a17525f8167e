#include "postgresql_library.h"

#include <dlfcn.h>

const char *cpostgresql_load(struct cpostgresql_functions *functions) {
    void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return dlerror();
#define CPOSTGRESQL_RESOLVE(name)                                                                                      \
    functions->name = (__typeof__(name) *)dlsym(library, #name);                                                       \
    if (functions->name == NULL) return dlerror();
    CPOSTGRESQL_FUNCTIONS(CPOSTGRESQL_RESOLVE)
#undef CPOSTGRESQL_RESOLVE
    return NULL;
}
