import Bots
import DocumentFlow
import Foundation
import TestKit
import Testing

/// What differs on CouchDB: opaque sequences, rows without status, tombstones in `_all_docs`.
@Suite(.limitedParallelism) struct CouchDBTests {
    private static let headers = ["Content-Type: application/json", "Server: CouchDB/3.5.0 (Erlang OTP/25)"]
    private static let information =
        #"{"instance_start_time":"1795208634","db_name":"todo","purge_seq":"0-g1AAAABX","update_seq":"11-g1AAAACb","doc_count":2}"#

    private static func feed(_ rows: String, last: String) -> ScriptedServer.Answer {
        .init(
            headers: headers,
            body: "{\"results\":[\n\n" + rows + "\n],\n\"last_seq\":\"\(last)\",\"pending\":0}\n\n")
    }

    private static let task =
        #"{"seq":"7-g1AAAAB5_x","id":"t1","changes":[{"rev":"1-7e"}],"doc":{"_id":"t1","_rev":"1-7e","z":1.10,"type":"task","_attachments":{"note":{"content_type":"text/plain","revpos":1,"digest":"md5-+Cm5FPxHz8nAdHwRnCfPGw==","length":70,"stub":true}}}}"#

    private func run(
        twice: Bool = false, _ script: @escaping ScriptedServer.Script,
        _ check: (ScriptedServer, RunCounters) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer(information: Self.information, headers: Self.headers, script)
            var counters = try await server.runOnce(directory).counters
            if twice { counters = try await server.runOnce(directory).counters }
            try await check(server, counters)
        }
    }

    @Test func sequencesAreReturnedUnchangedAndStubsStay() async throws {
        try await run(twice: true) { request, number in
            guard request.path == "/todo/_changes" else {
                return .init(status: 201, headers: Self.headers, body: #"[{"ok":true,"id":"t1","rev":"2-72"}]"#)
            }
            return Self.feed(number == 0 ? Self.task : "", last: "11-g1AAAACb_y")
        } _: { server, counters in
            let asked = server.requests("/todo/_changes").map(\.target)
            #expect(asked == ["0", "11-g1AAAACb_y"].map { "/todo/_changes?since=\($0)&include_docs=true" })
            #expect(
                server.requests("/todo/_bulk_docs").map(\.text)
                    == [
                        #"{"docs":[{"_id":"t1","_rev":"1-7e","z":1.10,"type":"task","_attachments":{"note":{"content_type":"text/plain","revpos":1,"digest":"md5-+Cm5FPxHz8nAdHwRnCfPGw==","length":70,"stub":true}},"done":true}]}"#
                    ])
            #expect(counters.written == 0)
        }
    }

    /// If two bots considered each other's attachments different, they would write endlessly.
    @Test(arguments: [("Hello", 0), ("Hallo", 1)])
    func attachmentCompressedByCouchDBIsReadAndCompared(stored: String, writes: Int) async throws {
        let text = #"{"content_type":"text/plain","revpos":1,"digest":"md5-+Cm5FPxHz8nAdHwRnCfPGw==","length":5"#
        let task =
            #"{"seq":"7-x","id":"t1","changes":[{"rev":"1-7e"}],"doc":{"_id":"t1","_rev":"1-7e","type":"task","_attachments":{"a/b":\#(text),"stub":true}}}}"#
        try await withDirectory { directory in
            try Data("Hello".utf8).write(to: URL(fileURLWithPath: directory + "/note.txt"))
            let server = try ScriptedServer(information: Self.information, headers: Self.headers) { request, number in
                switch request.path {
                case "/todo/_changes": Self.feed(number == 0 ? task : "", last: "7-x")
                case "/todo/t1/a%2Fb":
                    .init(
                        status: number == 0 ? 503 : 200,
                        headers: [
                            "Content-Type: text/plain", "Server: CouchDB/3.5.0 (Erlang OTP/25)", "Accept-Ranges: none",
                            "ETag: \"+Cm5FPxHz8nAdHwRnCfPGw==\"",
                        ], body: stored)
                default: .init(status: 201, headers: Self.headers, body: #"[{"ok":true,"id":"t1","rev":"2-72"}]"#)
                }
            }
            let attach = #"[{"attach":{"name":"a/b","file":"note.txt","content_type":"text/plain"}}]"#
            let (counters, deadLetters) = try await server.runOnce(directory, then: attach)
            #expect(server.requests("/todo/_bulk_docs").count == writes)
            #expect(counters.written == writes)
            #expect(deadLetters.isEmpty)
            #expect(server.requests("/todo/t1/a%2Fb").map(\.target).last == "/todo/t1/a%2Fb?rev=1-7e")
        }
    }

    @Test func conflictWithADeletionLeavesNothingToDo() async throws {
        try await run { request, _ in
            switch request.path {
            case "/todo/_changes": Self.feed(Self.task, last: "7-g1")
            case "/todo/_all_docs":
                .init(
                    headers: Self.headers,
                    body:
                        #"{"total_rows":4,"offset":null,"rows":[{"id":"t1","key":"t1","value":{"rev":"2-15","deleted":true},"doc":null}]}"#
                )
            default:
                .init(
                    status: 201, headers: Self.headers,
                    body: #"[{"id":"t1","error":"conflict","reason":"Document update conflict."}]"#)
            }
        } _: { server, counters in
            #expect(counters.conflicts == 1)
            #expect(counters.written == 0)
            #expect(counters.deadLetters == 0)
            #expect(server.requests("/todo/_bulk_docs").count == 1)
        }
    }
}
