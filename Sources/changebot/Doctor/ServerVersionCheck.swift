internal import GatewayClient

/// Judges which server it is, and whether changebot was tested with its version. Does no I/O.
struct ServerVersionCheck {
    /// The versions that the tests run against, by dialect.
    static let testedVersions: [GatewayDialect: [String]] = [.syncGateway: ["3.3", "4.1"], .couchDB: ["3.5"]]

    let url: GatewayURL
    /// The value of `--dialect`; nil if it is not given.
    let givenDialect: GatewayDialect?

    /// - Parameters:
    ///   - dialect: The dialect that the server reports; nil if it does not.
    ///   - version: As the server writes it: `3.5.0`, `Couchbase Sync Gateway/4.1.1(0;6bdbe7d) CE`. Or its `Server`
    ///     header: `CouchDB/3.5.0 (Erlang OTP/25)`.
    func finding(dialect: GatewayDialect?, version: String?) -> Finding {
        guard let dialect else {
            return Finding(
                .unknown, "the server does not say whether it is Sync Gateway or CouchDB; a proxy may hide it",
                remedy: givenDialect == nil
                    ? "add --dialect sync-gateway or --dialect couchdb" : nil)
        }
        if let givenDialect, givenDialect != dialect {
            return Finding(
                .error, "--dialect says \(givenDialect.name), but the server is \(dialect.name)",
                remedy: "remove --dialect, or correct it")
        }
        if version?.contains("changebot embedded") == true { return .ok("changebot's embedded gateway") }
        if url.base.contains(".cloud.couchbase.com") {
            return Finding(
                .warning,
                "Capella App Services: it speaks Sync Gateway's dialect, but changebot was never tested there",
                remedy: "try it with a copy of the data first")
        }
        guard let version, let number = Self.number(in: version) else {
            return Finding(.unknown, "\(dialect.name), which does not report its version")
        }
        let testedVersions = Self.testedVersions[dialect] ?? []
        let isTested = testedVersions.contains { number == $0 || number.hasPrefix($0 + ".") }
        guard !isTested else { return .ok("\(dialect.name) \(number)") }
        return Finding(
            .warning,
            "\(dialect.name) \(number): changebot was not tested with this version, but with "
                + testedVersions.joined(separator: " and "),
            remedy: "test it with a copy of the data first, or use a tested version")
    }

    /// `4.1.1`: the first number with a point in it.
    static func number(in text: String) -> String? {
        text.split { !($0.isASCII && $0.isNumber) && $0 != "." }.map(String.init).first { word in
            word.contains(".") && word.first?.isNumber == true
        }
    }
}
