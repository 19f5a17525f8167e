import LanguageServer
import LosslessJSON
import Testing

@Suite struct SessionTests {
    private static let rules = "version: 1\nrules:\n  - name: a\n    when: { type: task }\n    then: []\n"

    // MARK: - Phases

    @Test func initializeSaysWhatTheServerCan() throws {
        var editor = EditorScript(ServerSession(context: context, version: "1.0"))
        let answer = try editor.ask("initialize", #"{"capabilities": {}}"#)
        let capabilities = try #require(answer["result"]?["capabilities"])
        #expect(capabilities["positionEncoding"]?.string == "utf-16")
        #expect(capabilities["textDocumentSync"]?["change"]?.integer == 2)
        #expect(capabilities["executeCommandProvider"]?["commands"]?.element(0)?.string == "changebot.runTest")
        #expect(answer["result"]?["serverInfo"]?["name"]?.string == "changebot")
    }

    @Test(arguments: [
        (#"["utf-8", "utf-16"]"#, "utf-8"), (#"["utf-32", "utf-8"]"#, "utf-8"), (#"["utf-16", "utf-8"]"#, "utf-16"),
        (#"["utf-32"]"#, "utf-16"), ("[]", "utf-16"), ("null", "utf-16"),
    ])
    func firstKnownEncodingIsUsed(offered: String, expected: String) throws {
        var editor = EditorScript(ServerSession(context: context, version: "1.0"))
        let answer = try editor.ask(
            "initialize", #"{"capabilities": {"general": {"positionEncodings": \#(offered)}}}"#)
        #expect(answer["result"]?["capabilities"]?["positionEncoding"]?.string == expected)
    }

    @Test func requestsBeforeInitializeAreRefused() throws {
        var editor = EditorScript(ServerSession(context: context, version: "1.0"))
        #expect(try editor.ask("textDocument/hover", at(0, 0))["error"]?["code"]?.integer == -32002)
        editor.open(uri, Self.rules)
        #expect(editor.messages.isEmpty)
        _ = try editor.ask("initialize", "{}")
        #expect(try editor.ask("initialize", "{}")["error"]?["code"]?.integer == -32600)
    }

    @Test func exitCodeTellsWhetherShutdownCameBefore() throws {
        var editor = try EditorScript.started()
        #expect(try editor.ask("shutdown", "null")["result"]?.kind == .null)
        #expect(try editor.ask("textDocument/hover", at(0, 0))["error"]?["code"]?.integer == -32600)
        #expect(editor.session.codeAtEnd == 0)
        editor.tell("exit", "null")
        #expect(editor.exitCode == 0)
        var other = try EditorScript.started()
        other.tell("exit", "null")
        #expect(other.exitCode == 1)
        #expect(EditorScript(ServerSession(context: context, version: "")).session.codeAtEnd == 1)
    }

    // MARK: - Malformed messages

    @Test(arguments: [
        ("{", -32700, "null"), ("", -32700, "null"), ("\u{1}", -32700, "null"), ("[]", -32600, "null"),
        ("[{\"jsonrpc\": \"2.0\"}]", -32600, "null"), (#"{"id": 1, "method": "x"}"#, -32600, "1"),
        (#"{"jsonrpc": "2.0", "id": 2}"#, -32600, "2"),
        (#"{"jsonrpc": "2.0", "id": "a", "method": 1}"#, -32600, "\"a\""),
        (#"{"jsonrpc": "2.0", "id": {}, "method": "x"}"#, -32600, "null"),
        (#"{"jsonrpc": "2.0", "id": 3, "method": "x/y"}"#, -32601, "3"),
        (#"{"jsonrpc": "2.0", "id": 4, "method": "textDocument/hover"}"#, -32602, "4"),
        (#"{"jsonrpc": "2.0", "id": 5, "method": "textDocument/hover", "params": []}"#, -32602, "5"),
        (
            #"{"jsonrpc": "2.0", "id": 6, "method": "workspace/executeCommand", "params": {"command": "x"}}"#, -32602,
            "6"
        ),
    ])
    func malformedMessagesAreAnswered(message: String, code: Int, id: String) throws {
        var editor = try EditorScript.started()
        editor.send(message)
        #expect(editor.messages.count == 1)
        let answer = try editor.answer(id)
        #expect(answer["error"]?["code"]?.integer == code)
        #expect(try editor.ask("shutdown", "null")["error"] == nil)
    }

    @Test func unknownNotificationsAndAnswersAreIgnored() throws {
        var editor = try EditorScript.started()
        editor.tell("$/setTrace", #"{"value": "off"}"#)
        editor.tell("workspace/didChangeConfiguration", "{}")
        editor.tell("textDocument/didOpen", "{}")
        editor.tell("textDocument/didChange", #"{"textDocument": {"uri": "untitled:x"}}"#)
        editor.tell("textDocument/didClose", "[]")
        editor.tell("$/cancelRequest", "null")
        editor.send(#"{"jsonrpc": "2.0", "id": 1, "result": null}"#)
        #expect(editor.messages.isEmpty)
    }

    // MARK: - Documents

    @Test func openingAFilePublishesItsErrors() throws {
        var editor = try EditorScript.started()
        editor.open(uri, Self.rules.replacing("when", with: "whn"))
        let published = editor.take("textDocument/publishDiagnostics")
        #expect(published.count == 1)
        let params = try #require(published.first?["params"])
        #expect(params["uri"]?.string == uri)
        #expect(params["version"]?.integer == 1)
        let diagnostics = Array(try #require(params["diagnostics"]).elements)
        #expect(diagnostics.count == 2)
        let error = try #require(diagnostics.last)
        #expect(error["message"]?.string?.hasPrefix("'whn' is not known") == true)
        #expect(error["range"]?.text == #"{"start":{"line":3,"character":4},"end":{"line":3,"character":7}}"#)
        #expect(error["severity"]?.integer == 1)
        #expect(error["source"]?.string == "changebot")
    }

    @Test func otherFilesAreLeftAlone() throws {
        var editor = try EditorScript.started()
        for text in ["services:\n  web: { image: x }\n", "apiVersion: v1\nrules:\n- verbs: []\n", "", "- a\n", "{"] {
            editor.open(uri, text)
            let published = editor.take("textDocument/publishDiagnostics")
            #expect(published.last?["params"]?["diagnostics"]?.childCount == 0, "\(text)")
        }
        editor.open(uri, "services:\n  web: { image: x }\n")
        #expect(try editor.ask("textDocument/completion", at(1, 2))["result"]?.childCount == 0)
        #expect(try editor.ask("textDocument/hover", at(0, 2))["result"]?.kind == .null)
        #expect(try editor.ask("textDocument/codeLens", at(0, 2))["result"]?.childCount == 0)
    }

    @Test func changesWithAndWithoutRanges() throws {
        var editor = try EditorScript.started()
        editor.open(uri, Self.rules)
        _ = editor.take("textDocument/publishDiagnostics")
        let edit =
            #"{"range": {"start": {"line": 3, "character": 4}, "end": {"line": 3, "character": 8}}, "text": "🍎"}"#
        // Two changes in one message: the second sees the first. 🍎 has two units of UTF-16.
        let second =
            #"{"range": {"start": {"line": 3, "character": 4}, "end": {"line": 3, "character": 6}}, "text": "whn"}"#
        editor.tell(
            "textDocument/didChange",
            #"{"textDocument": {"uri": "\#(uri)", "version": 2}, "contentChanges": [\#(edit), \#(second)]}"#)
        let published = editor.take("textDocument/publishDiagnostics")
        #expect(published.last?["params"]?["version"]?.integer == 2)
        #expect(published.last?["params"]?["diagnostics"]?.text.contains("'whn'") == true)
        editor.tell(
            "textDocument/didChange",
            #"{"textDocument": {"uri": "\#(uri)", "version": 3}, "contentChanges": [{"text": "version: 1\nrules: 1\n"}]}"#
        )
        #expect(editor.take("textDocument/publishDiagnostics").last?.text.contains("must be a list of rules") == true)
    }

    @Test func changeBeyondTheTextIsCut() throws {
        var editor = try EditorScript.started()
        editor.open(uri, "version: 1\n")
        let edit =
            #"{"range": {"start": {"line": 9, "character": 0}, "end": {"line": 99, "character": 9}}, "text": "rules: 1"}"#
        editor.tell(
            "textDocument/didChange",
            #"{"textDocument": {"uri": "\#(uri)", "version": 2}, "contentChanges": [\#(edit)]}"#)
        #expect(editor.take("textDocument/publishDiagnostics").last?.text.contains("must be a list") == true)
        let wrong = #"{"range": {"start": {"line": -1}}, "text": "x"}"#
        editor.tell(
            "textDocument/didChange",
            #"{"textDocument": {"uri": "\#(uri)", "version": 3}, "contentChanges": [\#(wrong)]}"#)
        #expect(editor.take("window/logMessage").count == 1)
    }

    @Test func columnsCountTheNegotiatedUnits() throws {
        let text = Self.rules.replacing("{ type: task }", with: "{ '🍎🍏': { $eqq: 1 } }")
        for (unit, start) in [("utf-16", 22), ("utf-8", 26)] {
            var editor = try EditorScript.started(#"{"general": {"positionEncodings": ["\#(unit)"]}}"#)
            editor.open(uri, text)
            let published = editor.take("textDocument/publishDiagnostics").last
            let range = published?["params"]?["diagnostics"]?.element(0)?["range"]
            #expect(range?["start"]?["character"]?.integer == start, "\(published?.text ?? "")")
        }
    }

    /// Diagnostics that were computed for an older version are not sent.
    @Test func onlyNewestDiagnosticsAreSent() throws {
        var editor = try EditorScript.started()
        editor.open(uri, Self.rules)
        _ = editor.take("textDocument/publishDiagnostics")
        func change(_ version: Int, _ text: String) -> [UInt8] {
            Array(
                #"{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": {"uri": "\#(uri)", "version": \#(version)}, "contentChanges": [{"text": "\#(text)"}]}}"#
                    .utf8)
        }
        _ = editor.session.take([change(2, "version: 1\\nrules: 2")])
        let request = editor.session.diagnosticsRequest(uri: uri)
        let old = try #require(request)
        let diagnostics = old.diagnostics()
        let outputs = editor.session.take([change(3, "version: 1\\nrules: []"), change(4, "version: 1\\nrules: 4")])
        #expect(editor.session.message(diagnostics, for: old) == nil)
        for output in outputs { editor.perform(output) }
        // Two changes, but one computation: of the newest version.
        let published = editor.take("textDocument/publishDiagnostics")
        #expect(published.map { $0["params"]?["version"]?.integer } == [4])
        editor.tell("textDocument/didClose", #"{"textDocument": {"uri": "\#(uri)"}}"#)
        #expect(editor.take("textDocument/publishDiagnostics").last?["params"]?["diagnostics"]?.childCount == 0)
        #expect(editor.session.message(diagnostics, for: old) == nil)
        #expect(try editor.ask("textDocument/hover", at(0, 0))["error"]?["code"]?.integer == -32602)
    }

    @Test func cancelledRequestIsNotCarriedOut() throws {
        var editor = try EditorScript.started()
        editor.open(uri, Self.rules)
        editor.send(
            #"{"jsonrpc": "2.0", "id": "c", "method": "textDocument/completion", "params": \#(at(3, 4))}"#,
            #"{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "c"}}"#)
        #expect(try editor.answer("\"c\"")["error"]?["code"]?.integer == -32800)
    }

    @Test func fiveMegabytesAreRead() throws {
        var editor = try EditorScript.started()
        let value = String(repeating: "a", count: 600)
        let rules = (0..<8_000).map { "  - { name: r\($0), when: { type: task }, then: [merge: { a: \(value) }] }\n" }
        let text = "version: 1\nrules:\n" + rules.joined()
        #expect(text.utf8.count > 5_000_000)
        editor.open(uri, text)
        #expect(editor.take("textDocument/publishDiagnostics").count == 1)
        #expect(try editor.ask("textDocument/completion", at(1, 6))["error"] == nil)
    }
}
