internal import LosslessJSON
package import RuleEditing

/// The state of the server: its phase, the open documents, the running tests. Answers messages without I/O.
///
/// - Note: Source: Language Server Protocol 3.17.
package struct ServerSession: Sendable {
    enum Phase { case new, ready, shutDown }

    /// The command of a code lens. Its argument has the `uri`, the `index` and the `name` of a test.
    static let runTest = "changebot.runTest"

    let context: EditingContext
    let version: String
    var phase = Phase.new
    /// What the editor counts as a column.
    var columns = ColumnUnit.utf16
    /// Whether the editor fills in the places of a snippet.
    var acceptsSnippets = false
    /// Whether the editor takes changes as code actions, and not only commands.
    var acceptsActions = false
    var documents: [String: OpenDocument] = [:]
    /// The documents whose diagnostics must be computed.
    var outdated: Set<String> = []
    /// The ids of requests that are not answered yet.
    var running: Set<[UInt8]> = []

    /// - Parameter version: The version of the program.
    package init(context: EditingContext, version: String) { (self.context, self.version) = (context, version) }

    /// What to do about messages that arrived together. A request that one of them cancels is not carried out.
    package mutating func take(_ messages: [[UInt8]]) -> [ServerOutput] {
        let messages = messages.map(ClientMessage.init)
        var outputs: [ServerOutput] = []
        for (index, message) in messages.enumerated() {
            switch message {
            case .request(let id, let method, let params):
                if phase == .ready, method != "shutdown", messages[(index + 1)...].contains(where: { $0.cancels(id) }) {
                    outputs.append(.send(Self.cancelled(id)))
                } else {
                    outputs += answer(id, method, params)
                }
            case .notification(let method, let params): outputs += note(method, params)
            case .response: break
            case .invalid(let id, let code, let text): outputs.append(.send(ServerMessage.error(id, code, text)))
            }
            if case .exit? = outputs.last { break }
        }
        return outputs
    }

    /// What to do about bytes that are not a message.
    package func refuseFrame() -> [ServerOutput] {
        [
            .send(
                ServerMessage.error(
                    ClientMessage.noID, .parseError, "a message must begin with a header: Content-Length: N"))
        ]
    }

    /// The exit code if the editor closes its end of the connection.
    package var codeAtEnd: Int32 { phase == .shutDown ? 0 : 1 }

    static func cancelled(_ id: [UInt8]) -> [UInt8] {
        ServerMessage.error(id, .requestCancelled, "the request was cancelled")
    }

    // MARK: - Requests

    private mutating func answer(_ id: [UInt8], _ method: String, _ params: JSONValue?) -> [ServerOutput] {
        func refusal(_ code: ClientMessage.ErrorCode, _ text: String) -> [ServerOutput] {
            [.send(ServerMessage.error(id, code, text))]
        }
        switch (phase, method) {
        case (.new, "initialize"): return [.send(initialize(id, params))]
        case (.new, _): return refusal(.serverNotInitialized, "'initialize' must be the first request")
        case (.shutDown, _): return refusal(.invalidRequest, "the server has been shut down; only 'exit' may follow")
        case (.ready, "initialize"): return refusal(.invalidRequest, "the server is already initialized")
        case (.ready, "shutdown"):
            phase = .shutDown
            return [.send(ServerMessage.result(id) { $0.null() })]
        case (.ready, "workspace/executeCommand"): return execute(id, params)
        case (.ready, _): break
        }
        guard let write = documentRequest(method) else {
            return refusal(.methodNotFound, "this server does not know '\(method)'")
        }
        guard let uri = params?["textDocument"]?["uri"]?.string else {
            return refusal(.invalidParams, "'textDocument' must have a 'uri'")
        }
        guard let params, var document = documents[uri] else {
            return refusal(.invalidParams, "the document '\(uri)' is not open")
        }
        let file = document.file
        documents[uri] = document
        guard let result = write(file, document, params) else {
            return refusal(.invalidParams, "'\(method)' needs a position or a range")
        }
        return [.send(ServerMessage.result(id, result))]
    }

    // MARK: - Notifications

    private mutating func note(_ method: String, _ params: JSONValue?) -> [ServerOutput] {
        if method == "exit" { return [.exit(code: codeAtEnd)] }
        guard phase == .ready else { return [] }
        switch method {
        case "textDocument/didOpen": return open(params?["textDocument"])
        case "textDocument/didChange": return change(params)
        case "textDocument/didSave":
            // Other files of the folder may be different now.
            guard let uri = params?["textDocument"]?["uri"]?.string, documents[uri] != nil else { return [] }
            return documents.keys.sorted().map { diagnose($0) }
        case "textDocument/didClose":
            guard let uri = params?["textDocument"]?["uri"]?.string, documents.removeValue(forKey: uri) != nil else {
                return []
            }
            return [.send(Diagnostics.message(uri: uri, version: nil, []))]
        case "$/cancelRequest":
            guard let id = params?["id"].map({ Array($0.bytes) }), running.remove(id) != nil else { return [] }
            return [.send(Self.cancelled(id))]
        default: return []
        }
    }

    mutating func diagnose(_ uri: String) -> ServerOutput {
        outdated.insert(uri)
        return .diagnose(uri: uri)
    }

    private mutating func open(_ item: JSONValue?) -> [ServerOutput] {
        guard let item, let uri = item["uri"]?.string, let text = item["text"]?.string else { return [] }
        documents[uri] = OpenDocument(
            uri: uri, language: item["languageId"]?.string, version: item["version"]?.integer ?? 0, text: text,
            columns: columns, context)
        return [diagnose(uri)]
    }

    private mutating func change(_ params: JSONValue?) -> [ServerOutput] {
        guard let uri = params?["textDocument"]?["uri"]?.string, var document = documents[uri] else { return [] }
        for change in params?["contentChanges"].map({ Array($0.elements) }) ?? [] {
            guard let text = change["text"]?.string else { continue }
            if let range = change["range"], range.kind == .object {
                guard let range = range.range else { return [.send(unusable(uri))] }
                document.replace(range, with: text)
            } else {
                document.replace(text)
            }
        }
        document.advance(to: params?["textDocument"]?["version"]?.integer ?? document.version + 1)
        documents[uri] = document
        return [diagnose(uri)]
    }

    private func unusable(_ uri: String) -> [UInt8] {
        ServerMessage.log(
            .error, "a change of '\(uri)' has no valid range and was ignored; close and open the file again")
    }
}

extension ClientMessage {
    /// Whether the message cancels the request with this id.
    fileprivate func cancels(_ id: [UInt8]) -> Bool {
        guard case .notification("$/cancelRequest", let params) = self, let other = params?["id"] else { return false }
        return other.bytes.elementsEqual(id)
    }
}
