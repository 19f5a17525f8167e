internal import ArgumentParser

/// The options of the HTTP server: status page, metrics, probes.
struct HTTPOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Serve a status page, /metrics, /livez, /readyz, /status and /events at this address, such as 127.0.0.1:9464.",
            valueName: "host:port"))
    var http: String?

    @Flag(help: "Let --http listen where other machines can reach it. Anyone who can reach it can read the page.")
    var httpAllowRemote = false

    @Flag(help: "Show the changes of documents on the page.")
    var httpShowsDocuments = false

    /// Where to serve, and what to show.
    struct Choice {
        let address: ListenAddress
        let showsDocuments: Bool
        /// Whether other machines can connect.
        let isRemote: Bool
    }

    /// Nil without `--http`.
    ///
    /// - Throws: ``CommandError`` with 64 for an invalid address, or for one other than loopback without
    ///   `--http-allow-remote`.
    func choice(_ environment: Environment) throws(CommandError) -> Choice? {
        guard let text = http ?? environment["http"] else { return nil }
        return try environment.checking("http", isFlag: http != nil) { () throws(CommandError) in
            try choice(text, environment)
        }
    }

    private func choice(_ text: String, _ environment: Environment) throws(CommandError) -> Choice {
        let address = try ListenAddress(text, option: "http")
        let isAllowed = try environment.isOn(httpAllowRemote, "http-allow-remote")
        guard address.isLoopback || isAllowed else {
            let isFromFile = if http == nil, case .file? = environment.source(of: "http") { true } else { false }
            let remedy = isFromFile ? "write http_allow_remote: true" : "add --http-allow-remote"
            throw CommandError(
                .usage,
                "--http \(text) can be reached from other machines, and anyone who can reach it can read the page: "
                    + "\(remedy), or listen on 127.0.0.1")
        }
        return Choice(
            address: address, showsDocuments: try environment.isOn(httpShowsDocuments, "http-shows-documents"),
            isRemote: !address.isLoopback)
    }
}

extension ListenAddress {
    /// Whether only this machine can reach it. False for names other than `localhost`, which may resolve to any
    /// address.
    var isLoopback: Bool {
        if host.lowercased() == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
