#pragma once
/* Digests only: SHA-1 and MD5 name attachments on the wire, SHA-256 names files and rule sets. */
#include <openssl/evp.h>
