internal import Encodings
internal import GatewayClient
internal import HTTPTransport

/// Judges a server's certificates, which were fetched before. Does no I/O.
struct CertificateCheck {
    /// How many days before its expiry a certificate causes a warning.
    static let warningDays = 30

    let url: GatewayURL
    /// Whether the bot accepts any certificate (`--insecure`).
    let isInsecure: Bool
    /// In seconds since 1970.
    let now: Int

    /// - Parameters:
    ///   - chain: The server's certificates, its own first.
    ///   - error: Why they were refused; nil if they are accepted.
    func findings(_ chain: [HTTPCertificate], refusedWith error: HTTPTransportError?) -> [Finding] {
        guard url.base.hasPrefix("https://") else { return [withoutTLS] }
        let trust = error.map { refusal($0, chain) } ?? accepted(chain)
        let insecure =
            isInsecure
            ? [
                Finding(
                    .warning,
                    "certificates are not verified (--insecure): anyone on the network path can read and write",
                    remedy: "name the authority's certificate with --ca-file FILE, and remove --insecure")
            ] : []
        let problem = error?.code.tlsProblem
        // OpenSSL reports only the first problem that it finds.
        let names = error == nil || problem == .wrongHost || isForHost(chain) ? nil : wrongHost(chain)
        let end = problem == .outOfDate ? nil : expiry(chain, isRefused: error != nil)
        return insecure + [trust] + [names, end].compactMap(\.self)
    }

    private var withoutTLS: Finding {
        url.isLoopback
            ? .ok("not used, and not needed: the gateway is on this machine")
            : Finding(
                .warning,
                "the connection is not encrypted: anyone on the network path can read documents and the password",
                remedy: "enable TLS on the gateway or on a proxy in front of it, and use https://")
    }

    private func accepted(_ chain: [HTTPCertificate]) -> Finding {
        guard let own = chain.first else { return .ok("the server's certificate is valid for \(host)") }
        return .ok("the certificate \(own.subject) is valid for \(host); signed by \(own.issuer)")
    }

    // MARK: - Problems

    private func refusal(_ error: HTTPTransportError, _ chain: [HTTPCertificate]) -> Finding {
        switch error.code.tlsProblem {
        case .outOfDate: return outOfDate(chain) ?? Finding(level, GatewayError(error))
        case .wrongHost: return wrongHost(chain)
        case .unknownAuthority:
            let issuer = chain.last.map { "; its issuer is \($0.issuer)" } ?? ""
            return Finding(
                level, "no trusted authority has signed the server's certificate (\(error.message))\(issuer)",
                remedy:
                    "if you trust it, save the authority's certificate as a PEM file and pass it with --ca-file FILE")
        default: return Finding(level, GatewayError(error))
        }
    }

    private var level: Finding.Level { isInsecure ? .warning : .error }

    private func wrongHost(_ chain: [HTTPCertificate]) -> Finding {
        let names = chain.first.map { $0.names.isEmpty ? [$0.subject] : $0.names } ?? []
        return Finding(
            level, "the server's certificate is not for \(host), but for \(Self.list(names))",
            remedy: "use an address that the certificate names, or get a certificate for \(host)")
    }

    /// Whether the certificate names this host. True if in doubt, because IPv6 addresses and non-ASCII names have
    /// several forms.
    private func isForHost(_ chain: [HTTPCertificate]) -> Bool {
        guard let names = chain.first?.names, !names.isEmpty, !host.hasPrefix("["), host.utf8.allSatisfy({ $0 < 0x80 })
        else { return true }
        let wanted = host.lowercased()
        let parent = wanted.firstIndex(of: ".").map { wanted[$0...] }
        return names.contains { name in
            let name = name.lowercased()
            guard name.contains("*") else { return name == wanted }
            return !name.hasPrefix("*.") || parent.map { name.dropFirst() == $0 } ?? false
        }
    }

    private static func list(_ names: [String]) -> String {
        names.isEmpty ? "another host" : names.prefix(5).joined(separator: ", ") + (names.count > 5 ? " …" : "")
    }

    private func outOfDate(_ chain: [HTTPCertificate]) -> Finding? {
        if let old = chain.first(where: { $0.expires.map { $0 <= now } ?? false }), let end = old.expires {
            return Finding(
                level, "the certificate \(old.subject) expired on \(Self.day(end))",
                remedy: "renew the server's certificate; if the date on this machine is wrong, set its clock")
        }
        if let new = chain.first(where: { $0.validFrom.map { $0 > now } ?? false }), let start = new.validFrom {
            return Finding(
                level, "the certificate \(new.subject) is not valid before \(Self.day(start))",
                remedy: "set this machine's clock; if it is right, wait until then, or get another certificate")
        }
        return nil
    }

    // MARK: - Expiry

    /// The certificate of the chain that expires first; nil if no expiry is known.
    private func expiry(_ chain: [HTTPCertificate], isRefused: Bool) -> Finding? {
        let first = chain.filter { $0.expires != nil }.min { ($0.expires ?? 0) < ($1.expires ?? 0) }
        guard let first, let end = first.expires else { return nil }
        let days = (end - now) / 86_400
        guard end > now else {
            let acceptance = isRefused ? "" : ", but the chain is still accepted"
            return Finding(
                .warning, "the certificate \(first.subject) expired on \(Self.day(end))\(acceptance)",
                remedy: "renew it, or remove it from the chain that the server sends")
        }
        let text = "the certificate \(first.subject) expires on \(Self.day(end)), in \(days.counted("day"))"
        return days <= Self.warningDays
            ? Finding(.warning, text, remedy: "renew the server's certificate before that day") : .ok(text)
    }

    /// `2026-11-20`.
    private static func day(_ seconds: Int) -> String { String(Timestamp.text(seconds).prefix(10)) }

    /// The host of the address, without its port.
    private var host: String {
        let authority = url.base.split(separator: "/", maxSplits: 1).last?.drop { $0 == "/" }.prefix { $0 != "/" } ?? ""
        if authority.hasPrefix("[") { return String(authority.prefix { $0 != "]" }) + "]" }
        return String(authority.prefix { $0 != ":" })
    }
}
