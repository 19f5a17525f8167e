import Bots
import DocumentFlow
import EmbeddedGateway
import Foundation
import GatewayClient
import Locking
import LosslessJSON
import Revisions
import TestKit
import Testing
import Transfer

/// Gateways that refuse some documents, each in its own way.
@Suite(.limitedParallelism) struct ImportRefusalTests {
    private static let lines = (0..<9).map { #"{"_id":"d\#($0)","n":\#($0).0}"# }

    private func load(
        _ server: ScriptedServer, lines: [String] = Self.lines, configure: (inout ImportSettings) -> Void = { _ in },
        _ body: (BotTestBed, ImportReport.State) throws -> Void
    ) async throws {
        try await withDirectory { directory in
            let bed = BotTestBed(
                url: try GatewayURL(server.server.url("/todo")), settings: GatewaySettings(), directory: directory)
            let state = try await bed.load(lines: lines, configure: configure)
            try body(bed, state)
            await bed.phone.shutdown()
        }
    }

    private func expectOnlyD4Rejected(_ bed: BotTestBed, _ state: ImportReport.State, _ reason: String) throws {
        #expect(state.counts == ImportCounts(inserted: 8, rejected: 1))
        #expect(try bed.lines("rejects.ndjson") == [Self.lines[4]])
        let rejection = try #require(try bed.rejections().first)
        #expect(rejection.line == 5 && rejection.id == "d4")
        #expect(rejection.reason.contains(reason), "\(rejection.reason)")
    }

    private static func row(_ id: String) -> String { #"{"id":"\#(id)","rev":"1-a"}"# }

    private static let rowsOfErrors = [
        #"{"id":"d4","error":"forbidden","reason":"no such thing"}"#,
        #"{"id":"d4","status":403,"error":"forbidden","reason":"no such thing"}"#,
        #"{"id":"d4","status":400,"error":"Bad Request","reason":"no such thing"}"#,
    ]

    @Test(arguments: rowsOfErrors) func refusingRowRejectsOnlyItsDocument(row: String) async throws {
        let server = try ScriptedServer { request, _ in
            guard request.path == "/todo/_bulk_docs" else { return nil }
            let rows = ScriptedServer.ids(in: request).map { $0 == "d4" ? row : Self.row($0) }
            return .init(status: 201, body: "[\(rows.joined(separator: ","))]")
        }
        try await load(server) { try expectOnlyD4Rejected($0, $1, "no such thing") }
        #expect(server.requests("/todo/_bulk_docs").count == 1)
    }

    /// A node of a cluster reports the last sequence that it assigned itself. A node that is behind has not been reset.
    /// Neither has a gateway that no longer answers: the import is complete.
    @Test(arguments: [#"{"key":"KEY","id":"KEY","value":{"rev":"1-a"}}"#, #"{"key":"KEY","error":"forbidden"}"#, nil])
    func laggingNodeIsNotTakenForAReset(row: String?) async throws {
        let server = try Self.nodeThatIsBehind(row)
        try await load(server) { #expect($1.counts == ImportCounts(inserted: 9)) }
    }

    /// Regression: an import that was killed during the last request would have repeated everything.
    @Test func progressIsSavedBeforeTheLastRequest() async throws {
        let (path, saved) = (Locked(""), Locked<[Int?]>([]))
        let server = try ScriptedServer(information: #"{"db_name":"todo","update_seq":1000,"state":"Online"}"#) {
            request, _ in
            if request.path == "/todo/_bulk_docs" { return ScriptedServer.written(request) }
            guard request.path == "/todo/_all_docs" else { return nil }
            let bytes = FileManager.default.contents(atPath: path.withLock { $0 }) ?? Data()
            saved.withLock { $0.append((try? JSONText(Array(bytes)))?.root["items"]?.integer) }
            return .init(body: #"{"rows":[{"key":"d0","id":"d0","value":{"rev":"1-a"}}]}"#)
        }
        try await load(server) { settings in
            settings.saveInterval = .seconds(3600)
            path.withLock { $0 = settings.progressPath ?? "" }
        } _: { _, state in
            #expect(state.counts == ImportCounts(inserted: 9))
        }
        #expect(saved.withLock { $0 } == [9])
    }

    /// The same when an interrupted import is resumed.
    @Test(arguments: [false, true])
    func interruptedImportContinuesWithALaggingNode(isReset: Bool) async throws {
        let ended = try ScriptedServer { request, number in
            request.path == "/todo/_bulk_docs" && number == 0 ? ScriptedServer.written(request) : nil
        }
        try await withDirectory { directory in
            @Sendable func configure(_ settings: inout ImportSettings) {
                settings.batchDocuments = 3
                settings.retries.retryFor = .milliseconds(200)
                settings.isResuming = true
            }
            let first = BotTestBed(
                url: try GatewayURL(ended.server.url("/todo")), settings: GatewaySettings(), directory: directory)
            await #expect(throws: RunError.self) { try await first.load(lines: Self.lines, configure: configure) }
            await first.phone.shutdown()
            let node = try Self.nodeThatIsBehind(
                #"{"key":"KEY","id":"KEY","value":{"rev":"1-a"}}"#, newest: 990, hasLaterChanges: !isReset)
            let bed = BotTestBed(
                url: try GatewayURL(node.server.url("/todo")), settings: GatewaySettings(), directory: directory)
            // The same gateway, at another port of this machine.
            let progress = bed.path("in.ndjson.import-progress")
            let text = try String(contentsOfFile: progress, encoding: .utf8)
                .replacingOccurrences(of: first.url.description, with: bed.url.description)
            try Data(text.utf8).write(to: URL(fileURLWithPath: progress))
            do {
                let state = try await bed.load(file: "in.ndjson", configure: configure)
                #expect(!isReset && state.counts == ImportCounts(inserted: 9))
            } catch {
                #expect(isReset && (error as? TransferError)?.code == .foreign, "\(error)")
            }
            await bed.phone.shutdown()
        }
    }

    @Test func missingDocumentsAreAReset() async throws {
        let server = try Self.nodeThatIsBehind(#"{"key":"KEY","error":"not_found"}"#)
        let failure = await #expect(throws: TransferError.self) { try await load(server) { _, _ in } }
        #expect(failure?.code == .foreign)
    }

    private static func nodeThatIsBehind(
        _ row: String?, newest: Int = 1000, hasLaterChanges: Bool = false
    ) throws -> ScriptedServer {
        try ScriptedServer(information: #"{"db_name":"todo","update_seq":\#(newest),"state":"Online"}"#) { request, _ in
            if request.path == "/todo/_bulk_docs" { return ScriptedServer.written(request) }
            if request.path == "/todo/_changes" {
                let row = #"{"seq":900000,"id":"d0","changes":[{"rev":"1-a"}]}"#
                return ScriptedServer.feed(hasLaterChanges ? [row] : [], last: 900_000)
            }
            guard let row, request.path == "/todo/_all_docs" else { return nil }
            let rows = (0..<9).map { row.replacingOccurrences(of: "KEY", with: "d\($0)") }
            return .init(body: #"{"rows":[\#(rows.joined(separator: ","))]}"#)
        }
    }

    /// CouchDB refuses the whole request because of one document.
    @Test func refusedRequestIsHalvedUntilTheDocumentIsFound() async throws {
        let server = try ScriptedServer { request, _ in
            guard request.path == "/todo/_bulk_docs" else { return nil }
            guard !ScriptedServer.ids(in: request).contains("d4") else {
                return .init(status: 400, body: #"{"error":"doc_validation","reason":"Bad special document member"}"#)
            }
            return ScriptedServer.written(request)
        }
        try await load(server) { try expectOnlyD4Rejected($0, $1, "Bad special document member") }
    }

    /// A gateway that refuses each streamed document with this status.
    ///
    /// - Parameter writes: The status of a write without documents.
    private static func refusingStreams(status: Int, writes: Int) throws -> ScriptedServer {
        try ScriptedServer { request, _ in
            switch request.path {
            case "/todo/_bulk_docs" where writes == 201: .init(status: 201, body: "[]")
            case "/todo/_bulk_docs": .init(status: writes, body: #"{"error":"forbidden","reason":"read-only"}"#)
            case "/todo/_all_docs":
                .init(body: #"{"rows":[\#(missing(request).joined(separator: ","))]}"#)
            default: .init(status: status, body: #"{"error":"forbidden","reason":"missing channel"}"#)
            }
        }
    }

    /// Rows of `_all_docs` for missing documents.
    private static func missing(_ request: TestRequest) -> [String] {
        let keys = (try? JSONText(request.body))?.root["keys"]?.elements.compactMap(\.string) ?? []
        return keys.map { #"{"key":"\#($0)","error":"not_found"}"# }
    }

    private static func streamed(_ count: Int) -> [String] {
        (0..<count).map { #"{"_id":"d\#($0)","_attachments":{"x":{"content_type":"image/png","data":"aGVsbG8="}}}"# }
    }

    /// More than the number of consecutive refusals after which a firewall is suspected.
    @Test(arguments: [401, 403, 404]) func anyNumberOfStreamedDocumentsMayBeRefused(status: Int) async throws {
        let server = try Self.refusingStreams(status: status, writes: 201)
        try await load(server, lines: Self.streamed(25)) { settings in
            settings.streamingThreshold = 0
            settings.batchDocuments = 9
        } _: { bed, state in
            #expect(state.counts == ImportCounts(rejected: 25))
            let rejections = try bed.rejections()
            #expect(rejections.allSatisfy { $0.reason.contains("missing channel") }, "\(rejections)")
        }
    }

    /// Regression: because the database was readable, each document was rejected, and the import went on to the end.
    @Test(arguments: [401, 403]) func readOnlyAccountEndsTheImportOfStreamedDocuments(status: Int) async throws {
        let server = try Self.refusingStreams(status: status, writes: status)
        let failure = await #expect(throws: RunError.self) {
            try await load(server, lines: Self.streamed(3)) {
                $0.streamingThreshold = 0
                $0.retries.retryFor = .milliseconds(200)
            } _: { _, _ in
            }
        }
        #expect(failure?.code == (status == 401 ? .notAllowed : .gaveUp))
    }

    /// CouchDB fails on a content type of null.
    @Test func attachmentWithoutATypeIsSentWithoutOne() async throws {
        let server = try ScriptedServer { request, _ in
            request.path == "/todo/_bulk_docs" ? ScriptedServer.written(request) : nil
        }
        try await load(server, lines: [#"{"_id":"a","_attachments":{"x":{"data":"aGVsbG8="}}}"#]) { _, state in
            #expect(state.counts == ImportCounts(inserted: 1))
        }
        let sent = try #require(server.requests("/todo/_bulk_docs").first).body
        let documents = #"{"docs":[{"_id":"a","_attachments":{"x":{"data":"aGVsbG8="}}}]}"#
        #expect(String(decoding: sent, as: UTF8.self) == documents)
    }

    private static let couchDB = ["Content-Type: application/json", "Server: CouchDB/3.5.0 (Erlang OTP/25)"]

    /// A CouchDB with a document that has a text attachment of five bytes.
    private func textServer(
        name: String = "x", _ text: ScriptedServer.Answer
    ) throws -> ScriptedServer {
        let there =
            #"{"_id":"a","_rev":"1-a","_attachments":{"\#(name)":{"content_type":"text/plain","revpos":1,"#
            + #""digest":"md5-AAAAAAAAAAAAAAAAAAAAAA==","length":5,"stub":true}}}"#
        let row = #"{"id":"a","key":"a","value":{"rev":"1-a"},"doc":\#(there)}"#
        return try ScriptedServer(headers: Self.couchDB) { request, _ in
            switch request.path {
            case "/todo/_all_docs": .init(headers: Self.couchDB, body: #"{"rows":[\#(row)]}"#)
            case "/todo/_bulk_docs" where String(decoding: request.body, as: UTF8.self).contains("1-a"):
                ScriptedServer.written(request)
            case "/todo/_bulk_docs":
                .init(status: 201, headers: Self.couchDB, body: #"[{"id":"a","error":"conflict","reason":"."}]"#)
            default: text
            }
        }
    }

    private func load(_ server: ScriptedServer, text name: String, _ counts: ImportCounts) async throws {
        let lines = [#"{"_id":"a","_attachments":{"\#(name)":{"content_type":"text/plain","data":"aGVsbG8="}}}"#]
        try await load(server, lines: lines) { settings in
            settings.mode = .upsert
            settings.retries.retryFor = .milliseconds(200)
        } _: { _, state in
            #expect(state.counts == counts)
        }
    }

    /// CouchDB's digest of compressed text decides nothing, so the text is read and compared.
    @Test(arguments: ["hallo", "hello"]) func textOfTheSameLengthIsCompared(answer: String) async throws {
        let server = try textServer(.init(headers: ["Content-Type: text/plain", Self.couchDB[1]], body: answer))
        try await load(server, text: "x", answer == "hello" ? ImportCounts(unchanged: 1) : ImportCounts(changed: 1))
    }

    /// Regression: it ended the whole import.
    @Test(arguments: [302, 400, 403, 404, 406, 410, 418, 451, 500, 501, 503])
    func incomparableTextIsWrittenAgain(status: Int) async throws {
        let server = try textServer(.init(status: status, headers: Self.couchDB, body: #"{"error":"no"}"#))
        try await load(server, text: "x", ImportCounts(changed: 1))
    }

    @Test func textWithANameThatNoURLCanHoldIsWrittenAgain() async throws {
        let name = #"a\u0000b"#
        let server = try textServer(name: name, .init(status: 404, headers: Self.couchDB, body: "{}"))
        try await load(server, text: name, ImportCounts(changed: 1))
    }

    @Test(arguments: [1, 3]) func oversizedImportRequestIsHalvedUntilItPasses(largest: Int) async throws {
        let server = try ScriptedServer { request, _ in
            guard request.path == "/todo/_bulk_docs" else { return nil }
            let ids = ScriptedServer.ids(in: request)
            guard ids.count <= largest, ids != ["d4"] || largest > 1 else {
                return .init(status: 413, body: #"{"error":"Request Entity Too Large","reason":"too large"}"#)
            }
            return ScriptedServer.written(request)
        }
        try await load(server) { bed, state in
            guard largest == 1 else {
                #expect(state.counts == ImportCounts(inserted: 9))
                return
            }
            try expectOnlyD4Rejected(bed, state, "413")
        }
        let written = server.requests("/todo/_bulk_docs").filter { ScriptedServer.ids(in: $0).count <= largest }
        #expect(Set(written.flatMap { ScriptedServer.ids(in: $0) }).count == 9)
    }

    /// The bytes are those of the file: nothing was decoded and encoded again.
    @Test func documentsAreSentUnchanged() async throws {
        let server = try ScriptedServer { request, _ in
            request.path == "/todo/_bulk_docs" ? ScriptedServer.written(request) : nil
        }
        try await load(server) { #expect($1.counts == ImportCounts(inserted: 9)) }
        #expect(
            server.requests("/todo/_bulk_docs").map(\.text) == [#"{"docs":[\#(Self.lines.joined(separator: ",\n"))]}"#])
    }

    @Test func batchesAreLimitedByDocumentsAndBytes() async throws {
        for (documents, bytes, counts) in [
            (4, 1 << 20, [1, 4, 4]), (500, 50, [1, 2, 2, 2, 2]), (500, 1, [Int](repeating: 1, count: 9)),
        ] {
            let server = try ScriptedServer { request, _ in
                request.path == "/todo/_bulk_docs" ? ScriptedServer.written(request) : nil
            }
            try await load(server) { settings in
                settings.batchDocuments = documents
                settings.batchBytes = bytes
            } _: {
                #expect($1.counts == ImportCounts(inserted: 9))
            }
            let found = server.requests("/todo/_bulk_docs").map { ScriptedServer.ids(in: $0).count }
            #expect(found.sorted() == counts)
        }
    }

    @Test func documentRefusedByTheGatewaysRulesIsRejected() async throws {
        try await BotTestBed.withTrouble { bed, embedded in
            try embedded.injectFaults(
                #"{"refuse_documents":{"share":0.2,"status":[403,400],"reason":"not here"},"on":"_bulk_docs"}"#)
            let lines = (0..<400).map { #"{"_id":"d\#($0)","_attachments":{"x":{"data":"eA=="}}}"# }
            let state = try await bed.load(lines: lines) { $0.batchDocuments = 30 }
            let counts = state.counts
            #expect(counts.rejected > 20 && counts.inserted + counts.rejected == 400)
            let rejected = try bed.lines("rejects.ndjson")
            #expect(rejected.count == counts.rejected)
            #expect(try bed.rejections().allSatisfy { $0.reason.contains("not here") })
            embedded.stopFaults()
            let again = try await bed.load(lines: rejected)
            #expect(again.counts == ImportCounts(inserted: rejected.count))
            #expect(try await bed.contents().count == 400)
        }
    }

    @Test func readOnlyUserIsRefusedAtOnce() async throws {
        try await BotTestBed.withTrouble(user: ("amy", "secret")) { bed, _ in
            var stranger = bed
            stranger.settings.credentials = .basic(user: "amy", password: "wrong")
            let failure = await #expect(throws: RunError.self) { try await stranger.load(lines: Self.lines) }
            #expect(failure?.code == .notAllowed)
            let state = try await bed.load(lines: Self.lines)
            #expect(state.counts == ImportCounts(inserted: 9))
        }
    }
}
