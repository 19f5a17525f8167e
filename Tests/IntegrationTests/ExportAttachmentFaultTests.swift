import Bots
import DocumentFlow
import Foundation
import GatewayClient
import Locking
import LosslessJSON
import TestKit
import Testing
import Transfer

/// A missing or wrong attachment must not end an export. An outage must be waited for.
@Suite(.limitedParallelism) struct ExportAttachmentFaultTests {
    /// The digest of "new".
    private static let digest = "sha1-wqawPxkN+ytKqR+K+NR3qbw0Adw="

    private struct Hangup: Error {}

    /// Exports a document with the attachments `bad` and `good`, of which the second can be read, and one document
    /// after it.
    ///
    /// - Parameters:
    ///   - bad: Answers requests for the first attachment; gets the number of the request.
    ///   - outage: The numbers of the requests, of any kind, that the gateway does not answer.
    private func export(
        name: String = "bad", retryFor: Duration = .milliseconds(400),
        outage: ClosedRange<Int>? = nil,
        bad: @escaping @Sendable (TestConnection, Int) throws -> Void,
        check: (ExportReport, [JSONText], ExportManifest) throws -> Void
    ) async throws {
        try await withDirectory { directory in
            let asked = Monitor(0)
            let badRequests = Monitor(0)
            let stub = #"{"content_type":"image/png","digest":"\#(Self.digest)","length":3,"stub":true}"#
            let document = #"{"_id":"a","_rev":"1-a","_attachments":{"\#(name)":\#(stub),"good":\#(stub)}}"#
            let rows = [("a", document), ("b", #"{"_id":"b","_rev":"1-b"}"#)].map { id, document in
                #"{"id":"\#(id)","key":"\#(id)","value":{"rev":"1-\#(id)"},"doc":\#(document)}"#
            }
            let server = try TestServer { connection in
                try connection.serve { request in
                    let number = asked.with { asked in
                        asked += 1
                        return asked
                    }
                    guard outage?.contains(number) != true else { throw Hangup() }
                    let json = ScriptedServer.syncGateway
                    switch (request.method, request.path) {
                    case (_, "/"):
                        try connection.answer(404, headers: json, body: #"{"error":"not_found","reason":"no"}"#)
                    case (_, "/todo/"):
                        try connection.answer(
                            headers: json, body: #"{"db_name":"todo","update_seq":9,"state":"Online"}"#)
                    case ("POST", "/todo/_all_docs"):
                        try connection.answer(headers: json, body: #"{"rows":[\#(rows[0])]}"#)
                    case (_, "/todo/_all_docs"):
                        let isBehind = request.target.contains("startkey=%22b%22")
                        let body = isBehind ? rows[1] : rows.joined(separator: ",")
                        try connection.answer(headers: json, body: #"{"rows":[\#(body)]}"#)
                    case (_, "/todo/a/good"): try connection.answer(headers: ["Content-Type: image/png"], body: "new")
                    default:
                        let number = badRequests.with { asked in
                            asked += 1
                            return asked
                        }
                        try bad(connection, number)
                    }
                }
            }
            var settings = ExportSettings()
            settings.attachments = .inline
            settings.retries.retryFor = retryFor
            let report = ExportReport()
            let exporter = Exporter(
                gateway: Gateway(try GatewayURL(server.url("/todo"))), settings: settings,
                place: ExportPlace(directory + "/o"), report: report, logger: BotTestBed.logger)
            try await exporter.run()
            let text = try String(contentsOfFile: directory + "/o", encoding: .utf8)
            let lines = try text.split(separator: "\n").map { try JSONText(String($0)) }
            try check(report, lines, try ExportManifest.read(directory + "/o.manifest.json"))
        }
    }

    /// The bad attachment keeps its stub, the good one has its bytes, and the export continued.
    private func expectOneMissing(_ report: ExportReport, _ lines: [JSONText], _ manifest: ExportManifest) {
        #expect(lines.count == 2)
        let attachments = lines.first?.root["_attachments"]?.members.map(\.value) ?? []
        #expect(attachments.map { $0["stub"]?.bool == true } == [true, false])
        #expect(attachments.last?["data"]?.string == "bmV3")
        #expect(report.state.counters.deadLetters == 1)
        #expect(manifest.counts.missingBodies == 1)
        #expect(manifest.counts.bodies == 1)
    }

    @Test(
        arguments: [
            302, 400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 412, 413, 414, 415, 416, 418, 422, 429, 451, 500,
            501,
            502, 503, 504, 505, 507, 524, 600,
        ], [false, true])
    func refusedAttachmentKeepsItsStub(status: Int, isJSON: Bool) async throws {
        try await export { connection, _ in
            if isJSON {
                try connection.answer(
                    status, headers: ScriptedServer.syncGateway, body: #"{"error":"no","reason":"not this one"}"#)
            } else {
                try connection.answer(status, headers: ["Content-Type: text/html"], body: "<html>no</html>")
            }
        } check: {
            expectOneMissing($0, $1, $2)
        }
    }

    @Test func attachmentWithACutConnectionKeepsItsStub() async throws {
        try await export { _, _ in
            throw Hangup()
        } check: {
            expectOneMissing($0, $1, $2)
        }
        try await export { connection, _ in
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nn")
            throw Hangup()
        } check: {
            expectOneMissing($0, $1, $2)
        }
    }

    @Test func nameThatNoURLCanHoldDoesNotEndTheExport() async throws {
        try await export(name: #"a\u0000b"#) { connection, _ in
            try connection.answer(
                404, headers: ScriptedServer.syncGateway, body: #"{"error":"not_found","reason":"no"}"#)
        } check: {
            expectOneMissing($0, $1, $2)
        }
    }

    @Test(arguments: [500, 503, 429, 404]) func temporaryErrorsLoseNoAttachment(status: Int) async throws {
        try await export(retryFor: .seconds(300)) { connection, number in
            if number <= 2, status != 404 {
                try connection.answer(status, headers: ScriptedServer.syncGateway, body: #"{"error":"wait"}"#)
            } else if number <= 2 {
                // Sync Gateway's answer while a database is unavailable.
                try connection.answer(
                    404, headers: ScriptedServer.syncGateway,
                    body: #"{"error":"not_found","reason":"no such database \"todo\""}"#)
            } else {
                try connection.answer(headers: ["Content-Type: image/png"], body: "new")
            }
        } check: { report, lines, manifest in
            #expect(report.state.counters.deadLetters == 0)
            #expect(manifest.counts.bodies == 2)
            #expect(lines.first?.root["_attachments"]?["bad"]?["data"]?.string == "bmV3")
        }
    }

    /// Regression: the export waited as long as `--retry-for` allows for each group of four attachments, one group
    /// after the other.
    @Test func failingAttachmentsAreNotEachWaitedFor() async throws {
        try await withDirectory { directory in
            let stub = #"{"content_type":"image/png","digest":"\#(Self.digest)","length":3,"stub":true}"#
            let stubs = (0..<40).map { #""x\#($0)":\#(stub)"# }.joined(separator: ",")
            let document = #"{"_id":"a","_rev":"1-a","_attachments":{\#(stubs)}}"#
            let row = #"{"id":"a","key":"a","value":{"rev":"1-a"},"doc":\#(document)}"#
            let server = try ScriptedServer { request, _ in
                request.path == "/todo/_all_docs"
                    ? .init(body: #"{"rows":[\#(row)]}"#)
                    : .init(status: 500, body: #"{"error":"Internal","reason":"the store is gone"}"#)
            }
            var settings = ExportSettings()
            settings.attachments = .inline
            settings.retries.retryFor = .seconds(1)
            let report = ExportReport()
            try await Exporter(
                gateway: Gateway(try GatewayURL(server.server.url("/todo"))), settings: settings,
                place: ExportPlace(directory + "/o"), report: report, logger: BotTestBed.logger
            ).run()
            #expect(try ExportManifest.read(directory + "/o.manifest.json").counts.missingBodies == 40)
            // The first four are requested repeatedly, and perhaps those that are under way when they fail.
            let attempts = (0..<40).map { server.requests("/todo/a/x\($0)").count }
            #expect(attempts.prefix(4).allSatisfy { $0 >= 3 }, "\(attempts)")
            #expect(attempts.dropFirst(8).allSatisfy { $0 == 1 }, "\(attempts)")
        }
    }

    /// The gateway is unavailable for a while, from the first attachment on.
    @Test func outageIsWaitedOutAndFailsNoAttachment() async throws {
        try await export(retryFor: .seconds(300), outage: 5...12) { connection, _ in
            try connection.answer(headers: ["Content-Type: image/png"], body: "new")
        } check: { report, _, manifest in
            #expect(report.state.counters.deadLetters == 0)
            #expect(report.state.counters.traffic.retries > 0)
            #expect(manifest.counts.bodies == 2)
        }
    }

    /// Regression: 2.3 GB were read before the length was checked.
    @Test(arguments: [false, true]) func attachmentIsReadUpToTheLengthOfItsStub(isGuarded: Bool) async throws {
        let sent = Monitor(0)
        try await export { connection, _ in
            let length = isGuarded ? "Content-Length: 3000000000" : "Connection: close"
            try connection.write("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\(length)\r\n\r\n")
            let piece = [UInt8](repeating: 0x61, count: 64 << 10)
            for _ in 0..<4_000 {
                try connection.write(piece)
                sent.with { $0 += piece.count }
            }
            throw Hangup()
        } check: {
            expectOneMissing($0, $1, $2)
        }
        // The bytes that the network and the read-ahead buffer, for each attempt.
        #expect(sent.with { $0 } < 100 << 20)
    }

    @Test(arguments: ["ne", "", "news"]) func attachmentOfAnotherLengthKeepsItsStub(body: String) async throws {
        try await export { connection, _ in
            try connection.answer(headers: ["Content-Type: image/png"], body: body)
        } check: {
            expectOneMissing($0, $1, $2)
        }
    }

    /// "é" as one scalar and as two.
    @Test(arguments: [false, true]) func namesThatOnlyLookEqualAreTwoAttachments(isInline: Bool) async throws {
        try await BotTestBed.withEmbedded { bed in
            let names = ["\u{E9}", "e\u{301}"]
            let members = zip(names, ["b25l", "dHdv"]).map { #""\#($0)":{"content_type":"image/png","data":"\#($1)"}"# }
            try await bed.phone.put("a", body: Array(#"{"_attachments":{\#(members.joined(separator: ","))}}"#.utf8))
            try await bed.export("o.ndjson") { settings in
                settings.attachments = isInline ? .inline : .folder(bed.path("files"))
            }
            let attachments = try #require(try JSONText(bed.lines("o.ndjson")[0]).root["_attachments"])
            let bodies = try attachments.members.map { member in
                let data = member.value["data"]?.string.flatMap { Data(base64Encoded: $0) }
                let file = member.value["file"]?.string.map { bed.path("files/" + $0) }
                let bytes = try data ?? Data(contentsOf: URL(fileURLWithPath: try #require(file)))
                return
                    "\(Array((member.name.string ?? "").unicodeScalars).count) \(String(decoding: bytes, as: UTF8.self))"
            }
            #expect(bodies.sorted() == ["1 one", "2 two"])
            #expect(try await bed.verify("o.ndjson", comparesWithGateway: true).isEmpty)
        }
    }
}
