import Bots
import DocumentFlow
import Foundation
import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing
import Transfer

/// Documents that change while the feed is read: the export contains the last version of each, or none.
@Suite(.limitedParallelism) struct ExportSupersededTests {
    /// The digest of "new".
    private static let digest = "sha1-wqawPxkN+ytKqR+K+NR3qbw0Adw="

    private static func row(_ sequence: Int, _ id: String, _ revision: String, _ rest: String) -> String {
        #"{"seq":\#(sequence),"id":"\#(id)","doc":{"_id":"\#(id)","_rev":"\#(revision)"\#(rest)},"#
            + #""changes":[{"rev":"\#(revision)"}]}"#
    }

    private static func attachment(_ name: String) -> String {
        #","_attachments":{"\#(name)":{"content_type":"image/png","digest":"\#(digest)","length":3,"stub":true}}"#
    }

    /// A full export by a user who may not list documents.
    private func export(
        first: [String], second: [String], current: [String: ScriptedServer.Answer] = [:],
        configure: (inout ExportSettings, String) throws -> Void = { _, _ in },
        check: (String, ExportReport, ExportManifest) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, _ in
                switch request.path {
                case "/todo/_all_docs": .init(status: 403, body: #"{"error":"Forbidden","reason":"no"}"#)
                case "/todo/_changes":
                    request.target.contains("since=0&") ? Self.cut(first) : ScriptedServer.feed(second, last: 1003)
                case let path: current[path] ?? .init(body: "new")
                }
            }
            var settings = ExportSettings()
            settings.retries.retryFor = .milliseconds(400)
            try configure(&settings, directory)
            let report = ExportReport()
            let exporter = Exporter(
                gateway: Gateway(try GatewayURL(server.server.url("/todo"))), settings: settings,
                place: ExportPlace(directory + "/o"), report: report, logger: BotTestBed.logger)
            try await exporter.run()
            try await check(directory, report, try ExportManifest.read(directory + "/o.manifest.json"))
        }
    }

    /// The rows of a feed whose last line gets lost.
    private static func cut(_ rows: [String]) -> ScriptedServer.Answer {
        var answer = ScriptedServer.feed(rows, last: 1000)
        answer.cutAfter = answer.body.utf8.count - 10
        return answer
    }

    private func findings(_ directory: String) async throws -> [VerificationFinding] {
        var findings: [VerificationFinding] = []
        try await ExportVerifier(ExportFile(directory + "/o")).verify { findings.append($0) }
        return findings
    }

    private func lines(_ directory: String) throws -> [String] {
        try String(contentsOfFile: directory + "/o", encoding: .utf8).split(separator: "\n").map(String.init)
    }

    /// Regression: superseded lines were removed, but their bodies and stubs were counted, so `verify` failed.
    @Test(arguments: [false, true]) func supersededDocumentsAreNotCounted(isInline: Bool) async throws {
        let first = [
            Self.row(1, "a", "1-a", Self.attachment("p")), Self.row(2, "b", "1-b", Self.attachment("p")),
            Self.row(3, "c", "1-c", ""), Self.row(4, "d", "1-d", Self.attachment("p")),
        ]
        let second = [
            Self.row(1001, "a", "2-a", Self.attachment("q")),
            #"{"seq":1002,"id":"b","deleted":true,"doc":{"_id":"b","_rev":"2-b","_deleted":true},"changes":[{"rev":"2-b"}]}"#,
            Self.row(1003, "c", "2-c", Self.attachment("q")),
        ]
        try await export(first: first, second: second) { settings, directory in
            settings.attachments = isInline ? .inline : .folder(directory + "/files")
        } check: { (directory, report, manifest) async throws in
            #expect(try await findings(directory) == [])
            #expect(try lines(directory).count == 3)
            let counts = manifest.counts
            #expect(counts.lines == 3 && counts.tombstones == 0)
            #expect(counts.attachments == 3 && counts.bodies == 3 && counts.bodyBytes == 9)
            #expect(counts.missingBodies == 0)
            #expect(report.state.counters.written == 3)
        }
    }

    @Test func attachmentMissingOnlyInASupersededVersionIsNotMissing() async throws {
        let missing = ScriptedServer.Answer(status: 404, body: #"{"error":"not_found","reason":"missing"}"#)
        let refused = ScriptedServer.Answer(status: 403, body: #"{"error":"forbidden","reason":"no"}"#)
        try await export(
            first: [Self.row(1, "a", "1-a", Self.attachment("p"))],
            second: [Self.row(1001, "a", "2-a", Self.attachment("q"))],
            current: ["/todo/a/p": missing, "/todo/a": refused]
        ) { settings, _ in
            settings.attachments = .inline
        } check: { (directory, report, manifest) async throws in
            #expect(try await findings(directory) == [])
            #expect(manifest.counts.missingBodies == 0 && manifest.counts.bodies == 1)
            #expect(report.state.counters.deadLetters == 0)
        }
    }

    /// Regression: the outdated line stayed.
    @Test(arguments: [OutputFormat.ndjson, .json, .csv])
    func documentThatNoLongerMatchesIsNotExported(format: OutputFormat) async throws {
        try await export(
            first: [Self.row(1, "a", "1-a", #","v":1"#), Self.row(2, "b", "1-b", #","v":1"#)],
            second: [Self.row(1001, "a", "2-a", #","v":2"#), Self.row(1002, "c", "1-c", #","v":2"#)]
        ) { settings, _ in
            settings.format = format
            settings.selector = #"{"v":1}"#
            settings.filter = try DocumentFilter(#"{"v":1}"#, name: "selector")
        } check: { (directory, report, manifest) async throws in
            let text = try String(contentsOfFile: directory + "/o", encoding: .utf8)
            #expect(!text.contains("2-a") && !text.contains("1-a") && !text.contains("withdrawn"), "\(text)")
            #expect(text.contains("1-b"))
            #expect(manifest.counts.lines == 1)
            #expect(report.state.counters.written == 1)
            #expect(try await findings(directory) == [])
        }
    }

    /// Whatever the gateway answers to the second request for the document.
    @Test(arguments: [403, 410, 418, 451, 500])
    func readDocumentIsKeptIfItsAttachmentIsMissing(status: Int) async throws {
        let missing = ScriptedServer.Answer(status: 404, body: #"{"error":"not_found","reason":"missing"}"#)
        let refused = ScriptedServer.Answer(status: status, body: #"{"error":"no","reason":"not this one"}"#)
        try await export(
            first: [Self.row(1, "a", "1-a", Self.attachment("p")), Self.row(2, "b", "1-b", "")], second: [],
            current: ["/todo/a/p": missing, "/todo/a": refused]
        ) { settings, _ in
            settings.attachments = .inline
        } check: { (directory, report, manifest) async throws in
            #expect(try lines(directory).count == 2)
            #expect(try JSONText(lines(directory)[0]).root["_attachments"]?["p"]?["stub"]?.bool == true)
            #expect(manifest.counts.missingBodies == 1 && manifest.counts.unreadable == 0)
            #expect(report.state.counters.deadLetters == 1)
            #expect(try await findings(directory) == [])
        }
    }

    @Test(arguments: [410, 418, 451]) func unreadableDocumentDoesNotEndTheExport(status: Int) async throws {
        let bare = #"{"seq":1,"id":"a","changes":[{"rev":"1-a"}]}"#
        let refused = ScriptedServer.Answer(status: status, body: #"{"error":"no","reason":"not this one"}"#)
        try await export(
            first: [bare, Self.row(2, "b", "1-b", "")], second: [], current: ["/todo/a": refused]
        ) { (directory, report, manifest) async throws in
            let lines = try lines(directory)
            #expect(lines.count == 1)
            #expect(manifest.counts.unreadable == 1)
            #expect(report.state.counters.deadLetters == 1)
        }
    }
}
