import Foundation
import LanguageServer
import Locking
import LosslessJSON
import RuleEditing
import Testing

/// Requests about a document.
@Suite struct EditingTests {
    private static let rules =
        "version: 1\nrules:\n  - name: a\n    when: { type: task, b: { $exists: false } }\n    then: [merge: { b: { jq: '1' } }]\n"
    private static let tests =
        "tests:\n  - { name: good, given: { _id: t, type: task }, expect: { fired: [a] } }\n"
        + "  - { name: bad, given: { _id: t, type: task }, expect: { fired: [] } }\n"

    private static func editor(_ text: String, _ capabilities: String = "{}") throws -> EditorScript {
        var editor = try EditorScript.started(capabilities)
        editor.open(uri, text)
        return editor
    }

    private static let document = #""textDocument": {"uri": "\#(uri)"}"#

    @Test func hoverAndCompletion() throws {
        var editor = try Self.editor(Self.rules)
        let hover = try editor.ask("textDocument/hover", at(3, 5))
        #expect(hover["result"]?["contents"]?["value"]?.string?.contains("Mango") == true)
        #expect(hover["result"]?["range"]?["end"]?["character"]?.integer == 8)
        let items = try editor.ask("textDocument/completion", at(3, 4))["result"]
        let labels = try #require(items).elements.compactMap { $0["label"]?.string }
        #expect(labels.contains("unless"))
        let item = try #require(items?.elements.first { $0["label"]?.string == "unless" })
        // `when` with its colon stays, so only the word is replaced.
        #expect(item["textEdit"]?["newText"]?.string == "unless")
        #expect(item["insertTextFormat"]?.integer == 1)
        #expect(item["documentation"]?["kind"]?.string == "markdown")
    }

    @Test func snippetsOnlyForEditorsThatKnowThem() throws {
        let text = "version: 1\nrules:\n  - name: a\n    then:\n      - \n"
        func edit(_ capabilities: String) throws -> String? {
            var editor = try Self.editor(text, capabilities)
            let items = try editor.ask("textDocument/completion", at(4, 8))["result"]
            return items?.elements.first { $0["label"]?.string == "detach" }?["textEdit"]?["newText"]?.string
        }
        #expect(try edit("{}") == "detach: image")
        let able = #"{"textDocument": {"completion": {"completionItem": {"snippetSupport": true}}}}"#
        #expect(try edit(able) == "detach: ${1:image}")
    }

