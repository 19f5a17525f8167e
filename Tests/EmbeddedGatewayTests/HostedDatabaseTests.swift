import Foundation
import LosslessJSON
import TestKit
import Testing

@testable import EmbeddedGateway

/// Further databases of the embedded gateway, and the announcements of their changes.
@Suite(.limitedParallelism) struct HostedDatabaseTests {
    private static func hostingGateway() throws -> TestGateway {
        var gateway = try TestGateway(database: "todo")
        gateway.hostDatabases()
        return gateway
    }

    private func text(_ answer: Collected) -> String { String(decoding: answer.bytes, as: UTF8.self) }

    @Test func databasesAreCreatedListedAndDeleted() async throws {
        let gateway = try Self.hostingGateway()
        let requests: [(method: String, target: String, body: String, status: Int)] = [
            ("PUT", "/b", "", 201), ("PUT", "/a/", "", 201), ("PUT", "/a", "", 412), ("PUT", "/A", "", 400),
            ("PUT", "/a/t1", #"{"x":1}"#, 201), ("GET", "/b/t1", "", 404), ("PUT", "/todo/t1", "{}", 201),
        ]
        for request in requests {
            let answer = try await gateway.answer(request.method, request.target, request.body)
            #expect(answer.status == request.status, "\(request.method) \(request.target)")
        }
        let list = try await gateway.answer("GET", "/_all_dbs")
        #expect(text(list) == #"["a","b","todo"]"#)
        let deleted = try await gateway.answer("DELETE", "/a")
        #expect(deleted.status == 200)
        let missing = try await gateway.answer("GET", "/a/")
        #expect(missing.status == 404)
    }

    @Test func changesAreAnnounced() async throws {
        let gateway = try Self.hostingGateway()
        _ = try await gateway.answer("PUT", "/a")
        let all = try await gateway.answer("GET", "/_db_updates?since=0")
        #expect(text(all) == #"{"results":[{"db_name":"a","type":"created","seq":"1"}],"last_seq":"1"}"#)
        let now = try await gateway.answer("GET", "/_db_updates?since=now")
        #expect(text(now) == #"{"results":[],"last_seq":"1"}"#)
        async let waiting = gateway.answer("GET", "/_db_updates?since=1&feed=longpoll&timeout=60000")
        _ = try await gateway.answer("PUT", "/a/t1", "{}")
        let update = text(try await waiting)
        #expect(update == #"{"results":[{"db_name":"a","type":"updated","seq":"2"}],"last_seq":"2"}"#)
        // A local document is no change.
        _ = try await gateway.answer("PUT", "/a/_local/x", "{}")
        let after = try await gateway.answer("GET", "/_db_updates?since=2")
        #expect(text(after) == #"{"results":[],"last_seq":"2"}"#)
    }

    @Test func sequencesOfSeveralDatabasesAreInOneAnswer() async throws {
        let gateway = try Self.hostingGateway()
        _ = try await gateway.answer("PUT", "/a")
        _ = try await gateway.answer("PUT", "/a/t1", "{}")
        let answer = try await gateway.answer("POST", "/_dbs_info", #"{"keys":["a","none"]}"#)
        let created = try Regex(#""instance_start_time":"\d{16}""#)
        #expect(
            text(answer).replacing(created, with: #""instance_start_time":"…""#)
                == #"[{"key":"a","info":{"db_name":"a","update_seq":2,"instance_start_time":"…"}},"#
                + #"{"key":"none","error":"not_found"}]"#)
    }
}
