import Foundation
import LanguageServer
import LosslessJSON
import RuleEditing
import Testing

let context: EditingContext = {
    let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "assets/rule-file.schema.json")
    do {
        return try EditingContext(schema: Array(try Data(contentsOf: file)))
    } catch {
        fatalError("\(error)")
    }
}()

/// A session without threads: work is done as soon as it is asked for.
struct EditorScript {
    var session: ServerSession
    /// The messages of the server that have not been taken.
    var messages: [JSONValue] = []
    private(set) var exitCode: Int32?
    private var nextID = 1

    init(_ session: ServerSession) { self.session = session }

    /// A session after `initialize`.
    static func started(_ capabilities: String = "{}") throws -> EditorScript {
        var editor = EditorScript(ServerSession(context: context, version: "1.0"))
        _ = try editor.ask("initialize", #"{"processId": null, "rootUri": null, "capabilities": \#(capabilities)}"#)
        editor.tell("initialized", "{}")
        return editor
    }

    /// Sends messages that arrive together, and does the work that follows.
    mutating func send(_ texts: String...) { send(texts.map { Array($0.utf8) }) }

    mutating func send(_ texts: [[UInt8]]) {
        for output in session.take(texts) { perform(output) }
    }

    mutating func perform(_ output: ServerOutput) {
        switch output {
        case .send(let bytes): keep(bytes)
        case .diagnose(let uri):
            guard let request = session.diagnosticsRequest(uri: uri) else { return }
            if let bytes = session.message(request.diagnostics(), for: request) { keep(bytes) }
        case .run: break
        case .exit(let code): exitCode = code
        }
    }

    private mutating func keep(_ bytes: [UInt8]) {
        guard let text = try? JSONText(bytes) else {
            Issue.record("not JSON: \(String(decoding: bytes, as: UTF8.self))")
            return
        }
        messages.append(text.root)
    }

    mutating func tell(_ method: String, _ params: String) {
        send(#"{"jsonrpc": "2.0", "method": "\#(method)", "params": \#(params)}"#)
    }

    /// Sends a request, and returns the answer.
    mutating func ask(_ method: String, _ params: String) throws -> JSONValue {
        let id = nextID
        nextID += 1
        send(#"{"jsonrpc": "2.0", "id": \#(id), "method": "\#(method)", "params": \#(params)}"#)
        return try answer("\(id)")
    }

    /// Removes and returns the answer with this id.
    mutating func answer(_ id: String) throws -> JSONValue {
        let index = try #require(messages.firstIndex { $0["id"]?.text == id }, "\(messages.map(\.text))")
        return messages.remove(at: index)
    }

    /// Removes and returns all notifications of this method.
    mutating func take(_ method: String) -> [JSONValue] {
        let taken = messages.filter { $0["method"]?.string == method }
        messages.removeAll { $0["method"]?.string == method }
        return taken
    }

    mutating func open(_ uri: String, _ text: String, language: String = "yaml") {
        var writer = JSONWriter()
        writer.string(text)
        let json = String(decoding: writer.bytes, as: UTF8.self)
        tell(
            "textDocument/didOpen",
            #"{"textDocument": {"uri": "\#(uri)", "languageId": "\#(language)", "version": 1, "text": \#(json)}}"#)
    }
}

extension JSONValue {
    var text: String { String(decoding: bytes, as: UTF8.self) }
}

let uri = "untitled:r.yaml"

/// The parameters of a request about a position.
func at(_ line: Int, _ character: Int) -> String {
    #"{"textDocument": {"uri": "\#(uri)"}, "position": {"line": \#(line), "character": \#(character)}}"#
}
