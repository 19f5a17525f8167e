internal import GatewayClient

/// Checks whether the databases of a bot that follows many can be listed, watched and read.
struct DatabasesCheck {
    private(set) var findings: [Finding] = []
    /// The first database that can be read, for the other checks. Nil: there is none.
    private(set) var example: GatewayURL?

    /// The most databases that are named.
    private static let shown = 10

    init(_ url: GatewayURL, _ settings: GatewaySettings, _ patterns: DatabasePatterns) async {
        let gateway = Gateway(url, settings: settings)
        await inspect(gateway.directory(for: patterns), patterns)
        await gateway.shutdown()
    }

    private mutating func inspect(_ directory: any DatabaseDirectory, _ patterns: DatabasePatterns) async {
        let names: [String]
        do { names = try await directory.names().filter { patterns.matches($0) }.sorted() } catch {
            findings.append(Finding(.error, error))
            return
        }
        guard !names.isEmpty else {
            findings.append(
                Finding(
                    .warning, "none of the \(directory.what) matches: \(patterns)",
                    remedy: "create one, or correct the patterns; a daemon waits for one"))
            return
        }
        findings.append(.ok("\(Counted(names.count, String(directory.what.dropLast()))) selected by: \(patterns)"))
        await inspectReading(directory, names)
        await inspectAnnouncements(directory)
    }

    private mutating func inspectReading(_ directory: any DatabaseDirectory, _ names: [String]) async {
        var refused: [(name: String, error: GatewayError)] = []
        for name in names {
            guard let gateway = try? directory.gateway(name) else { continue }
            do throws(GatewayError) {
                var answer = try await gateway.changes(ChangesRequest(includesDocuments: false, limit: 1))
                _ = try await answer.next()
                if example == nil { example = gateway.url }
            } catch {
                refused.append((name, error))
            }
        }
        guard let first = refused.first else { return }
        let shown = refused.prefix(Self.shown).map(\.name).joined(separator: ", ")
        let more = refused.count > Self.shown ? " and \(refused.count - Self.shown) more" : ""
        findings.append(
            Finding(
                .error,
                "\(refused.count) of \(names.count) can't be read: \(shown)\(more); the first, \(first.name): \(first.error)",
                remedy: "give the bot's user access to them, or exclude them with a pattern after '!'"))
    }

    private mutating func inspectAnnouncements(_ directory: any DatabaseDirectory) async {
        guard directory.expectsAnnouncements else { return }
        do throws(GatewayError) { _ = try await directory.updates(since: nil) } catch {
            findings.append(
                Finding(
                    .warning, "the server does not announce which databases change: \(error)",
                    remedy:
                        "let the bot be a server administrator of a CouchDB with the database _global_changes; otherwise it compares all sequences every 10 s"
                ))
        }
    }
}
