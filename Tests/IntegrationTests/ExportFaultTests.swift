import Bots
import DocumentFlow
import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing
import Transfer

/// Gateways that cut connections, refuse requests, change documents during the export, or send invalid documents.
@Suite(.limitedParallelism) struct ExportFaultTests {
    private func export(
        _ server: ScriptedServer, _ path: String, configure: (inout ExportSettings) -> Void = { _ in }
    ) async throws -> ExportReport {
        var settings = ExportSettings()
        configure(&settings)
        let report = ExportReport()
        let exporter = Exporter(
            gateway: Gateway(try GatewayURL(server.server.url("/todo"))), settings: settings,
            place: ExportPlace(path), report: report, logger: BotTestBed.logger)
        try await exporter.run()
        return report
    }

    private func lines(_ path: String) throws -> [String] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
    }

    private static func row(_ id: String, _ document: String, revision: String = "1-a") -> String {
        #"{"key":"\#(id)","id":"\#(id)","value":{"rev":"\#(revision)"},"doc":\#(document)}"#
    }

    private static func page(_ rows: [String]) -> ScriptedServer.Answer {
        .init(body: "{\"rows\":[\n" + rows.joined(separator: ",\n") + "\n]}\n")
    }

    @Test func invalidJSONIsReportedAndTheRestIsExported() async throws {
        try await withDirectory { directory in
            let rows = [
                Self.row("a", #"{"_id":"a"}"#), Self.row("b", #"{"_id":"b","x":01}"#),
                #"{"key":"c","id":"c","value":{"rev":"1-c"},"error":"kaputt"}"#, Self.row("d", #"{"_id":"d"}"#),
            ]
            let server = try ScriptedServer { request, number in
                request.path == "/todo/_all_docs" ? Self.page(number == 0 ? rows : []) : nil
            }
            let report = try await export(server, directory + "/o")
            #expect(try lines(directory + "/o") == [#"{"_id":"a"}"#, #"{"_id":"d"}"#])
            #expect(report.state.counters.deadLetters == 2)
            #expect(try ExportManifest.read(directory + "/o.manifest.json").counts.unreadable == 2)
            let failure = await #expect(throws: RunError.self) {
                _ = try await export(
                    try ScriptedServer { _, number in Self.page(number == 0 ? rows : []) }, directory + "/p"
                ) { $0.errorLimit = .count(1) }
            }
            #expect(failure?.code == .tooManyErrors)
        }
    }

    @Test func interruptedAnswerContinuesAfterTheLastDocument() async throws {
        try await withDirectory { directory in
            let documents = (0..<9).map { Self.row("d\($0)", #"{"_id":"d\#($0)"}"#) }
            let server = try ScriptedServer { request, number in
                guard request.path == "/todo/_all_docs" else { return nil }
                guard number > 0 else {
                    var answer = Self.page(documents)
                    answer.cutAfter = 300
                    return answer
                }
                let start = documents.firstIndex { row in
                    guard let id = try? JSONText(row).root["id"]?.string else { return false }
                    return request.target.contains("startkey=%22\(id)%22")
                }
                return Self.page(Array(documents[(start ?? documents.count)...]))
            }
            let report = try await export(server, directory + "/o")
            #expect(try lines(directory + "/o") == (0..<9).map { #"{"_id":"d\#($0)"}"# })
            #expect(report.state.counters.traffic.retries == 1)
        }
    }

    /// A document that changes between two answers is listed twice. One that is deleted during the export is listed,
    /// then missing.
    @Test(arguments: [OutputFormat.ndjson, .json])
    func feedReplacesTheDocumentListIfThatIsRefused(format: OutputFormat) async throws {
        try await withDirectory { directory in
            func row(_ sequence: Int, _ id: String, _ rest: String) -> String {
                #"{"seq":\#(sequence),"id":"\#(id)","doc":{"_id":"\#(id)",\#(rest)},"changes":[{"rev":"1-a"}]}"#
            }
            let first = [row(1, "a", #""v":1"#), row(2, "b", #""v":1"#), row(3, "c", #""v":1"#)]
            let gone =
                #"{"seq":1002,"id":"b","deleted":true,"doc":{"_id":"b","_deleted":true},"changes":[{"rev":"2-b"}]}"#
            let second = [row(1001, "a", #""v":2"#), gone, row(1003, "c", #""v":2"#)]
            let server = try ScriptedServer { request, _ in
                if request.path == "/todo/_all_docs" {
                    return .init(status: 403, body: #"{"error":"Forbidden","reason":"no"}"#)
                }
                guard request.path == "/todo/_changes" else { return nil }
                guard request.target.contains("since=0&") else { return ScriptedServer.feed(second, last: 1003) }
                var answer = ScriptedServer.feed(first, last: 1000)
                answer.cutAfter = answer.body.utf8.count - 80
                return answer
            }
            _ = try await export(server, directory + "/o") { $0.format = format }
            let text = try String(contentsOfFile: directory + "/o", encoding: .utf8)
            let documents =
                format == .json
                ? try JSONText(text).root.elements.map { String(decoding: $0.bytes, as: UTF8.self) }
                : text.split(separator: "\n").map(String.init)
            let manifest = try ExportManifest.read(directory + "/o.manifest.json")
            #expect(manifest.source == .feed)
            #expect(manifest.counts.lines == 2)
            #expect(documents == [#"{"_id":"a","v":2}"#, #"{"_id":"c","v":2}"#])
            var findings: [VerificationFinding] = []
            try await ExportVerifier(ExportFile(directory + "/o")).verify { findings.append($0) }
            #expect(findings.isEmpty)
        }
    }

    @Test func changedAttachmentCausesASecondRead() async throws {
        try await withDirectory { directory in
            @Sendable func document(_ revision: String, _ digest: String) -> String {
                #"{"_id":"a","_rev":"\#(revision)","_attachments":{"p":{"content_type":"image/png","digest":"\#(digest)","length":3,"stub":true}}}"#
            }
            // The digest of "new".
            let digest = "sha1-wqawPxkN+ytKqR+K+NR3qbw0Adw="
            let server = try ScriptedServer { request, number in
                switch (request.method, request.path) {
                case ("GET", "/todo/_all_docs"):
                    return Self.page(number == 0 ? [Self.row("a", document("1-a", "sha1-AAAA"))] : [])
                case ("POST", "/todo/_all_docs"):
                    return Self.page([Self.row("a", document("2-b", digest), revision: "2-b")])
                case (_, "/todo/a/p") where request.target.contains("rev=2-b"): return .init(body: "new")
                case (_, "/todo/a/p"):
                    return .init(status: 404, body: #"{"error":"not_found","reason":"missing"}"#)
                default: return nil
                }
            }
            let report = try await export(server, directory + "/o") { $0.attachments = .inline }
            #expect(report.state.counters.deadLetters == 0)
            let root = try JSONText(try #require(try lines(directory + "/o").first)).root
            #expect(root["_rev"]?.string == "2-b")
            #expect(root["_attachments"]?["p"]?["data"]?.string == "bmV3")
        }
    }

    @Test func missingAttachmentKeepsItsStubAndIsReported() async throws {
        try await withDirectory { directory in
            let document =
                #"{"_id":"a","_rev":"1-a","_attachments":{"p":{"digest":"sha1-AAAA","length":3,"stub":true}}}"#
            let server = try ScriptedServer { request, number in
                guard request.path == "/todo/_all_docs" else {
                    return request.path == "/todo/"
                        ? nil : .init(status: 404, body: #"{"error":"not_found","reason":"missing"}"#)
                }
                return Self.page(number == 0 || request.method == "POST" ? [Self.row("a", document)] : [])
            }
            let report = try await export(server, directory + "/o") {
                $0.attachments = .folder(directory + "/files")
            }
            #expect(try lines(directory + "/o") == [document])
            #expect(report.state.counters.deadLetters == 1)
            #expect(try ExportManifest.read(directory + "/o.manifest.json").counts.missingBodies == 1)
        }
    }

    /// Requests for one attachment may be forbidden, or be answered as if the database did not exist, while others
    /// succeed.
    @Test(arguments: [
        (401, #"{"error":"Unauthorized","reason":"Invalid login"}"#),
        (403, #"{"error":"forbidden","reason":"missing channel access"}"#),
        (404, #"{"error":"not_found","reason":"no such database \"todo\""}"#),
        (404, #"{"error":"not_found","reason":"Database does not exist."}"#),
    ])
    func refusedAttachmentIsTheOnlyMissingPart(status: Int, refusal: String) async throws {
        try await withDirectory { directory in
            let document =
                #"{"_id":"a","_rev":"1-a","_attachments":{"p":{"digest":"sha1-AAAA","length":3,"stub":true}}}"#
            let server = try ScriptedServer { request, number in
                guard request.path == "/todo/_all_docs" else { return .init(status: status, body: refusal) }
                let rows = [Self.row("a", document), Self.row("b", #"{"_id":"b"}"#)]
                return Self.page(request.method == "POST" ? [rows[0]] : number == 0 ? rows : [])
            }
            let report = try await export(server, directory + "/o") {
                $0.attachments = .folder(directory + "/files")
            }
            #expect(try lines(directory + "/o") == [document, #"{"_id":"b"}"#])
            #expect(report.state.counters.deadLetters == 1)
            #expect(try ExportManifest.read(directory + "/o.manifest.json").counts.missingBodies == 1)
            let remainingFiles = try FileManager.default.subpathsOfDirectory(atPath: directory + "/files")
            #expect(remainingFiles.isEmpty)
        }
    }

    @Test func exportIsNotContinuedFromAResetDatabase() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { _, _ in Self.page([]) }
            _ = try await export(server, directory + "/o")
            let reset = try ScriptedServer(information: #"{"db_name":"todo","update_seq":3,"state":"Online"}"#) {
                request, _ in
                request.path == "/todo/_changes" ? ScriptedServer.feed([], last: 3) : Self.page([])
            }
            let failure = await #expect(throws: RunError.self) {
                _ = try await export(reset, directory + "/p") { $0.since = .manifest(directory + "/o.manifest.json") }
            }
            #expect(failure?.code == .databaseReset)
        }
    }

    /// With the same instance id, so that another port may be the same server.
    private static func information(newest: Int) -> String {
        #"{"db_name":"todo","update_seq":\#(newest),"state":"Online","instance_start_time":1234}"#
    }

    /// A node of a cluster that reports a lower newest sequence than the saved one. Its feed has a change after the
    /// saved one, or none, as after a reset, even if the same documents exist again. Or this user may not read the
    /// feed.
    private static func nodeThatIsBehind(_ feed: NodeFeed) throws -> ScriptedServer {
        try ScriptedServer(information: information(newest: 900)) { request, _ in
            guard request.path == "/todo/_changes" else { return request.path == "/todo/_all_docs" ? page([]) : nil }
            return switch feed {
            case .ahead:
                ScriptedServer.feed(
                    [#"{"seq":1001,"id":"c","changes":[{"rev":"1-c"}],"doc":{"_id":"c","_rev":"1-c"}}"#], last: 1001)
            case .behind: ScriptedServer.feed([], last: 900)
            case .forbidden: .init(status: 403, body: #"{"error":"forbidden","reason":"no"}"#)
            }
        }
    }

    enum NodeFeed: CaseIterable, Sendable { case ahead, behind, forbidden }

    private func expectReset(_ isReset: Bool, _ work: () async throws -> Void) async {
        do {
            try await work()
            #expect(!isReset)
        } catch {
            #expect(isReset && (error as? RunError)?.code == .databaseReset, "\(error)")
        }
    }

    @Test(arguments: NodeFeed.allCases) func incrementalExportFromALaggingNodeMissesNothing(feed: NodeFeed) async throws
    {
        let isReset = feed != .ahead
        try await withDirectory { directory in
            let server = try ScriptedServer { _, number in
                Self.page(number == 0 ? ["a", "b"].map { Self.row($0, #"{"_id":"\#($0)"}"#) } : [])
            }
            _ = try await export(server, directory + "/o")
            let node = try Self.nodeThatIsBehind(feed)
            await expectReset(isReset) {
                _ = try await export(node, directory + "/p") { $0.since = .manifest(directory + "/o.manifest.json") }
                #expect(try lines(directory + "/p") == [#"{"_id":"c","_rev":"1-c"}"#])
                // The next export neither repeats nor misses documents.
                #expect(try ExportManifest.read(directory + "/p.manifest.json").to == SequenceID("1000"))
                // It knows all documents, although it has read only one.
                let next = try Self.nodeThatIsBehind(feed)
                _ = try await export(next, directory + "/q") { $0.since = .manifest(directory + "/p.manifest.json") }
            }
        }
    }

    @Test(arguments: NodeFeed.allCases) func interruptedExportContinuesWithALaggingNode(feed: NodeFeed)
        async throws
    {
        let isReset = feed != .ahead
        try await withDirectory { directory in
            let server = try ScriptedServer(information: Self.information(newest: 1000)) { _, number in
                guard number == 0 else { return nil }
                var page = Self.page(["a", "b"].map { Self.row($0, #"{"_id":"\#($0)"}"#) })
                page.body = String(page.body.prefix { $0 != "]" })
                return page
            }
            await #expect(throws: RunError.self) {
                _ = try await export(server, directory + "/o") { $0.retries.retryFor = .milliseconds(200) }
            }
            let node = try Self.nodeThatIsBehind(feed)
            await expectReset(isReset) {
                _ = try await export(node, directory + "/o") { $0.isResuming = true }
                #expect(try lines(directory + "/o").count == 2)
            }
        }
    }

    /// Killed between the last byte and the manifest.
    @Test(arguments: ["o.part", "o.spool", "o"]) func completeExportWithoutNameOrManifestGetsThem(
        name: String
    ) async throws {
        try await withDirectory { directory in
            let information = #"{"db_name":"todo","update_seq":3,"state":"Online","instance_start_time":1234}"#
            let server = try ScriptedServer(information: information) { _, number in
                Self.page(number == 0 ? [Self.row("a", #"{"_id":"a"}"#)] : [])
            }
            _ = try await export(server, directory + "/o")
            let manifest = try String(contentsOfFile: directory + "/o.manifest.json", encoding: .utf8)
            let known = try ExportManifest.read(directory + "/o.manifest.json")
            try FileManager.default.removeItem(atPath: directory + "/o.manifest.json")
            if name != "o" {
                try FileManager.default.moveItem(atPath: directory + "/o", toPath: directory + "/" + name)
            }
            let journal =
                #"{"position":{"state":"whole"},"bytes":\#(known.byteCount),"sha256":"\#(known.sha256)","manifest":\#(manifest)}"#
            try Data(journal.utf8).write(to: URL(fileURLWithPath: directory + "/o.partial"))
            // The same database at another port.
            let silent = try ScriptedServer(information: information) { _, _ in nil }
            _ = try await export(silent, directory + "/o") { $0.isResuming = true }
            #expect(try lines(directory + "/o") == [#"{"_id":"a"}"#])
            #expect(try ExportManifest.read(directory + "/o.manifest.json") == known)
            #expect(silent.requests("/todo/_all_docs").isEmpty)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: directory).sorted() == ["o", "o.manifest.json"])
        }
    }
}
