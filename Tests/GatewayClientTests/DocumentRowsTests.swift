import LosslessJSON
import Testing

@testable import GatewayClient

/// The rows of `_all_docs`, as sent by both servers.
@Suite struct DocumentRowsTests {
    private static let syncGateway = """
        {"rows":[
        {"key":"a","id":"a","value":{"rev":"1-a","cv":"18@x"},"doc":{"n":1.10,"_id":"a","_rev":"1-a"}}
        ,{"key":"say \\"hi\\"","id":"say \\"hi\\"","value":{"rev":"2-b"},"doc":{"_id":"b"}}
        ,{"key":"hidden","error":"forbidden","reason":"no access","status":403}
        ],
        "total_rows":3,"update_seq":37}
        """
    private static let couchDB = """
        {"total_rows":4,"offset":null,"rows":[\r
        {"id":"a/b","key":"a/b","value":{"rev":"1-a"},"doc":{"_id":"a/b","_rev":"1-a"}},\r
        {"id":"t3","key":"t3","value":{"rev":"2-c","deleted":true},"doc":null},\r
        {"key":"none","error":"not_found"},\r
        {"id":"nul\\u0000\\ud83d\\ude00","key":"nul\\u0000\\ud83d\\ude00","value":{"rev":"1-d"},"doc":null}\r
        ]}

        """

    private func documents(_ bytes: [UInt8], size: Int = .max, withBodies: Bool = true) throws -> [ListedDocument] {
        var parser = RowsParser<ListedDocument.Fields>()
        var documents: [ListedDocument] = []
        for start in stride(from: 0, to: bytes.count, by: min(size, bytes.count)) {
            parser.append(Array(bytes[start..<min(start + min(size, bytes.count), bytes.count)]))
            while let rows = try parser.nextBatch() {
                documents += DocumentBatch(rows, includesDocuments: withBodies)
            }
        }
        #expect(parser.isComplete)
        return documents
    }

    @Test(arguments: [1, 3, 64, .max])
    func rowsOfSyncGatewayAreDistinguished(size: Int) throws {
        let documents = try documents(Array(Self.syncGateway.utf8), size: size)
        #expect(documents.map(\.kind) == [.document, .document, .unreadable(reason: "no access")])
        #expect(documents.map(\.id) == ["a", "say \"hi\"", "hidden"])
        #expect(documents.map(\.revision?.text) == ["1-a", "2-b", nil])
        #expect(
            documents[0].document.map { String(decoding: $0.bytes, as: UTF8.self) }
                == #"{"n":1.10,"_id":"a","_rev":"1-a"}"#)
    }

    @Test(arguments: [1, 3, 64, .max])
    func rowsOfCouchDBAreDistinguished(size: Int) throws {
        let documents = try documents(Array(Self.couchDB.utf8), size: size)
        #expect(
            documents.map(\.kind) == [.document, .deleted, .missing, .unreadable(reason: "the gateway sent no body")])
        #expect(documents.map(\.id) == ["a/b", "t3", "none", "nul\0😀"])
        #expect(documents.map(\.revision?.text) == ["1-a", "2-c", nil, "1-d"])
    }

    @Test func rowIsDocumentWithoutBodies() throws {
        let text = #"{"rows":[{"id":"a","key":"a","value":{"rev":"1-a"}}]}"#
        #expect(try documents(Array(text.utf8), withBodies: false).map(\.kind) == [.document])
    }

    @Test func deletedBodyIsDeletedDocument() throws {
        let text = #"{"rows":[{"id":"a","value":{"rev":"2-a"},"doc":{"_id":"a","_deleted":true}}]}"#
        #expect(try documents(Array(text.utf8)).map(\.kind) == [.deleted])
    }

    @Test func invalidJSONBodyIsMalformed() throws {
        let text = #"{"rows":[{"key":"a","id":"a","value":{"rev":"1-a"},"doc":{"n":01}},{"id":"b","doc":{}}]}"#
        let documents = try documents(Array(text.utf8))
        let error = JSONError(.unexpectedByte(UInt8(ascii: "1"), expected: .commaOrEndOfObject), at: 54)
        #expect(documents.map(\.kind) == [.malformed(error), .document])
        #expect(documents.map(\.id) == ["a", "b"])
    }

    @Test func invalidUTF8InIDBecomesReplacementCharacters() throws {
        let bytes =
            Array(#"{"rows":[{"key":"k"#.utf8) + [0xFF] + Array(#"","id":"k"#.utf8) + [0xFF]
            + Array(#"","value":{"rev":"1-a"},"doc":{}},{"key":"only"#.utf8) + [0xFF] + Array(#""}]}"#.utf8)
        let documents = try documents(bytes)
        #expect(documents.map(\.id) == ["k\u{FFFD}", "only\u{FFFD}"])
        #expect(documents.map(\.revision?.text) == ["1-a", nil])
        for document in documents {
            guard case .malformed(let error) = document.kind else {
                Issue.record("\(document.kind)")
                continue
            }
            #expect(error.reason == .invalidUTF8)
        }
    }

    @Test(arguments: [
        "{}", "[]", #"{"rows":5}"#, #"{"rows":[5]}"#, #"{"rows":[{"value":{"rev":"1-a"}}]}"#, #"{"results":[]}"#,
        #"{"rows":[]}}"#, #"{"rows":[],"error":"timeout" }x"#,
    ])
    func otherAnswersAreNotLists(text: String) {
        #expect(throws: JSONError.self) { try documents(Array(text.utf8)) }
    }
}
