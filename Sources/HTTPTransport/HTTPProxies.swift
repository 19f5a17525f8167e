import Glibc

/// The proxies for requests.
///
/// A proxy is `[http://][user:password@]host[:port]`, also `https://`, `socks5://` or `socks5h://`; without a port it is
/// 1080. `http` requests are handed to it whole, `https` ones go through a tunnel that it cannot look into. Never prints
/// what it holds: there may be a password in it.
///
/// - Note: Source: `CURLOPT_PROXY(3)`, `CURLOPT_NOPROXY(3)`, `libcurl-env(3)`.
package struct HTTPProxies: Sendable, Hashable {
    /// For `http` requests; nil: none.
    package var http: String?
    /// For `https` requests; nil: none.
    package var https: String?
    /// Hosts that are asked directly, separated by commas: a name stands for itself and all below it, `192.168.0.0/16` for
    /// a network, `*` alone for all. This machine is always asked directly.
    package var exceptions = ""

    /// None at all.
    package init() {}

    /// As curl reads them: `http_proxy` for `http` (only in small letters: `HTTP_PROXY` is how a web server passes on a
    /// visitor's header `Proxy`), `https_proxy` or `HTTPS_PROXY` for `https`, else `all_proxy` or `ALL_PROXY` for both; and
    /// `no_proxy` or `NO_PROXY`. An empty one is none.
    package init(environment value: (String) -> String?) {
        func first(_ names: String...) -> String? {
            names.lazy.compactMap(value).first { !$0.isEmpty }
        }
        http = first("http_proxy", "all_proxy", "ALL_PROXY")
        https = first("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
        exceptions = first("no_proxy", "NO_PROXY") ?? ""
    }

    /// What the environment of the process says now.
    package static var environment: HTTPProxies {
        HTTPProxies { name in getenv(name).map { String(cString: $0) } }
    }

    /// The proxy for a URL of this scheme; empty for none, which keeps libcurl from looking into the environment itself.
    func proxy(for scheme: String?) -> String { (scheme == "https" ? https : http) ?? "" }

    /// For `CURLOPT_NOPROXY`. A gateway on the loopback is never a proxy's business.
    var hostsWithoutProxy: String {
        let own = "localhost,127.0.0.0/8,::1"
        guard !exceptions.isEmpty else { return own }
        return exceptions == "*" ? exceptions : "\(exceptions),\(own)"
    }
}

extension HTTPProxies: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { http == nil && https == nil ? "no proxy" : "proxy" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
