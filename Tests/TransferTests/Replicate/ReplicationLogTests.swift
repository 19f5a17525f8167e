import GatewayClient
import LosslessJSON
import Testing

@testable import Transfer

@Suite struct ReplicationLogTests {
    private static func log(_ sessions: [(id: String, sequence: Int)]) throws -> ReplicationLog {
        let history = sessions.map { #"{"session_id":"\#($0.id)","recorded_seq":\#($0.sequence),"docs_read":1}"# }
        let newest = try #require(sessions.first)
        let body =
            #"{"session_id":"\#(newest.id)","source_last_seq":\#(newest.sequence),"history":[\#(history.joined(separator: ","))]}"#
        return try #require(ReplicationLog(Array(body.utf8)))
    }

    @Test(
        arguments: [
            ([("a", 7)], [("a", 7)], 7),
            // The checkpoint was written only at the source before a crash.
            ([("b", 9), ("a", 7)], [("a", 7)], 7),
            ([("a", 7)], [("b", 9), ("a", 7)], 7),
            ([("d", 9), ("b", 5), ("a", 3)], [("c", 8), ("b", 5), ("a", 3)], 5),
            // The target was replaced by another database.
            ([("b", 9), ("a", 7)], [("c", 9)], nil),
        ] as [([(String, Int)], [(String, Int)], Int?)])
    func newestCommonSessionDecides(source: [(String, Int)], target: [(String, Int)], expected: Int?) throws {
        let common = ReplicationLog.common(try Self.log(source), try Self.log(target))
        #expect(common?.sequence.queryValue == expected.map(String.init))
    }

    @Test func missingLogMeansNoCommonCheckpoint() throws {
        let log = try Self.log([("a", 7)])
        #expect(ReplicationLog.common(log, nil) == nil)
        #expect(ReplicationLog.common(nil, log) == nil)
        #expect(ReplicationLog(Array(#"{"anything":1}"#.utf8)) == nil)
        #expect(ReplicationLog(Array("[]".utf8)) == nil)
    }

    /// The same format as CouchDB's replicator, so that each understands the other's history.
    @Test func bodyMatchesCouchDB() throws {
        var counts = ReplicationCounts()
        (counts.checked, counts.missing, counts.read, counts.written, counts.failed) = (5, 4, 3, 2, 1)
        let earlier = try Self.log((0..<60).map { ("s\($0)", 100 - $0) })
        let sequence = try #require(SequenceID(#""7-g1AAAA""#))
        let session = ReplicationLog.Session(id: "new", start: .start, began: 784_111_777)
        let body = ReplicationLog.body(
            of: session, at: sequence, counts: counts, now: 784_111_778, after: earlier.history)
        let text = String(decoding: body, as: UTF8.self)
        #expect(
            text.hasPrefix(
                #"{"session_id":"new","source_last_seq":"7-g1AAAA","replication_id_version":4,"history":[{"session_id":"new","start_time":"Sun, 06 Nov 1994 08:49:37 GMT","end_time":"Sun, 06 Nov 1994 08:49:38 GMT","start_last_seq":0,"end_last_seq":"7-g1AAAA","recorded_seq":"7-g1AAAA","missing_checked":5,"missing_found":4,"docs_read":3,"docs_written":2,"doc_write_failures":1},{"session_id":"s0","recorded_seq":100,"docs_read":1},"#
            ))
        let log = try #require(ReplicationLog(body))
        #expect(log.history.count == 50)
        #expect(ReplicationLog.common(log, earlier)?.sequence.queryValue == "100")
    }
}
