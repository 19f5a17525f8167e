#pragma once
#include <curl/curl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

/*
 * What Swift cannot call or see of libcurl, and nothing else: one wrapper for each kind of argument of the variadic
 * functions, and the constants that are macros with a cast. Everything else is called by its own name.
 */

/* curl_easy_setopt is variadic; this one is for options that take a long (also the on/off ones). */
static inline CURLcode ccurl_setopt_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

/* curl_easy_setopt is variadic; this one is for 64-bit sizes (the options ending in _LARGE). */
static inline CURLcode ccurl_setopt_off(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

/* curl_easy_setopt is variadic; this one is for texts. libcurl copies the text; NULL takes the option back. */
static inline CURLcode ccurl_setopt_str(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

/* curl_easy_setopt is variadic; this one is for pointers that libcurl keeps and does not own (…DATA, PRIVATE). */
static inline CURLcode ccurl_setopt_ptr(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

/* curl_easy_setopt is variadic; this one is for lists of lines. The list must outlive the transfer. */
static inline CURLcode ccurl_setopt_slist(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}

/* curl_easy_setopt is variadic; this one is for CURLOPT_CURLU. The parsed URL must outlive the transfer. */
static inline CURLcode ccurl_setopt_url(CURL *easy, CURLU *value) {
    return curl_easy_setopt(easy, CURLOPT_CURLU, value);
}

/* curl_easy_setopt is variadic; write, header and read callbacks have one and the same C type. */
static inline CURLcode ccurl_setopt_datafn(CURL *easy, CURLoption option,
                                           size_t (*value)(char *, size_t, size_t, void *)) {
    return curl_easy_setopt(easy, option, value);
}

/* curl_easy_setopt is variadic; this one is for CURLOPT_SEEKFUNCTION. */
static inline CURLcode ccurl_setopt_seekfn(CURL *easy, int (*value)(void *, curl_off_t, int)) {
    return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, value);
}

/* curl_easy_setopt is variadic; this one is for CURLOPT_OPENSOCKETFUNCTION. */
static inline CURLcode ccurl_setopt_opensocketfn(CURL *easy,
                                                 curl_socket_t (*value)(void *, curlsocktype, struct curl_sockaddr *)) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, value);
}

/* curl_easy_getinfo is variadic; this one is for values of type long. */
static inline CURLcode ccurl_getinfo_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}

/* curl_easy_getinfo is variadic; this one is for values of type curl_off_t (the names ending in _T). */
static inline CURLcode ccurl_getinfo_off(CURL *easy, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(easy, info, value);
}

/* curl_easy_getinfo is variadic; this one is for CURLINFO_ACTIVESOCKET. */
static inline CURLcode ccurl_getinfo_socket(CURL *easy, curl_socket_t *value) {
    return curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, value);
}

/* curl_easy_getinfo is variadic; this one is for texts, which belong to the handle. */
static inline CURLcode ccurl_getinfo_str(CURL *easy, CURLINFO info, char **value) {
    return curl_easy_getinfo(easy, info, value);
}

/* curl_easy_getinfo is variadic; this one is for CURLINFO_CERTINFO. The lists belong to the handle. */
static inline CURLcode ccurl_getinfo_certificates(CURL *easy, struct curl_certinfo **value) {
    return curl_easy_getinfo(easy, CURLINFO_CERTINFO, value);
}

/* ioctl is variadic; this one asks a TCP socket how many bytes its peer has not acknowledged yet. */
static inline int ccurl_unacknowledged(curl_socket_t socket, int *count) {
    return ioctl(socket, SIOCOUTQ, count);
}

/* curl_easy_getinfo is variadic; this one is for CURLINFO_PRIVATE, which libcurl declares as a text. */
static inline CURLcode ccurl_getinfo_private(CURL *easy, void **value) {
    return curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)value);
}

/* curl_multi_setopt is variadic; all its options that are used here take a long. */
static inline CURLMcode ccurl_multi_setopt_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/* The CURLAUTH_… macros contain a cast, which Swift does not import. */
static const long ccurl_auth_basic = (long)CURLAUTH_BASIC;
static const long ccurl_auth_bearer = (long)CURLAUTH_BEARER;