    /// Editors add the indentation of the line to the other lines of a snippet, so it has only the rest.
    @Test func linesOfASnippetAreRelativeToTheLine() throws {
        let text = "version: 1\nrules:\n  - name: a\n    th\n  - \n"
        let able = #"{"textDocument": {"completion": {"completionItem": {"snippetSupport": true}}}}"#
        var editor = try Self.editor(text, able)
        func item(_ label: String, _ line: Int, _ column: Int) throws -> JSONValue? {
            try editor.ask("textDocument/completion", at(line, column))["result"]?.elements
                .first { $0["label"]?.string == label }
        }
        let list = try item("then", 3, 6)
        #expect(list?["textEdit"]?["newText"]?.string == "then:\n  - ")
        #expect(list?["insertTextMode"]?.integer == 2)
        let rule = try item("a rule", 4, 4)?["textEdit"]?["newText"]?.string
        #expect(
            rule?.hasPrefix("name: ${1:name}\n  when: { type: ${2:task} }\n  then:\n    - ") == true, "\(rule ?? "")")
        var other = try Self.editor("", able)
        let whole = try other.ask("textDocument/completion", at(0, 0))["result"]?.elements
            .first { $0["label"]?.string == "a rule file" }
        #expect(whole?["textEdit"]?["newText"]?.string?.contains(#"\$exists: false"#) == true)
        var plain = try Self.editor(text)
        let absolute = try plain.ask("textDocument/completion", at(3, 6))["result"]?.elements
            .first { $0["label"]?.string == "then" }
        #expect(absolute?["textEdit"]?["newText"]?.string == "then:\n      - ")
    }

    @Test func quickFixes() throws {
        let text = Self.rules.replacing("when", with: "whn")
        let range = #""range": {"start": {"line": 3, "character": 5}, "end": {"line": 3, "character": 5}}"#
        func actions(_ capabilities: String, _ context: String) throws -> [JSONValue] {
            var editor = try Self.editor(text, capabilities)
            let result = try editor.ask(
                "textDocument/codeAction", "{\(Self.document), \(range), \"context\": \(context)}")
            return Array(try #require(result["result"]).elements)
        }
        let able = #"{"textDocument": {"codeAction": {"codeActionLiteralSupport": {}}}}"#
        let found = try actions(able, "{}")
        #expect(found.map { $0["title"]?.string } == ["Write 'when'"])
        #expect(found.first?["edit"]?["changes"]?[uri]?.element(0)?["newText"]?.string == "when")
        #expect(try actions(able, #"{"only": ["quickfix"]}"#).count == 1)
        #expect(try actions(able, #"{"only": ["refactor"]}"#).isEmpty)
        #expect(try actions("{}", "{}").isEmpty)
    }

    @Test func definitionOfAFileIsAnEscapedURI() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "lsp é-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data("x".utf8).write(to: folder.appending(path: "a b.png"))
        let escaped = try #require(folder.path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed))
        let path = "file://" + escaped + "/r%2Eyaml"
        var editor = try EditorScript.started()
        editor.open(
            path,
            "version: 1\nrules:\n  - name: a\n    when: {}\n    then:\n      - attach: { name: i, file: ./a b.png }\n")
        let published = editor.take("textDocument/publishDiagnostics").last
        #expect(published?.text.contains("does not exist") == false)
        #expect(published?["params"]?["uri"]?.string == path)
        let place = #"{"textDocument": {"uri": "\#(path)"}, "position": {"line": 5, "character": 36}}"#
        let found = try editor.ask("textDocument/definition", place)
        #expect(found["result"]?["uri"]?.string == "file://" + escaped + "/a%20b.png")
    }

    // MARK: - Tests

    @Test func lensRunsItsTest() async throws {
        var editor = try Self.editor(Self.rules + Self.tests)
        let lenses = Array(
            try #require(try editor.ask("textDocument/codeLens", "{\(Self.document)}")["result"]).elements)
        #expect(lenses.count == 2)
        #expect(lenses.first?["range"]?["start"]?["line"]?.integer == 6)
        var outcomes: [String?] = []
        for (id, lens) in lenses.enumerated() {
            let command = try #require(lens["command"])
            #expect(command["title"]?.string == "Run test")
            let outputs = editor.session.take([
                Array(
                    #"{"jsonrpc": "2.0", "id": "t\#(id)", "method": "workspace/executeCommand", "params": \#(command.text)}"#
                        .utf8)
            ])
            guard case .run(let request)? = outputs.first else {
                Issue.record("\(outputs)")
                return
            }
            let outcome = await request.outcome(now: 0)
            for output in editor.session.finish(request, outcome) { editor.perform(output) }
            #expect(try editor.answer("\"t\(id)\"")["result"]?.kind == .null)
            outcomes.append(editor.take("window/showMessage").first?["params"]?["message"]?.string)
        }
        #expect(outcomes[0] == "changebot: the test 'good' passed")
        #expect(outcomes[1]?.hasPrefix("changebot: the test 'bad' failed") == true)
        // The failure is shown at the test until the text changes.
        let published = editor.take("textDocument/publishDiagnostics").last?["params"]?["diagnostics"]
        #expect(published?.childCount == 1)
        #expect(published?.element(0)?["message"]?.string?.contains("  + a") == true)
        #expect(published?.element(0)?["range"]?["start"]?["line"]?.integer == 7)
        editor.tell(
            "textDocument/didChange",
            #"{"textDocument": {"uri": "\#(uri)", "version": 2}, "contentChanges": [{"range": {"start": {"line": 0, "character": 10}, "end": {"line": 0, "character": 10}}, "text": " "}]}"#
        )
        #expect(editor.take("textDocument/publishDiagnostics").last?["params"]?["diagnostics"]?.childCount == 0)
    }

    @Test func cancelledTestIsAnsweredOnce() async throws {
        var editor = try Self.editor(Self.rules + Self.tests)
        let outputs = editor.session.take([
            Array(
                #"{"jsonrpc": "2.0", "id": 7, "method": "workspace/executeCommand", "params": {"command": "changebot.runTest", "arguments": [{"uri": "\#(uri)", "index": 5, "name": "good"}]}}"#
                    .utf8)
        ])
        guard case .run(let request)? = outputs.first else {
            Issue.record("\(outputs)")
            return
        }
        editor.tell("$/cancelRequest", #"{"id": 7}"#)
        #expect(try editor.answer("7")["error"]?["code"]?.integer == -32800)
        // The test was found by its name.
        let outcome = await request.outcome(now: 0)
        #expect(outcome.hasPassed)
        #expect(editor.session.finish(request, outcome).isEmpty)
    }

    // MARK: - The whole server

    /// Frames that are cut at every byte give the same answers, in order.
    @Test func serverAnswersWhateverTheReadsAre() async throws {
        let script = [
            #"{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}"#,
            #"{"jsonrpc": "2.0", "method": "initialized", "params": {}}"#,
            #"{"jsonrpc": "2.0", "id": 2, "method": "🍎"}"#,
            #"{"jsonrpc": "2.0", "id": 3, "method": "shutdown"}"#,
            #"{"jsonrpc": "2.0", "method": "exit"}"#,
        ]
        let bytes = script.flatMap { MessageFrames.framed(Array($0.utf8)) }
        let whole = await Self.serve([bytes])
        #expect(whole.code == 0)
        #expect(whole.answers.map { $0["id"]?.integer } == [1, 2, 3])
        #expect(whole.answers[1]["error"]?["code"]?.integer == -32601)
        let single = await Self.serve(bytes.map { [$0] })
        #expect(single.answers.map(\.text) == whole.answers.map(\.text))
        #expect(single.code == 0)
        let bad = await Self.serve([Array("Content-Length: no\r\n\r\n".utf8) + bytes])
        #expect(bad.answers.first?["error"]?["code"]?.integer == -32700)
        #expect(bad.answers.dropFirst().map(\.text) == whole.answers.map(\.text))
        let ended = await Self.serve([Array(bytes.prefix(200))])
        #expect(ended.code == 1)
        let endless = await Self.serve([bytes, Array(repeating: 0, count: 100_000)])
        #expect(endless.code == 0)
    }

    /// Diagnostics are computed while other messages are answered; the last ones belong to the last version.
    @Test func serverPublishesTheNewestDiagnostics() async throws {
        var writer = JSONWriter()
        writer.string(Self.rules)
        let text = String(decoding: writer.bytes, as: UTF8.self)
        var script = [
            #"{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}"#,
            #"{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {"uri": "\#(uri)", "languageId": "yaml", "version": 1, "text": \#(text)}}}"#,
        ]
        for version in 2...50 {
            script.append(
                #"{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": {"uri": "\#(uri)", "version": \#(version)}, "contentChanges": [{"text": "version: 1\nrules: \#(version)\n"}]}}"#
            )
        }
        script += [#"{"jsonrpc": "2.0", "id": 2, "method": "shutdown"}"#]
        let chunks = script.map { MessageFrames.framed(Array($0.utf8)) }
        // Without exit, work that has begun is completed.
        let served = await Self.serve(chunks)
        #expect(served.code == 0)
        let versions = served.answers.filter { $0["method"]?.string == "textDocument/publishDiagnostics" }
            .compactMap { $0["params"]?["version"]?.integer }
        #expect(versions.last == 50)
        #expect(versions == versions.sorted())
    }

    private static func serve(_ chunks: [[UInt8]]) async -> (code: Int32, answers: [JSONValue]) {
        let written = Locked<[UInt8]>([])
        let server = LanguageServer(
            context: context, version: "1.0", now: { 0 },
            write: { bytes in
                written.withLock { $0 += bytes }
                return true
            })
        let left = Locked(chunks)
        let code = await server.run { left.withLock { $0.isEmpty ? [] : $0.removeFirst() } }
        var frames = MessageFrames()
        frames.add(written.withLock { $0 })
        var answers: [JSONValue] = []
        while case .message(let bytes)? = frames.next() {
            if let text = try? JSONText(bytes) { answers.append(text.root) }
        }
        return (code, answers)
    }
}
