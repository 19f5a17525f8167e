import CCurl
import Testing

@testable import HTTPTransport

/// Each wrapper of `shim.h` is called once; libcurl's results show its effect.
@Suite struct CurlShimTests {
    @Test func easyOptionsAreSet() throws {
        let client = HTTPClient()  // has called curl_global_init
        let easy = try #require(curl_easy_init())
        defer { curl_easy_cleanup(easy) }
        #expect(ccurl_setopt_long(easy, CURLOPT_NOSIGNAL, 1) == CURLE_OK)
        #expect(ccurl_setopt_long(easy, CURLOPT_HTTPAUTH, ccurl_auth_basic) == CURLE_OK)
        #expect(ccurl_setopt_long(easy, CURLOPT_HTTPAUTH, ccurl_auth_bearer) == CURLE_OK)
        #expect(ccurl_setopt_off(easy, CURLOPT_INFILESIZE_LARGE, 1 << 40) == CURLE_OK)
        #expect(ccurl_setopt_str(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK)
        #expect(ccurl_setopt_str(easy, CURLOPT_PROTOCOLS_STR, "no-such-protocol") == CURLE_UNSUPPORTED_PROTOCOL)
        #expect(ccurl_setopt_str(easy, CURLOPT_CAINFO, nil) == CURLE_OK)
        #expect(ccurl_setopt_datafn(easy, CURLOPT_WRITEFUNCTION, { _, size, count, _ in size * count }) == CURLE_OK)
        #expect(ccurl_setopt_seekfn(easy, { _, _, _ in CURL_SEEKFUNC_OK }) == CURLE_OK)
        #expect(ccurl_setopt_opensocketfn(easy, { _, _, _ in -1 }) == CURLE_OK)
        withExtendedLifetime(client) {}
    }

    @Test func privatePointerIsReturned() throws {
        let easy = try #require(curl_easy_init())
        defer { curl_easy_cleanup(easy) }
        let mark = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)
        defer { mark.deallocate() }
        #expect(ccurl_setopt_ptr(easy, CURLOPT_PRIVATE, mark) == CURLE_OK)
        var back: UnsafeMutableRawPointer?
        #expect(ccurl_getinfo_private(easy, &back) == CURLE_OK)
        #expect(back == mark)
    }

    @Test func urlAndLinesAreParsed() throws {
        let easy = try #require(curl_easy_init())
        let url = try #require(curl_url())
        let lines = curl_slist_append(nil, "Expect:")
        defer {
            curl_easy_cleanup(easy)
            curl_url_cleanup(url)
            curl_slist_free_all(lines)
        }
        #expect(curl_url_set(url, CURLUPART_URL, "http://127.0.0.1:1/", 0) == CURLUE_OK)
        #expect(ccurl_setopt_url(easy, url) == CURLE_OK)
        #expect(ccurl_setopt_slist(easy, CURLOPT_HTTPHEADER, lines) == CURLE_OK)
        var status = -1
        #expect(ccurl_getinfo_long(easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK)
        #expect(status == 0)
        var address: UnsafeMutablePointer<CChar>?
        #expect(ccurl_getinfo_str(easy, CURLINFO_PRIMARY_IP, &address) == CURLE_OK)
        #expect(address.map { String(cString: $0) } == "")
        var certificates: UnsafeMutablePointer<curl_certinfo>?
        #expect(ccurl_getinfo_certificates(easy, &certificates) == CURLE_OK)
        #expect(certificates?.pointee.num_of_certs == 0)
    }

    @Test func multiOptionsAreSet() throws {
        let multi = try #require(curl_multi_init())
        defer { curl_multi_cleanup(multi) }
        #expect(ccurl_multi_setopt_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 4) == CURLM_OK)
    }
}
