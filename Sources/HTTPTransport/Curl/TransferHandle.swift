import CCurl
import Glibc

/// An easy handle of libcurl, and the memory that libcurl uses as long as the handle exists. Frees all of it.
final class TransferHandle {
    let easy: UnsafeMutableRawPointer
    private let url: OpaquePointer
    private let headerLines: UnsafeMutablePointer<curl_slist>?
    private let errorText: UnsafeMutablePointer<CChar>

    init(_ easy: UnsafeMutableRawPointer, url: OpaquePointer, headerLines: UnsafeMutablePointer<curl_slist>?) {
        (self.easy, self.url, self.headerLines) = (easy, url, headerLines)
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        ccurl_setopt_ptr(easy, CURLOPT_ERRORBUFFER, errorText)
        ccurl_setopt_url(easy, url)
        ccurl_setopt_slist(easy, CURLOPT_HTTPHEADER, headerLines)
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(headerLines)
        curl_url_cleanup(url)
        errorText.deallocate()
    }

    /// The scheme of the URL.
    var scheme: String? { url.scheme }

    /// Host and port, for errors.
    var place: (host: String?, port: Int?) { url.place }

    /// Bytes of the request that were sent.
    var sentBytes: Int {
        var sent: curl_off_t = 0
        ccurl_getinfo_off(easy, CURLINFO_SIZE_UPLOAD_T, &sent)
        return Int(sent)
    }

    /// Bytes of the request that the server's side has acknowledged, counted from an unknown start; nil if unknown.
    var acknowledgedBytes: Int? {
        var (socket, sent, waiting): (curl_socket_t, curl_off_t, Int32) = (-1, 0, 0)
        guard ccurl_getinfo_socket(easy, &socket) == CURLE_OK, socket >= 0,
            ccurl_getinfo_off(easy, CURLINFO_SIZE_UPLOAD_T, &sent) == CURLE_OK,
            ccurl_unacknowledged(socket, &waiting) == 0
        else { return nil }
        return Int(sent) - Int(waiting)
    }

    // MARK: - After a failure

    /// libcurl's error message; empty if it gave none.
    var errorMessage: String { String(cString: errorText) }

    /// Why the system could not connect, such as `Connection refused`; nil if unknown.
    var systemReason: String? {
        var code = 0
        ccurl_getinfo_long(easy, CURLINFO_OS_ERRNO, &code)
        return code == 0 ? nil : String(cString: strerror(Int32(code)))
    }

    /// OpenSSL's result of verifying the certificate.
    var verifyResult: Int {
        var result = 0
        ccurl_getinfo_long(easy, CURLINFO_SSL_VERIFYRESULT, &result)
        return result
    }
}
