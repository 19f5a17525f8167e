import Glibc

/// Which proxies requests use.
///
/// A proxy is `[http://][user:password@]host[:port]`, also `https://`, `socks5://` or `socks5h://`; the default port is
/// 1080. `http` requests are sent to it whole; `https` ones go through a tunnel that it cannot look into. Never prints
/// its content, which may include a password.
///
/// - Note: Source: `CURLOPT_PROXY(3)`, `CURLOPT_NOPROXY(3)`, `libcurl-env(3)`.
package struct HTTPProxies: Sendable, Hashable {
    /// For `http` requests; nil: none.
    package var http: String?
    /// For `https` requests; nil: none.
    package var https: String?
    /// Hosts to reach directly, separated by commas: a name covers itself and its subdomains, `192.168.0.0/16` a
    /// network, `*` alone all hosts. This machine is always reached directly.
    package var exceptions = ""

    /// No proxies.
    package init() {}

    /// As curl reads them: `http_proxy` for `http` (lower case only: `HTTP_PROXY` is how a web server passes on a
    /// visitor's `Proxy` header), `https_proxy` or `HTTPS_PROXY` for `https`, otherwise `all_proxy` or `ALL_PROXY` for
    /// both; and `no_proxy` or `NO_PROXY`. An empty value counts as none.
    package init(environment value: (String) -> String?) {
        func first(_ names: String...) -> String? {
            names.lazy.compactMap(value).first { !$0.isEmpty }
        }
        http = first("http_proxy", "all_proxy", "ALL_PROXY")
        https = first("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
        exceptions = first("no_proxy", "NO_PROXY") ?? ""
    }

    /// Those in the environment of the process, read on each access.
    package static var environment: HTTPProxies {
        HTTPProxies { name in getenv(name).map { String(cString: $0) } }
    }

    /// The proxy for a URL with this scheme; empty for none, which keeps libcurl from reading the environment itself.
    func proxy(for scheme: String?) -> String { (scheme == "https" ? https : http) ?? "" }

    /// For `CURLOPT_NOPROXY`. A gateway on this machine is never reached through a proxy.
    var hostsWithoutProxy: String {
        let own = "localhost,127.0.0.0/8,::1"
        guard !exceptions.isEmpty else { return own }
        return exceptions == "*" ? exceptions : "\(exceptions),\(own)"
    }
}

extension HTTPProxies: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// `proxy` or `no proxy`, nothing else.
    package var description: String { http == nil && https == nil ? "no proxy" : "proxy" }
    /// As ``description``: without addresses and passwords.
    package var debugDescription: String { description }
    /// Without children, so that `dump` shows no password.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
