import CCurl
import Glibc

/// Sets the options that are the same for all transfers of a client.
///
/// Deliberately left at libcurl's defaults: redirects are not followed, no compression is requested, cookies are off.
///
/// - Note: Source: `curl_easy_setopt(3)`.
func setCommonOptions(_ configuration: HTTPClientConfiguration, on easy: UnsafeMutableRawPointer) {
    ccurl_setopt_long(easy, CURLOPT_NOSIGNAL, 1)
    // A cancelled transfer must not wait for a pending name lookup (`Curl_resolver_kill`, from 7.87).
    ccurl_setopt_long(easy, CURLOPT_QUICK_EXIT, 1)
    ccurl_setopt_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    ccurl_setopt_str(easy, CURLOPT_PROTOCOLS_STR, "http,https")
    // A path is sent literally: segments ".." may be names.
    ccurl_setopt_long(easy, CURLOPT_PATH_AS_IS, 1)
    ccurl_setopt_str(easy, CURLOPT_NOPROXY, configuration.proxies.hostsWithoutProxy)
    ccurl_setopt_long(easy, CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
    ccurl_setopt_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    // Detects a vanished peer within 40 seconds, even while a paused transfer waits for its reader.
    ccurl_setopt_long(easy, CURLOPT_TCP_KEEPALIVE, 1)
    ccurl_setopt_long(easy, CURLOPT_TCP_KEEPIDLE, 15)
    ccurl_setopt_long(easy, CURLOPT_TCP_KEEPINTVL, 5)
    ccurl_setopt_opensocketfn(
        easy, configuration.connections.refusesLinkLocal ? openSocketToPermittedAddress : openSocket)
    ccurl_setopt_str(easy, CURLOPT_USERAGENT, configuration.userAgent)
    ccurl_setopt_long(easy, CURLOPT_CONNECTTIMEOUT_MS, max(1, configuration.connections.connectTimeout.milliseconds))
    ccurl_setopt_long(easy, CURLOPT_BUFFERSIZE, configuration.bodies.bufferSize)
    if let caFile = configuration.tls.caFile { ccurl_setopt_str(easy, CURLOPT_CAINFO, caFile) }
    if configuration.tls.isInsecure {
        ccurl_setopt_long(easy, CURLOPT_SSL_VERIFYPEER, 0)
        ccurl_setopt_long(easy, CURLOPT_SSL_VERIFYHOST, 0)
    }
    if let certificate = configuration.tls.certificateFile {
        ccurl_setopt_str(easy, CURLOPT_SSLCERT, certificate)
        ccurl_setopt_str(easy, CURLOPT_SSLKEY, configuration.tls.keyFile ?? certificate)
        if let password = configuration.tls.keyPassword { ccurl_setopt_str(easy, CURLOPT_KEYPASSWD, password) }
    }
}

/// Opens sockets that child processes do not inherit: they would keep a closed connection open. libcurl 7.88 opens them
/// without `SOCK_CLOEXEC`, and can't set how many keepalive probes may stay unanswered.
private let openSocket: OpenSocket = { _, _, address in
    guard let address = address?.pointee else { return -1 }
    let descriptor = socket(address.family, address.socktype | Int32(SOCK_CLOEXEC.rawValue), address.protocol)
    var probes: Int32 = 5
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_KEEPCNT, &probes, socklen_t(MemoryLayout<Int32>.size))
    return descriptor
}

/// Like `openSocket`, but refuses link-local addresses: libcurl then tries the next address of the host.
private let openSocketToPermittedAddress: OpenSocket = { context, purpose, address in
    if let address, LinkLocal.includes(address) {
        CurlTransfer.of(context).causes.hasRefusedAddress = true
        return curl_socket_t(CURL_SOCKET_BAD)
    }
    return openSocket(context, purpose, address)
}

private typealias OpenSocket =
    @convention(c) (UnsafeMutableRawPointer?, curlsocktype, UnsafeMutablePointer<curl_sockaddr>?) -> curl_socket_t

extension HTTPRequest {
    /// Sets method, body and credentials.
    func setOptions(on easy: UnsafeMutableRawPointer, bufferSize: Int) {
        setMethod(on: easy, bufferSize: bufferSize)
        // libcurl collects the certificates while it opens a connection.
        if usesNewConnection || reportsConnection { ccurl_setopt_long(easy, CURLOPT_FRESH_CONNECT, 1) }
        if reportsConnection { ccurl_setopt_long(easy, CURLOPT_CERTINFO, 1) }
        switch credentials?.secret {
        case .basic(let user, let password)?:
            ccurl_setopt_long(easy, CURLOPT_HTTPAUTH, ccurl_auth_basic)
            ccurl_setopt_str(easy, CURLOPT_USERNAME, user)
            ccurl_setopt_str(easy, CURLOPT_PASSWORD, password)
        case .bearer(let token)?:
            ccurl_setopt_long(easy, CURLOPT_HTTPAUTH, ccurl_auth_bearer)
            ccurl_setopt_str(easy, CURLOPT_XOAUTH2_BEARER, token)
        case nil: break
        }
    }

