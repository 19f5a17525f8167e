import Bots
import DocumentFlow
import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing
import Transfer

/// Revisions that a gateway can't send are reported, and the rest is exported.
@Suite(.limitedParallelism) struct ExportRevisionFaultTests {
    enum Fault: String, CaseIterable {
        case notJSON, tooDeep, missingFromAnswer, refused, foreignDocument, serverError, badRequest, cut
    }

    private static let bad = "d5"

    private static func part(_ id: String, _ fault: Fault) -> String? {
        let text = #"{"_id":"\#(id)","_rev":"1-a"}"#
        guard id == bad else { return "--x\r\nContent-Type: application/json\r\n\r\n\(text)\r\n" }
        switch fault {
        case .notJSON: return "--x\r\nContent-Type: application/json\r\n\r\n{\"_id\":\"d5\",\"n\":01}\r\n"
        case .tooDeep:
            let deep = String(repeating: "[", count: 20_000) + String(repeating: "]", count: 20_000)
            return "--x\r\nContent-Type: application/json\r\n\r\n{\"_id\":\"d5\",\"n\":\(deep)}\r\n"
        case .refused:
            let error = #"{"error":"not_found","id":"d5","rev":"1-a","reason":"missing","status":404}"#
            return "--x\r\nContent-Type: application/json; error=\"true\"\r\n\r\n\(error)\r\n"
        case .foreignDocument:
            return "--x\r\nContent-Type: application/json\r\n\r\n{\"_id\":\"foreign\",\"_rev\":\"1-a\"}\r\n"
        case .missingFromAnswer, .serverError, .badRequest, .cut: return nil
        }
    }

    @Test(arguments: Fault.allCases) func unreadableRevisionDoesNotEndTheExport(fault: Fault) async throws {
        try await withDirectory { directory in
            let ids = (0..<12).map { "d\($0)" }
            let server = try ScriptedServer { request, _ in
                if request.path == "/todo/_changes" {
                    let rows = ids.enumerated().map { number, id in
                        #"{"seq":\#(number + 1),"id":"\#(id)","changes":[{"rev":"1-a"}]}"#
                    }
                    return ScriptedServer.feed(rows, last: 1000)
                }
                guard request.path == "/todo/_bulk_get", let docs = try? JSONText(request.body).root["docs"] else {
                    return nil
                }
                let asked = docs.elements.compactMap { $0["id"]?.string }
                if asked.contains(Self.bad) {
                    switch fault {
                    case .serverError: return .init(status: 500, body: #"{"error":"Internal","reason":"badmatch"}"#)
                    case .badRequest: return .init(status: 400, body: #"{"error":"Bad Request","reason":"no"}"#)
                    case .cut: return nil
                    default: break
                    }
                }
                let body = asked.compactMap { Self.part($0, fault) }.joined() + "--x--\r\n"
                return .init(headers: ["Content-Type: multipart/mixed; boundary=x"], body: body)
            }
            var settings = ExportSettings()
            settings.includesRevisions = true
            settings.retries.retryFor = .milliseconds(500)
            let report = ExportReport()
            try await Exporter(
                gateway: Gateway(try GatewayURL(server.server.url("/todo"))), settings: settings,
                place: ExportPlace(directory + "/o"), report: report, logger: BotTestBed.logger
            ).run()
            let lines = try String(contentsOfFile: directory + "/o", encoding: .utf8).split(separator: "\n")
            let found = try lines.compactMap { try JSONText(String($0)).root["_id"]?.string }
            #expect(found.sorted() == ids.filter { $0 != Self.bad }.sorted())
            #expect(report.state.counters.deadLetters == 1)
            #expect(try ExportManifest.read(directory + "/o.manifest.json").counts.unreadable == 1)
        }
    }

    /// If no revision can be read, the cause is not a single revision.
    @Test func gatewayWithoutRevisionsEndsTheExport() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, _ in
                guard request.path == "/todo/_changes" else {
                    return .init(status: 405, body: #"{"error":"method_not_allowed","reason":"no _bulk_get here"}"#)
                }
                let rows = (1...8).map { #"{"seq":\#($0),"id":"d\#($0)","changes":[{"rev":"1-a"}]}"# }
                return ScriptedServer.feed(rows, last: 1000)
            }
            var settings = ExportSettings()
            settings.includesRevisions = true
            settings.retries.retryFor = .milliseconds(500)
            let exporter = Exporter(
                gateway: Gateway(try GatewayURL(server.server.url("/todo"))), settings: settings,
                place: ExportPlace(directory + "/o"), report: ExportReport(), logger: BotTestBed.logger)
            await #expect(throws: RunError.self) { try await exporter.run() }
            #expect(!FileManager.default.fileExists(atPath: directory + "/o"))
        }
    }
}
