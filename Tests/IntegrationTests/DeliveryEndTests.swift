import BotState
import Bots
import Delivery
import DocumentFlow
import Foundation
import GatewayClient
import Locking
import LosslessJSON
import Rules
import TestKit
import Testing

/// Whatever a gateway answers, each change is finished, with the right outcome.
@Suite(.limitedParallelism) struct DeliveryEndTests {
    private static func keys(_ request: TestRequest) -> [String] {
        (try? JSONText(request.body).root["keys"]?.elements.compactMap(\.string)) ?? []
    }

    /// An answer of `_all_docs`. The documents for which `found` returns a revision and members exist; all others are
    /// missing.
    private static func documents(
        _ request: TestRequest, _ found: (String) -> (revision: String, members: String)?
    ) -> ScriptedServer.Answer {
        let rows = keys(request).map { key in
            guard let document = found(key) else { return #"{"key":"\#(key)","error":"not_found"}"# }
            let body = #"{"_id":"\#(key)","_rev":"\#(document.revision)"\#(document.members)}"#
            return #"{"key":"\#(key)","id":"\#(key)","value":{"rev":"\#(document.revision)"},"doc":\#(body)}"#
        }
        return .init(body: #"{"rows":[\#(rows.joined(separator: ","))]}"#)
    }

    /// The id of the only document of a bulk write.
    private static func task(in request: TestRequest) -> String? {
        (try? JSONText(request.body))?.root["docs"]?.elements.map { $0["task"]?.string }.first ?? nil
    }

    private static let putLast = """
        [{"merge":{"done":true}},{"put":{"id":"last","document":{"task":{"jq":"._id"}},"if_exists":"merge"}}]
        """

    /// Regression: after a refusal, the writes were sent one by one. Each undid the previous one, which was then
    /// written again.
    @Test func putsOfOneDocumentWrittenOneByOneEnd() async throws {
        try await withDirectory { directory in
            let last = Locked<(number: Int, task: String)>((0, ""))
            let server = try ScriptedServer { request, _ in
                switch request.path {
                case "/todo/_changes": return ScriptedServer.feed((1...3).map(ScriptedServer.row), last: 3)
                case "/todo/_all_docs":
                    return Self.documents(request) { key in
                        guard key == "last" else { return ("1-a", #","type":"task""#) }
                        let (number, task) = last.withLock { $0 }
                        return number < 2 ? nil : ("\(number)-x", #","task":"\#(task)""#)
                    }
                default:
                    guard ScriptedServer.ids(in: request) == ["last"],
                        let task = Self.task(in: request)
                    else { return ScriptedServer.written(request) }
                    let number = last.withLock { last in
                        last.number += 1
                        if last.number > 1, task != "t2" { last.task = task }
                        return last.number
                    }
                    // Accepts the first write, of all three documents, and the write of `t2` alone.
                    guard number > 1, task != "t2" else {
                        return .init(
                            status: 201, body: #"[{"id":"last","error":"forbidden","reason":"no","status":403}]"#)
                    }
                    return .init(status: 201, body: #"[{"id":"last","rev":"\#(number)-x"}]"#)
                }
            }
            let (counters, deadLetters) = try await server.runOnce(directory, then: Self.putLast)
            #expect(deadLetters.map(\.id) == ["t2"])
            #expect(counters.written == 4)
            let written = server.requests("/todo/_bulk_docs").filter { ScriptedServer.ids(in: $0) == ["last"] }
                .map { Self.task(in: $0) }
            #expect(written == ["t3", "t1", "t2", "t3"])
        }
    }

    /// Regression: a document that was always refused as a conflict, without another writer, blocked its trigger
    /// forever.
    @Test func putThatAlwaysConflictsEnds() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, _ in
                switch request.path {
                case "/todo/_changes": return ScriptedServer.feed([ScriptedServer.row(1)], last: 1)
                case "/todo/_all_docs":
                    return Self.documents(request) { $0 == "last" ? nil : ("1-a", #","type":"task""#) }
                default:
                    return .init(
                        status: 201, body: #"[{"id":"last","error":"conflict","reason":"exists","status":409}]"#)
                }
            }
            let (counters, deadLetters) = try await server.runOnce(directory, then: Self.putLast)
            #expect(deadLetters.map(\.id) == ["t1"])
            #expect(deadLetters.first?.reason.contains("document 'last', put by rule") == true)
            #expect(counters.written == 0)
        }
    }

    /// Regression: if a document changed faster than it was decided, the documents that it leads to were never written.
    @Test func constantlyChangingDocumentIsNotStarved() async throws {
        try await withDirectory { directory in
            let edits = Locked(1)
            let server = try ScriptedServer { request, _ in
                switch request.path {
                case "/todo/_changes": return ScriptedServer.feed([ScriptedServer.row(1)], last: 1)
                case "/todo/_all_docs":
                    return Self.documents(request) { key in
                        guard key != "last" else { return nil }
                        let edit = edits.withLock { edit in
                            edit += 1
                            return edit
                        }
                        return ("\(edit)-a", #","type":"task""#)
                    }
                default: return ScriptedServer.written(request)
                }
            }
            let (counters, deadLetters) = try await server.runOnce(
                directory, then: #"[{"put":{"id":"last","document":{"task":{"jq":"._id"}},"if_exists":"merge"}}]"#)
            #expect(deadLetters.isEmpty)
            #expect(counters.written == 1)
        }
    }

    /// If the net effect of two documents on a third one is nothing, no revision is written.
    @Test func existingResultIsNotWrittenAgain() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: latest
                    when: { type: task }
                    then: [{ put: { id: shared, document: { of: { jq: ._id } }, if_exists: replace } }]
                """)
            try await bed.load([
                ("t1", #"{"_id":"t1","type":"task"}"#), ("t2", #"{"_id":"t2","type":"task"}"#),
            ])
            #expect(try await bed.fix(rules).written == 1)
            #expect(try await bed.stored("shared")?.root["of"]?.string == "t2")
            let again = try await bed.fix(rules)
            #expect(again.written == 0 && again.deadLetters == 0)
        }
    }

    /// All effects of a batch on one document are one write, in a dry run too.
    @Test(
        .enabled(
            if: try RealServer.fromEnvironment() == nil, "batches are cut as the answers of a server far away come in"))
    func dryRunCountsOneWriteForAllPutsOfABatch() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: stamp
                    when: { type: task, seen: { $exists: false } }
                    then: [{ merge: { seen: true } }]
                  - name: link
                    when: { type: list }
                    then: [{ put: { id: { jq: .task }, document: { inList: { jq: ._id } }, if_exists: merge } }]
                  - name: last
                    when: { type: task }
                    then: [{ put: { id: last, document: { task: { jq: ._id } }, if_exists: merge } }]
                """)
            let tasks = (0..<50).map { (DocumentID("t\($0)"), #"{"_id":"t\#($0)","type":"task"}"#) }
            // Gateways list its task before it, in the same batch.
            try await bed.load(tasks + [("u", #"{"_id":"u","type":"list","task":"t7"}"#)])
            let dry = try await bed.fix(rules, state: "dry") {
                $0.preview = Preview { _ in }
                $0.capacity.writers = 1
            }
            let done = try await bed.fix(rules) { $0.capacity.writers = 1 }
            #expect(dry.preview.written == done.written, "\(dry.preview.written) \(done.written)")
        }
    }

    /// A filtered pass resolves only the documents and rules that it applies.
    @Test(arguments: [true, false]) func filteredPassKeepsOtherDeadLetters(isByRule: Bool) async throws {
        try await BotTestBed.with { bed in
            let all = """
                version: 1
                rules:
                  - name: bad
                    when: { type: task }
                    then: [{ patch: [{ op: copy, from: /list, path: /was }] }]
                  - name: good
                    when: { type: list, done: { $exists: false } }
                    then: [{ merge: { done: true } }]
                """
            let rules = try bed.rules(all)
            try await bed.load([
                ("t1", #"{"_id":"t1","type":"task"}"#), ("l1", #"{"_id":"l1","type":"list"}"#),
            ])
            #expect(try await bed.fix(rules).deadLetters == 1)
            let files = try RuleFileSet.load(paths: [bed.directory + "/rules.yaml"])
            let narrowed =
                isByRule
                ? try files.ruleSet(only: ["good"])
                : try files.ruleSet(filter: DocumentFilter(#"{"type":"list"}"#, name: "--selector"))
            #expect(try await bed.fix(narrowed).deadLetters == 0)
            let ledger = try bed.ledger(rules, state: "fix")
            defer { ledger.close() }
            #expect(try ledger.deadLetters().map(\.rule) == ["bad"])
        }
    }

    /// If lists are forbidden, each document, and each document that it leads to, is read alone.
    @Test func documentsAreReadSinglyWithoutPermissionToList() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, number in
                switch request.path {
                case "/todo/_changes": return ScriptedServer.feed([ScriptedServer.row(1)], last: 1)
                case "/todo/_all_docs":
                    return .init(status: 403, body: #"{"error":"Forbidden","reason":"public all docs is off"}"#)
                case "/todo/t1":
                    return .init(body: #"{"_id":"t1","_rev":"2-b","type":"task","n":1}"#)
                case "/todo/last":
                    return .init(status: 404, body: #"{"error":"not_found","reason":"missing"}"#)
                default:
                    let ids = ScriptedServer.ids(in: request)
                    let isOld = String(decoding: request.body, as: UTF8.self).contains(#""_rev":"1-a""#)
                    guard ids == ["t1"], isOld else { return ScriptedServer.written(request) }
                    return .init(
                        status: 201, body: #"[{"id":"t1","error":"conflict","reason":"other","status":409}]"#)
                }
            }
            let (counters, deadLetters) = try await server.runOnce(directory, then: Self.putLast)
            #expect(deadLetters.isEmpty, "\(deadLetters.map(\.reason))")
            #expect(counters.written == 2)
        }
    }

    /// A firewall that blocks everything except a request without documents must not dead-letter every document.
    @Test func firewallThatBlocksAllDocumentsEndsTheRun() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, _ in
                guard request.path != "/todo/_changes" else {
                    return ScriptedServer.feed((1...90).map(ScriptedServer.row), last: 90)
                }
                guard !ScriptedServer.ids(in: request).isEmpty else { return .init(status: 201, body: "[]") }
                return .init(status: 403, body: #"{"error":"forbidden","reason":"blocked by policy"}"#)
            }
            let failure = await #expect(throws: RunError.self) {
                _ = try await server.runOnce(directory, retryFor: .milliseconds(200))
            }
            #expect(failure?.code == .gaveUp)
        }
    }

    /// Regression: nginx answers 502 or 504 if the gateway crashed over one document, and the rest of the batch was
    /// never written.
    @Test(.limitedParallelism(isLong: true), arguments: [502, 503, 504])
    func documentThatAProxyRejectsDelaysNoOther(status: Int) async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, _ in
                guard request.path != "/todo/_changes" else {
                    return ScriptedServer.feed((1...8).map(ScriptedServer.row), last: 8)
                }
                let ids = ScriptedServer.ids(in: request)
                guard ids.contains("t5") else {
                    return ids.isEmpty ? .init(status: 201, body: "[]") : ScriptedServer.written(request)
                }
                return .init(status: status, headers: ["Content-Type: text/html"], body: "<h1>Bad Gateway</h1>")
            }
            let (counters, deadLetters) = try await server.runOnce(directory, retryFor: .seconds(15))
            #expect(counters.written == 7)
            #expect(deadLetters.map(\.id) == ["t5"])
        }
    }

    /// A user toggles a document repeatedly. That is no loop: the last state counts.
    @Test func documentToggledRepeatedlyKeepsItsDerivedValue() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: total
                    when: { type: cart }
                    then: [{ merge: { total: { jq: ".lines | add" } } }]
                """)
            for turn in 0..<12 {
                let stored = try await bed.stored("cart")
                let revision = stored?.root["_rev"]?.string.map { #""_rev":"\#($0)","# } ?? ""
                let total = stored?.root["total"]?.integer.map { #","total":\#($0)"# } ?? ""
                let lines = turn.isMultiple(of: 2) ? "[1]" : "[1,2]"
                try await bed.load([("cart", #"{"_id":"cart",\#(revision)"type":"cart","lines":\#(lines)\#(total)}"#)]
                )
                let counters = try await bed.runOnce(rules) { $0.effectLimits?.sameContent = 4 }
                #expect(counters.deadLetters == 0 && counters.written == 1)
            }
        }
    }

    /// Regression: after a `put`, a dry run counted neither the dead letters of skipped rules nor the rules that had
    /// nothing to do.
    @Test func dryRunCountsDeadLettersAndRulesAsTheRunDoes() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: sum
                    when: { type: t }
                    then: [{ put: { id: { jq: '"sum." + .list' }, document: { x: 1 }, if_exists: merge } }]
                  - name: skipper
                    when: { type: t, amount: { $exists: true } }
                    on_error: skip
                    then: [{ merge: { double: { jq: '(.amount | tonumber) * 2' } } }]
                """)
            try await bed.load([
                ("t1", #"{"_id":"t1","type":"t","list":"l1","amount":"abc"}"#),
                ("t2", #"{"_id":"t2","type":"t","list":"l1"}"#),
            ])
            for pass in 1...2 {
                let dry = try await bed.fix(rules, state: "dry") { $0.preview = Preview { _ in } }
                let done = try await bed.fix(rules, state: "fix\(pass)")
                #expect(dry.deadLetters == 1 && done.deadLetters == 1)
                #expect(dry.preview.written == done.written)
                #expect(dry.matched == done.matched && dry.rules == done.rules && dry.unchanged == done.unchanged)
            }
        }
    }
}
