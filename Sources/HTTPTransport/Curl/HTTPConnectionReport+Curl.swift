import CCurl

extension HTTPConnectionReport {
    /// Describes the connection of a handle whose transfer continues.
    ///
    /// - Note: Source: `curl_easy_getinfo(3)`.
    init(of easy: UnsafeMutableRawPointer) {
        var address: UnsafeMutablePointer<CChar>?
        ccurl_getinfo_str(easy, CURLINFO_PRIMARY_IP, &address)
        var port = 0
        ccurl_getinfo_long(easy, CURLINFO_PRIMARY_PORT, &port)
        var microseconds: curl_off_t = 0
        ccurl_getinfo_off(easy, CURLINFO_CONNECT_TIME_T, &microseconds)
        let text = address.map { String(cString: $0) } ?? ""
        self.init(
            address: text.isEmpty ? nil : text, port: port > 0 ? port : nil,
            connecting: .microseconds(Int(microseconds)), certificates: Self.certificates(of: easy))
    }

    private static func certificates(of easy: UnsafeMutableRawPointer) -> [HTTPCertificate] {
        var chain: UnsafeMutablePointer<curl_certinfo>?
        guard ccurl_getinfo_certificates(easy, &chain) == CURLE_OK, let chain, let lists = chain.pointee.certinfo else {
            return []
        }
        return (0..<Int(chain.pointee.num_of_certs)).map { HTTPCertificate(fields: lines(of: lists[$0])) }
    }

    private static func lines(of list: UnsafeMutablePointer<curl_slist>?) -> [String] {
        var lines: [String] = []
        var next = list
        while let line = next {
            if let text = line.pointee.data { lines.append(String(cString: text)) }
            next = line.pointee.next
        }
        return lines
    }
}

extension HTTPClient {
    /// The currently loaded libraries of the client with their versions: `libcurl 7.88.1`.
    ///
    /// - Note: Source: `curl_version_info(3)`.
    package static var libraryVersions: [String] {
        guard let information = curl_version_info(CURLVERSION_FIRST)?.pointee else { return [] }
        func text(_ name: String, _ version: UnsafePointer<CChar>?) -> [String] {
            version.map { ["\(name)\(String(cString: $0))"] } ?? []
        }
        // The TLS library names itself: "OpenSSL/3.0.17".
        let tls = text("", information.ssl_version).map { $0.split(separator: "/").joined(separator: " ") }
        return text("libcurl ", information.version) + tls + text("zlib ", information.libz_version)
    }
}
