import Testing

/// One request and its expected outcome.
///
/// In path, headers and body, `{doc}` is the id of an existing document, `{rev}` its revision, and `{new}` the id of a
/// missing document; ids are percent-encoded in paths. Paths are relative to the keyspace.
struct RequestCase: Sendable, CustomTestStringConvertible {
    let name: String
    var method = "GET"
    let path: String
    var body: String?
    var headers: [(name: String, value: String)] = []
    /// Nil for kinds that are skipped.
    let expected: Expected<Outcome?>

    var testDescription: String { name }

    init(
        _ name: String, _ method: String, _ path: String, _ body: String? = nil,
        headers: [(name: String, value: String)] = [], goes expected: Expected<Outcome?>
    ) {
        self.name = name
        self.method = method
        self.path = path
        self.body = body
        self.headers = headers
        self.expected = expected
    }

    init(
        _ name: String, _ method: String, _ path: String, _ body: String? = nil,
        headers: [(name: String, value: String)] = [], always outcome: Outcome
    ) {
        self.init(name, method, path, body, headers: headers, goes: Expected(outcome))
    }

    func run() async throws {
        let kind = try await ConformanceServer.shared().kind
        guard let expected = expected[kind] else { try Test.cancel("not known of \(kind)") }
        try await Workspace.with { workspace in
            let (id, new) = (workspace.id("doc"), workspace.id("new"))
            let revision = try await workspace.put(id, #"{"n":1}"#)
            func fill(_ text: String, _ spell: (String) -> String) -> String {
                text.replacing("{doc}", with: spell(id)).replacing("{new}", with: spell(new))
                    .replacing("{rev}", with: revision)
            }
            let reply = try await workspace.send(
                method, fill(path, \.percentEncoded), body.map { fill($0) { $0 } },
                headers: headers.map { ($0.name, fill($0.value) { $0 }) })
            #expect(reply.outcome.fits(expected), "\(reply.outcome) instead of \(expected)")
        }
    }
}
