#pragma once
/* Digests: SHA-1 and MD5 name attachments on the wire, SHA-256 names files and rule sets. HMAC signs webhooks. */
#include <openssl/evp.h>
