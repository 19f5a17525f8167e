import LosslessJSON
import Testing

@testable import GatewayClient

/// An answer of Sync Gateway with every kind of row, and one of CouchDB, with their original white space.
enum FeedSamples {
    static let syncGateway = """
        {"results":[\r
        {"seq":3,"id":"_user/user1","changes":[]}
        ,{"seq":11,"id":"t1","doc":{"n":12345678901234567890123,"d":1.10,"_id":"t1","_rev":"4-e3","_cv":"18e9@dx"},"changes":[{"rev":"4-e3"}]}
        ,{"seq":"4::12","id":"t2","deleted":true,"doc":{"_id":"t2","_rev":"2-cf","_deleted":true},"changes":[{"rev":"2-cf"}]}
        ,{"seq":20,"id":"m1","removed":["A"],"doc":{"_removed":true,"_id":"m1","_rev":"2-a1"},"changes":[{"rev":"2-a1"}]}
        ,{"seq":"38:12","id":"L2","doc":{"_removed":true,"_id":"L2","_rev":"1-47"},"changes":[{"rev":"1-47"}],"revoked":true}
        ,{"seq":40,"id":"gone","changes":[{"rev":"7-ab"}]}
        ,{"seq":41,"id":"a/b c:\\u00e9+\\u0026","doc":{"_id":"x","_rev":"1-3"},"changes":[{"rev":"1-3"}]}
        ],
        "last_seq":"41"}

        """

    static let couchDB = """
        {"results":[

        {"seq":"1-g1AAA","id":"t1","changes":[{"rev":"1-7e"}],"doc":{"_id":"t1","_rev":"1-7e","task":"Apple"}},

        {"seq":"7-g1AAB","id":"t4","changes":[{"rev":"2-c9"}],"deleted":true,"doc":{"_id":"t4","_rev":"2-c9","_deleted":true}},
        {"seq":"9-g1AAC","id":"t5","changes":[{"rev":"1-00"}],"doc":null}
        ],
        "last_seq":"11-g1AAD","pending":0}

        """
}

/// The content of a row, in a form that can be compared.
struct RowFacts: Equatable {
    let sequence: String?
    let id: String
    let kind: Change.Kind
    let revision: String?
    let document: String?

    init(_ change: Change) {
        sequence = change.sequence?.description
        id = change.id.text
        kind = change.kind
        revision = change.revision?.text
        document = change.document.map { String(decoding: $0.bytes, as: UTF8.self) }
    }
}

@Suite struct ChangesParserTests {
    /// Passes the pieces to the parser one by one and collects all rows.
    private func rows(of pieces: [[UInt8]]) throws -> (rows: [RowFacts], parser: ChangesParser) {
        var parser = ChangesParser()
        var rows: [RowFacts] = []
        for piece in pieces {
            parser.append(piece)
            while let batch = try parser.nextBatch() { rows += batch.map(RowFacts.init) }
        }
        return (rows, parser)
    }

