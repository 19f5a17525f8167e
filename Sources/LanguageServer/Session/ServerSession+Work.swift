internal import LosslessJSON
package import RuleEditing

// Work that takes time, and its results.

extension ServerSession {
    /// A version of a document whose diagnostics are wanted.
    package struct DiagnosticsRequest: Sendable {
        let uri: String
        let version: Int
        let file: EditedRuleFile

        /// Blocks.
        package func diagnostics() -> [EditorDiagnostic] { file.hasRules ? file.diagnostics : [] }
    }

    /// The newest version of a document. Nil if its diagnostics are being computed or known, or it is closed.
    package mutating func diagnosticsRequest(uri: String) -> DiagnosticsRequest? {
        guard outdated.remove(uri) != nil, var document = documents[uri] else { return nil }
        let file = document.file
        documents[uri] = document
        return DiagnosticsRequest(uri: uri, version: document.version, file: file)
    }

    /// The message with diagnostics. Nil if the document has changed since they were requested, or is closed.
    package mutating func message(
        _ diagnostics: [EditorDiagnostic], for request: DiagnosticsRequest
    ) -> [UInt8]? {
        guard var document = documents[request.uri], document.version == request.version else { return nil }
        document.know(diagnostics)
        documents[request.uri] = document
        return Diagnostics.message(
            uri: request.uri, version: request.version, diagnostics + (document.failure.map { [$0] } ?? []))
    }

    // MARK: - Tests

    mutating func execute(_ id: [UInt8], _ params: JSONValue?) -> [ServerOutput] {
        guard params?["command"]?.string == Self.runTest else {
            return [
                .send(
                    ServerMessage.error(
                        id, .invalidParams, "the only command is '\(Self.runTest)'"))
            ]
        }
        let argument = params?["arguments"]?.element(0)
        guard let uri = argument?["uri"]?.string, let index = argument?["index"]?.integer else {
            return [.send(ServerMessage.error(id, .invalidParams, "the argument must have a 'uri' and an 'index'"))]
        }
        guard var document = documents[uri] else {
            return [.send(ServerMessage.error(id, .invalidParams, "the document '\(uri)' is not open"))]
        }
        let file = document.file
        documents[uri] = document
        running.insert(id)
        let place = Self.place(of: argument?["name"]?.string, index, in: file)
        return [.run(TestRequest(id: id, uri: uri, version: document.version, file: file, index: place))]
    }

    /// The index of a test, which may have moved since the lens was shown.
    private static func place(of name: String?, _ index: Int, in file: EditedRuleFile) -> Int {
        let names = file.tests.map(\.name)
        guard let name, !names.indices.contains(index) || names[index] != name else { return index }
        return names.firstIndex(of: name) ?? -1
    }

    /// The messages about a test that was run. Empty if the request was cancelled.
    package mutating func finish(_ request: TestRequest, _ outcome: EditedRuleFile.TestOutcome) -> [ServerOutput] {
        guard running.remove(request.id) != nil else { return [] }
        let firstLine = outcome.text.prefix { $0 != "\n" }
        var outputs: [ServerOutput] = [
            .send(ServerMessage.show(outcome.hasPassed ? .information : .error, "changebot: \(firstLine)")),
            .send(ServerMessage.result(request.id) { $0.null() }),
        ]
        if var document = documents[request.uri], document.version == request.version {
            document.show(outcome.hasPassed ? nil : Self.diagnostic(outcome, request))
            documents[request.uri] = document
            outputs.append(diagnose(request.uri))
        }
        return outputs
    }

    private static func diagnostic(
        _ outcome: EditedRuleFile.TestOutcome, _ request: TestRequest
    ) -> EditorDiagnostic? {
        let tests = request.file.tests
        guard tests.indices.contains(request.index) else { return nil }
        return EditorDiagnostic(range: tests[request.index].range, severity: .error, message: outcome.text)
    }
}
