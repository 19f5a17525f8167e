import CCurl
import Glibc

extension HTTPTransportError {
    /// The meaning of libcurl's `result` for `transfer`.
    init(_ result: CURLcode, of transfer: CurlTransfer) {
        let place = transfer.handle.place
        let code =
            transfer.causes.ownError ?? transfer.headLineError(result) ?? transfer.addressError(result)
            ?? Code(result, words: transfer.handle.errorMessage, verifyResult: transfer.handle.verifyResult)
        self.init(
            code, Self.message(code, result, of: transfer), host: place.host, port: place.port,
            curlCode: Int(result.rawValue))
    }

    /// libcurl's message, except where it is wrong or missing.
    private static func message(_ code: Code, _ result: CURLcode, of transfer: CurlTransfer) -> String {
        if code == .addressRefused { return "this host has a link-local address, which is refused" }
        if code == .tooLarge { return "the header of the answer is too long" }
        if result == CURLE_SEND_FAIL_REWIND { return "the connection ended before the answer" }
        let words = transfer.handle.errorMessage
        if let host = transfer.handle.place.host {
            if result == CURLE_COULDNT_RESOLVE_HOST { return "can't find the address of this host" }
            // With a proxy, libcurl names the proxy here.
            if words.hasPrefix("Failed to connect to \(host) port"), let reason = transfer.handle.systemReason {
                return "can't connect: \(reason)"
            }
        }
        return words.isEmpty ? String(cString: curl_easy_strerror(result)) : words
    }

    /// An error that was detected here, not by libcurl.
    init(_ code: Code, _ message: String, of transfer: CurlTransfer) {
        let place = transfer.handle.place
        self.init(code, message, host: place.host, port: place.port)
    }
}

extension HTTPTransportError.Code {
    /// - Note: Source: `libcurl-errors(3)`; the texts are those of 7.88.
    fileprivate init(_ result: CURLcode, words: String, verifyResult: Int) {
        switch result {
        // OpenSSL's text for the alert of a server that requires a certificate (TLS 1.3).
        case _ where words.contains("alert certificate required"): self = .tlsFailed(.clientCertificate)
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: self = .cannotResolve
        case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED, CURLE_PROXY: self = .cannotConnect
        case CURLE_OPERATION_TIMEDOUT: self = .timedOut(.connect)
        case CURLE_URL_MALFORMAT: self = .badURL
        // libcurl has one code for "ftp:", which can't occur here, and for an answer without a status line.
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING: self = .malformedAnswer
        case CURLE_RECV_ERROR where words.contains("CONNECT tunnel failed"): self = .cannotConnect
        case CURLE_RECV_ERROR where words.contains("chunked-encoding"): self = .malformedAnswer
        case CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_SEND_FAIL_REWIND:
            self = .connectionClosed
        case CURLE_PEER_FAILED_VERIFICATION: self = .tlsFailed(.init(verifyResult: verifyResult, words: words))
        case CURLE_SSL_CACERT_BADFILE: self = .tlsFailed(.authorityFile)
        case CURLE_SSL_CERTPROBLEM: self = .tlsFailed(.clientCertificate)
        // What OpenSSL 3 reports when the server answers in plain text.
        case CURLE_SSL_CONNECT_ERROR
        where ["wrong version number", "packet length too long", "http request"].contains { words.contains($0) }:
            self = .tlsFailed(.notTLS)
        case CURLE_SSL_CONNECT_ERROR: self = .tlsFailed(.handshake)
        case CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS: self = .tlsFailed(.badCertificate)
        default: self = .other(Int(result.rawValue))
        }
    }
}

extension HTTPTransportError.TLSProblem {
    /// - Note: Source: `X509_V_ERR_…` in OpenSSL's `x509_vfy.h`, see `X509_STORE_CTX_get_error(3)`. libcurl 7.88 checks
    ///   the host itself before it reads that result, which is 1 until then; only its message shows a wrong host.
    fileprivate init(verifyResult: Int, words: String) {
        switch verifyResult {
        case 0, 1: self = words.contains("subject name") ? .wrongHost : .badCertificate
        case 2, 18, 19, 20, 21, 27: self = .unknownAuthority
        case 9, 10: self = .outOfDate
        case 62, 63, 64: self = .wrongHost
        default: self = .badCertificate
        }
    }
}

extension CurlTransfer {
    /// libcurl 7.88 accepts header lines of up to 100 KiB and calls a longer one "Out of memory" (`DYN_H1_…`). Where it
    /// limits all lines together, exceeding that is a receive error.
    fileprivate func headLineError(_ result: CURLcode) -> HTTPTransportError.Code? {
        guard !head.isComplete else { return nil }
        let isTooLarge = result == CURLE_RECV_ERROR && handle.errorMessage.contains("Too large response headers")
        return isTooLarge || result == CURLE_OUT_OF_MEMORY ? .tooLarge : nil
    }

    /// The error if all addresses of the host were refused, or no other address could be connected to.
    fileprivate func addressError(_ result: CURLcode) -> HTTPTransportError.Code? {
        result == CURLE_COULDNT_CONNECT && causes.hasRefusedAddress ? .addressRefused : nil
    }
}