    /// Regression for CouchDB's `seq_interval` and BigCouch: the answer was not recognized as a gateway's.
    @Test(arguments: [1, 7, 10_000])
    func rowWithoutSequenceInheritsPreviousSequence(size: Int) throws {
        let answer = Array(
            #"""
            {"results":[
            {"seq":null,"id":"a","changes":[{"rev":"1-a"}]},
            {"seq":[3,"g1"],"id":"b","changes":[{"rev":"1-a"}],"doc":{"_id":"b"}},
            {"seq":"3-x","id":"c","changes":[{"rev":"1-a"}]},
            {"seq":null,"id":"d","changes":[{"rev":"1-a"}]},
            {"seq":null,"id":"e","changes":[{"rev":"1-a"}]}
            ],"last_seq":"5-x","pending":0}
            """#.utf8)
        var parser = ChangesParser(since: SequenceID("1-x"))
        var rows: [RowFacts] = []
        for start in stride(from: 0, to: answer.count, by: size) {
            parser.append(Array(answer[start..<min(start + size, answer.count)]))
            while let batch = try parser.nextBatch() { rows += batch.map(RowFacts.init) }
        }
        #expect(rows.map(\.id) == ["a", "b", "c", "d", "e"])
        #expect(rows.map(\.sequence) == ["\"1-x\"", "\"1-x\"", "\"3-x\"", "\"3-x\"", "\"3-x\""])
        #expect(parser.lastSequence?.description == "\"5-x\"")
    }

    @Test func continuousFeedMayOmitSequences() throws {
        var parser = ChangesParser(isContinuous: true, since: .start)
        var sequences: [String?] = []
        for line in [#"{"seq":null,"id":"a"}"#, #"{"seq":"2-x","id":"b"}"#, #"{"seq":null,"id":"c"}"#] {
            parser.append(Array((line + "\n").utf8))
            while let batch = try parser.nextBatch() { sequences += batch.map { $0.sequence?.description } }
        }
        #expect(sequences == ["0", "\"2-x\"", "\"2-x\""])
        parser.append(Array(#"{"last_seq":[7,"g1"],"pending":0}"#.utf8) + [0x0A])
        #expect(try parser.nextBatch() == nil)
        #expect(parser.lastSequence?.description == #"[7,"g1"]"#)
        #expect(parser.lastSequence?.queryValue == #"[7,"g1"]"#)
    }

    @Test func rowKindsOfSyncGatewayAreDistinguished() throws {
        let (rows, parser) = try rows(of: [Array(FeedSamples.syncGateway.utf8)])
        #expect(
            rows.map(\.kind) == [.principal, .document, .tombstone, .removed, .revoked, .withoutBody, .document])
        #expect(rows.map(\.sequence) == ["3", "11", "\"4::12\"", "20", "\"38:12\"", "40", "41"])
        #expect(rows.map(\.revision) == [nil, "4-e3", "2-cf", "2-a1", "1-47", "7-ab", "1-3"])
        #expect(rows[1].document == #"{"n":12345678901234567890123,"d":1.10,"_id":"t1","_rev":"4-e3","_cv":"18e9@dx"}"#)
        #expect(rows[6].id == "a/b c:é+&")
        #expect(parser.isComplete)
        #expect(parser.lastSequence?.description == "\"41\"")
    }

    @Test func rowKindsOfCouchDBAreDistinguished() throws {
        let (rows, parser) = try rows(of: [Array(FeedSamples.couchDB.utf8)])
        #expect(rows.map(\.kind) == [.document, .tombstone, .withoutBody])
        #expect(rows.map(\.sequence) == ["\"1-g1AAA\"", "\"7-g1AAB\"", "\"9-g1AAC\""])
        #expect(parser.isComplete)
        #expect(parser.lastSequence?.queryValue == "11-g1AAD")
    }

    /// Chunk boundaries anywhere: inside a row, a number, an escape, between a comma and its row.
    @Test(arguments: [FeedSamples.syncGateway, FeedSamples.couchDB], [1, 2, 3, 7, 64, 100])
    func resultDoesNotDependOnPieceSize(text: String, size: Int) throws {
        let bytes = Array(text.utf8)
        let whole = try rows(of: [bytes])
        let pieces = stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
        let sliced = try rows(of: pieces)
        #expect(sliced.rows == whole.rows)
        #expect(sliced.parser.isComplete)
        #expect(sliced.parser.lastSequence == whole.parser.lastSequence)
    }

    @Test(arguments: [FeedSamples.syncGateway, FeedSamples.couchDB])
    func truncatedAnswerIsIncompleteAndGivesOnlyReceivedRows(text: String) throws {
        let bytes = Array(text.utf8)
        let whole = try rows(of: [bytes]).rows
        let end = try #require(bytes.lastIndex(of: UInt8(ascii: "}")))
        for cut in 0..<end {
            let (rows, parser) = try rows(of: [Array(bytes[..<cut])])
            #expect(!parser.isComplete)
            #expect(rows == Array(whole.prefix(rows.count)))
        }
    }

    @Test func heartbeatsWithinArrayAreIgnored() throws {
        var pieces = [Array("{\"results\":[\r\n".utf8)]
        pieces += Array(repeating: Array("\n".utf8), count: 1000)
        pieces.append(Array("{\"seq\":1,\"id\":\"a\",\"changes\":[{\"rev\":\"1-a\"}]}\n],\n\"last_seq\":\"1\"}\n".utf8))
        let (rows, parser) = try rows(of: pieces)
        #expect(rows.map(\.id) == ["a"])
        #expect(parser.isComplete)
    }

    @Test func emptyAnswerHasLastSequence() throws {
        let (rows, parser) = try rows(of: [Array("{\"results\":[\r\n],\n\"last_seq\":\"99999\"}\n".utf8)])
        #expect(rows.isEmpty)
        #expect(parser.lastSequence?.description == "\"99999\"")
    }

    @Test func numericLastSequenceIsReadWhole() throws {
        let (_, parser) = try rows(of: ["{\"results\":[],\"last_seq\":12", "345}"].map { Array($0.utf8) })
        #expect(parser.lastSequence?.description == "12345")
    }

    @Test func gatewayErrorIsARow() throws {
        let text = #"{"results":[{"seq":1,"id":"a","changes":[]},{"id":"","changes":null,"err":{}}],"last_seq":"1"}"#
        #expect(try rows(of: [Array(text.utf8)]).rows.map(\.kind) == [.withoutBody, .failure])
    }

    @Test(
        arguments: [
            #"{"a":"\#u{1}"}"#, #"{"a":01}"#, #"{"a":tru}"#, #"{"a":"\x"}"#, #"{"a" 1}"#, #"{"a":1,}"#,
        ], [1, 1 << 20])
    func invalidJSONBodyDoesNotStopFeed(body: String, size: Int) throws {
        let text = """
            {"results":[{"seq":1,"id":"bad","doc":\(body),"changes":[{"rev":"1-a"}]}
            ,{"seq":2,"id":"good","doc":{"a":1},"changes":[{"rev":"1-b"}]}],"last_seq":"2"}
            """
        let bytes = Array(text.utf8)
        let pieces = stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
        let rows = try rows(of: pieces).rows
        try #require(rows.count == 2)
        guard case .malformed = rows[0].kind else {
            Issue.record("\(rows[0])")
            return
        }
        #expect(rows[0].sequence == "1")
        #expect(rows[0].id == "bad")
        #expect(rows[0].revision == "1-a")
        #expect(rows[1].kind == .document)
    }

    @Test func invalidUTF8InBodyDoesNotStopFeed() throws {
        let text =
            Array(#"{"results":[{"seq":1,"id":"bad","doc":{"a":""#.utf8) + [0xC0, 0xAF]
            + Array(#""},"changes":[]}],"last_seq":"1"}"#.utf8)
        guard case .malformed(let error) = try rows(of: [text]).rows.first?.kind else {
            Issue.record("not reported")
            return
        }
        #expect(error.reason == .invalidUTF8)
    }

    @Test(arguments: [1, 7, 1 << 20])
    func invalidUTF8InIDDoesNotStopFeed(size: Int) throws {
        let bytes =
            Array(#"{"results":[{"seq":1,"id":"b"#.utf8) + [0xC0, 0xAF]
            + Array(#"d\u00e9","doc":{"_id":"x"},"changes":[{"rev":"1-a"}]},{"seq":2,"id":"good","doc":{}}],"#.utf8)
            + Array(#""last_seq":"2"}"#.utf8)
        let pieces = stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
        let rows = try rows(of: pieces).rows
        try #require(rows.map(\.id) == ["b\u{FFFD}\u{FFFD}dé", "good"])
        #expect(rows[0].kind == .malformed(JSONError(.invalidUTF8, at: 16)))
        #expect(rows[0].revision == "1-a")
        #expect(rows[1].kind == .document)
    }

    @Test func damagedRevisionDoesNotStopFeed() throws {
        let text =
            #"{"results":[{"seq":1,"id":"a","changes":[{"rev":"1-\x"}]},{"seq":2,"id":"b","doc":{}}],"last_seq":2}"#
        let rows = try rows(of: [Array(text.utf8)]).rows
        #expect(rows.map(\.id) == ["a", "b"])
        #expect(rows.map(\.revision) == [nil, nil])
        #expect(rows.first?.kind == .malformed(JSONError(.invalidEscape, at: 39)))
    }

    @Test func damagedSequenceStopsFeed() {
        let text = #"{"results":[{"seq":"\x","id":"a","changes":[]}],"last_seq":2}"#
        #expect(throws: JSONError.self) { try rows(of: [Array(text.utf8)]) }
    }

    /// Regression: each piece was scanned again from the start of the member, without end.
    @Test(arguments: [#"{"error":"#, #"{"results":[],"last_seq":"#])
    func endlessMemberIsRefused(start: String) throws {
        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 100_000)
        let pieces = [Array((start + "\"").utf8)] + Array(repeating: piece, count: 12)
        let error = #expect(throws: JSONError.self) { try rows(of: pieces) }
        #expect(error?.reason == .tooLong(limit: 1 << 20))
    }

    @Test func endlessWhiteSpaceIsRefused() throws {
        let text = #"{"results":[],"last_seq":"# + String(repeating: " ", count: 1 << 21)
        let error = #expect(throws: JSONError.self) { try rows(of: [Array(text.utf8)]) }
        #expect(error?.reason == .tooLong(limit: 1 << 20))
    }

    @Test func longMemberWithinLimitIsAccepted() throws {
        let text = #"{"note":""# + String(repeating: "x", count: 1_000_000) + #"","results":[],"last_seq":5}"#
        let bytes = Array(text.utf8)
        let parser = try rows(of: [Array(bytes[..<500_000]), Array(bytes[500_000...])]).parser
        #expect(parser.isComplete)
        #expect(parser.lastSequence?.description == "5")
    }

    @Test func bodyWithThousandLevelsIsAccepted() throws {
        let body = #"{"a":"# + String(repeating: "[", count: 1000) + String(repeating: "]", count: 1000) + "}"
        let text = #"{"results":[{"seq":1,"id":"deep","doc":\#(body),"changes":[{"rev":"1-a"}]}],"last_seq":"1"}"#
        #expect(try rows(of: [Array(text.utf8)]).rows.map(\.kind) == [.document])
    }

    @Test(arguments: [
        "<html><body>Bad Gateway</body></html>", "[]", "\"text\"", #"{"results":[{"seq":1}{"seq":2}]}"#,
        #"{"results":[5]}"#, #"{"results":[{"id":"no sequence"}],"last_seq":"1"}"#, #"{"results":[,]}"#,
        #"{"error":"x" "reason":1}"#, "{}", #"{"last_seq":"1"}"#, #"{"results":5,"last_seq":"1"}"#,
        #"{"results":[],"last_seq":"1"}}"#,
    ])
    func otherAnswersAreRefused(text: String) {
        #expect(throws: JSONError.self) { try rows(of: [Array(text.utf8)]) }
    }

    /// For any input the parser throws or continues; it never traps.
    @Test(arguments: 0..<20)
    func mutatedAnswersNeverTrap(seed: UInt64) {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func random(_ limit: Int) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(limit))
        }
        for _ in 0..<500 {
            var bytes = Array((random(2) == 0 ? FeedSamples.syncGateway : FeedSamples.couchDB).utf8)
            for _ in 0...random(4) {
                let at = random(bytes.count)
                switch random(3) {
                case 0: bytes[at] = UInt8(random(256))
                case 1: bytes.remove(at: at)
                default: bytes.insert(Array("{}[],:\"\\0a\n".utf8)[random(11)], at: at)
                }
            }
            let cut = random(bytes.count)
            _ = try? rows(of: [Array(bytes[..<cut]), Array(bytes[cut...])])
        }
    }
}
