import Glibc

/// The proxies of requests.
///
/// A proxy is `[http://][user:password@]host[:port]`, also `https://`, `socks5://` or `socks5h://`; the default port is
/// 1080. It receives complete `http` requests; `https` requests use a tunnel that it can't read. Never prints its
/// content, which may include a password.
///
/// - Note: Source: `CURLOPT_PROXY(3)`, `CURLOPT_NOPROXY(3)`, `libcurl-env(3)`.
package struct HTTPProxies: Sendable, Hashable {
    /// For `http` requests; nil: none.
    package var http: String?
    /// For `https` requests; nil: none.
    package var https: String?
    /// Hosts to reach directly, separated by commas: a name includes its subdomains, `192.168.0.0/16` is a network, and
    /// a single `*` means all hosts. This machine is always reached directly.
    package var exceptions = ""

    /// The environment variables that name the proxies; nil for others.
    private var httpVariable: String?
    private var httpsVariable: String?

    /// No proxies.
    package init() {}

    /// Reads the variables that curl reads: `http_proxy` for `http` (lower case only: a web server passes a visitor's
    /// `Proxy` header on as `HTTP_PROXY`), `https_proxy` or `HTTPS_PROXY` for `https`, otherwise `all_proxy` or
    /// `ALL_PROXY` for both; and `no_proxy` or `NO_PROXY`. An empty value counts as none.
    package init(environment value: (String) -> String?) {
        func first(_ names: String...) -> String? {
            names.lazy.compactMap(value).first { !$0.isEmpty }
        }
        func name(_ names: String...) -> String? { names.first { value($0)?.isEmpty == false } }
        httpVariable = name("http_proxy", "all_proxy", "ALL_PROXY")
        httpsVariable = name("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
        http = httpVariable.flatMap(value)
        https = httpsVariable.flatMap(value)
        exceptions = first("no_proxy", "NO_PROXY") ?? ""
    }

    /// The proxies in the environment of the process, read on each access.
    package static var environment: HTTPProxies {
        HTTPProxies { name in getenv(name).map { String(cString: $0) } }
    }

    /// The proxy for a URL with this scheme; empty for none, which keeps libcurl from reading the environment itself.
    func proxy(for scheme: String?) -> String { (scheme == "https" ? https : http) ?? "" }

    /// The environment variable of the proxy for this URL; nil if there is none.
    package func variable(for url: String) -> String? {
        guard let end = url.firstRange(of: "://")?.upperBound else { return nil }
        guard let variable = url.hasPrefix("https:") ? httpsVariable : httpVariable else { return nil }
        var host = url[end...].prefix { !"/?#".contains($0) }
        if let at = host.lastIndex(of: "@") { host = host[host.index(after: at)...] }
        host = host.hasPrefix("[") ? host.dropFirst().prefix { $0 != "]" } : host.prefix { $0 != ":" }
        return isReachedDirectly(host.lowercased()) ? nil : variable
    }

    /// Decides like libcurl, by ``hostsWithoutProxy``.
    private func isReachedDirectly(_ host: String) -> Bool {
        hostsWithoutProxy.split { $0 == "," || $0 == " " }.contains { exception in
            let name = exception.lowercased().drop { $0 == "." }
            if name == "*" || host == name || host.hasSuffix(".\(name)") { return true }
            return Self.isInNetwork(host, name)
        }
    }

    /// Whether an IPv4 address is in a network such as `192.168.0.0/16`.
    private static func isInNetwork(_ host: String, _ network: Substring) -> Bool {
        let parts = network.split(separator: "/")
        guard parts.count == 2, let bits = Int(parts[1]), (0...32).contains(bits), let address = ipv4(host[...]),
            let start = ipv4(parts[0])
        else { return false }
        return bits == 0 || (address ^ start) >> (32 - UInt32(bits)) == 0
    }

    private static func ipv4(_ text: Substring) -> UInt32? {
        let numbers = text.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        guard numbers.count == 4, !numbers.contains(nil) else { return nil }
        return numbers.compactMap(\.self).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The value of `CURLOPT_NOPROXY`. A gateway on this machine is never reached through a proxy.
    var hostsWithoutProxy: String {
        let own = "localhost,127.0.0.0/8,::1"
        guard !exceptions.isEmpty else { return own }
        return exceptions == "*" ? exceptions : "\(exceptions),\(own)"
    }
}

extension HTTPProxies: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// `proxy` or `no proxy`, nothing else.
    package var description: String { http == nil && https == nil ? "no proxy" : "proxy" }
    /// Same as ``description``: without addresses and passwords.
    package var debugDescription: String { description }
    /// Without children, so that `dump` shows no password.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