    private func setMethod(on easy: UnsafeMutableRawPointer, bufferSize: Int) {
        // A POST or PUT without a body must say so: "Content-Length: 0" (RFC 9110, section 8.6).
        let size = body.count ?? (method == "POST" || method == "PUT" ? 0 : nil)
        if let size {
            ccurl_setopt_long(easy, CURLOPT_UPLOAD, 1)
            ccurl_setopt_off(easy, CURLOPT_INFILESIZE_LARGE, curl_off_t(size))
            ccurl_setopt_long(easy, CURLOPT_UPLOAD_BUFFERSIZE, bufferSize)
            if body.source != nil {
                ccurl_setopt_long(easy, CURLOPT_FRESH_CONNECT, 1)
                // After a refusal, part of the body may still be unsent on this connection.
                ccurl_setopt_long(easy, CURLOPT_FORBID_REUSE, 1)
            }
        }
        if method == "HEAD" {
            ccurl_setopt_long(easy, CURLOPT_NOBODY, 1)
        } else if method != "GET" || size != nil {
            ccurl_setopt_str(easy, CURLOPT_CUSTOMREQUEST, method)
        }
    }

    /// The header fields in libcurl's form: `Name;` for an empty value, and `Expect:` to turn off `100-continue`.
    func headerLines() -> UnsafeMutablePointer<curl_slist>? {
        var list = curl_slist_append(nil, "Expect:")
        for (name, value) in headers {
            let isBlank = value.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 }
            list = curl_slist_append(list, isBlank ? "\(name);" : "\(name): \(value)")
        }
        return list
    }

    /// libcurl 7.88 sends a header of at most 1 MiB and calls a longer one "Out of memory" (`DYN_HTTP_REQUEST`). This
    /// limit leaves room for the fields that libcurl adds.
    private static let headLimit = 1000 << 10

    /// A message if the URL and the header, including credentials, are too long to send; nil if they are not.
    var lengthError: String? {
        let limit = Self.headLimit
        let header = headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
        let credentials = credentials.map(\.headerBytes) ?? 0
        guard url.utf8.count + header + credentials > limit else { return nil }
        let part =
            url.utf8.count >= header + credentials ? "URL" : credentials >= header ? "credentials" : "header"
        return "the request can't be sent: its \(part) is too long (more than \(limit >> 10) KiB in total)"
    }

    /// The error for a request that can't be sent, or would send more than intended; nil if it is valid.
    var error: HTTPTransportError.Code? {
        guard method.isToken, headers.allSatisfy({ $0.name.isToken && $0.value.isFieldValue }),
            body.count.map({ $0 >= 0 }) ?? true
        else {
            return .invalidRequest
        }
        switch credentials?.secret {
        case .basic(let user, _)? where user.utf8.contains(UInt8(ascii: ":")): return .invalidRequest
        case .basic(let user, let password)?: return (user + password).utf8.contains(0) ? .invalidRequest : nil
        case .bearer(let token)?: return token.isFieldValue ? nil : .invalidRequest
        case nil: return nil
        }
    }

    /// The URL as parsed by libcurl; nil if it is invalid, has user info, or is neither `http` nor `https`.
    func parsedURL() -> OpaquePointer? {
        guard !url.utf8.contains(0), let parsed = curl_url() else { return nil }
        guard curl_url_set(parsed, CURLUPART_URL, url, UInt32(CURLU_DISALLOW_USER)) == CURLUE_OK,
            let scheme = parsed.part(CURLUPART_SCHEME), scheme == "http" || scheme == "https"
        else {
            curl_url_cleanup(parsed)
            return nil
        }
        return parsed
    }
}

extension HTTPCredentials {
    /// Their approximate length in a header.
    fileprivate var headerBytes: Int {
        switch secret {
        case .basic(let user, let password): (user.utf8.count + password.utf8.count) / 3 * 4
        case .bearer(let token): token.utf8.count
        }
    }
}

extension OpaquePointer {
    /// Host and port of a parsed URL.
    var place: (host: String?, port: Int?) {
        (part(CURLUPART_HOST), part(CURLUPART_PORT).flatMap(Int.init))
    }

    /// The scheme of a parsed URL, `http` or `https`.
    var scheme: String? { part(CURLUPART_SCHEME) }

    fileprivate func part(_ part: CURLUPart) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(self, part, &text, UInt32(CURLU_DEFAULT_PORT)) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}

extension String {
    /// Whether it is a token in the sense of RFC 9110, section 5.6.2.
    fileprivate var isToken: Bool {
        !isEmpty
            && utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    /// Whether it has no control characters except tabs: a line feed would begin another field.
    fileprivate var isFieldValue: Bool { utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 } }
}

extension Duration {
    /// Rounded up; at most what a C `int` holds.
    var milliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds < Int64(Int32.max / 1000) else { return Int(Int32.max) }
        return max(0, Int(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000))
    }
}
