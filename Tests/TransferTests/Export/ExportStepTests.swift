import LosslessJSON
import Testing

@testable import GatewayClient
@testable import Revisions
@testable import Transfer

/// The step for each row, before the selector and earlier lines are considered.
@Suite struct ExportStepTests {
    static func change(_ row: String) throws -> Change {
        var parser = ChangesParser(isContinuous: true)
        parser.append(Array((row + "\n").utf8))
        return try #require(try parser.nextBatch()?.first)
    }

    private static func listed(_ row: String) throws -> ListedDocument {
        var parser = RowsParser<ListedDocument.Fields>()
        parser.append(Array(#"{"rows":[\#(row)]}"#.utf8))
        return try #require(try parser.nextBatch().map { DocumentBatch($0, includesDocuments: true) }?.first)
    }

    private static func name(_ step: ExportStep) -> String {
        switch step {
        case .write(let document): "write \(document["_id"]?.string ?? "")"
        case .writeTombstone(let text): text == nil ? "tombstone without a text" : "tombstone"
        case .read: "read"
        case .withdraw: "withdraw"
        case .report(let reason): "report \(reason.prefix(14))"
        case .nothing: "nothing"
        }
    }

    @Test(arguments: [
        (#"{"seq":1,"id":"a","doc":{"_id":"a","_rev":"1-a"},"changes":[{"rev":"1-a"}]}"#, "write a"),
        (#"{"seq":1,"id":"a","deleted":true,"doc":{"_id":"a","_deleted":true},"changes":[]}"#, "tombstone"),
        (#"{"seq":1,"id":"a","deleted":true,"changes":[{"rev":"2-b"}]}"#, "tombstone without a text"),
        (#"{"seq":1,"id":"a","changes":[{"rev":"7-ab"}]}"#, "read"),
        (#"{"seq":1,"id":"a","doc":null,"changes":[{"rev":"7-ab"}]}"#, "read"),
        (#"{"seq":1,"id":"_user/amy","changes":[]}"#, "nothing"),
        // The document left the user's channels and must not be exported. A deletion looks the same.
        (#"{"seq":1,"id":"a","removed":["A"],"doc":{"_removed":true},"changes":[{"rev":"2-b"}]}"#, "nothing"),
        (#"{"seq":1,"id":"a","removed":["A"],"deleted":true,"changes":[{"rev":"2-b"}]}"#, "tombstone without a text"),
        (#"{"seq":1,"id":"a","revoked":true,"doc":{"_removed":true},"changes":[{"rev":"2-b"}]}"#, "nothing"),
        (#"{"seq":1,"id":"a","doc":{"_id":"a","x":01},"changes":[{"rev":"1-a"}]}"#, "report it is not JSON"),
    ])
    func feedRowDeterminesStep(row: String, expected: String) throws {
        #expect(Self.name(ExportStep(try Self.change(row))) == expected)
    }

    @Test(arguments: [
        (#"{"id":"a","key":"a","value":{"rev":"1-a"},"doc":{"_id":"a","_rev":"1-a"}}"#, "write a"),
        (#"{"id":"a","key":"a","value":{"rev":"2-c","deleted":true},"doc":null}"#, "nothing"),
        (#"{"key":"a","error":"not_found"}"#, "nothing"),
        (#"{"key":"a","error":"forbidden","reason":"no access"}"#, "report no access"),
        (#"{"id":"a","key":"a","value":{"rev":"1-d"},"doc":null}"#, "report the gateway se"),
        (#"{"id":"a","key":"a","value":{"rev":"1-d"},"doc":{"x":01}}"#, "report it is not JSON"),
    ])
    func allDocsRowDeterminesStep(row: String, expected: String) throws {
        #expect(Self.name(ExportStep(try Self.listed(row))) == expected)
    }

    @Test func lookupDeterminesStep() throws {
        let found = DocumentLookup.found(RevisionID("1-a"), try JSONText(#"{"_id":"a"}"#))
        let cases: [(DocumentLookup, String)] = [
            (found, "write a"), (.deleted(RevisionID("2-b")), "withdraw"), (.missing, "withdraw"),
            (.refused(reason: "no"), "report no"),
        ]
        for (lookup, expected) in cases { #expect(Self.name(ExportStep(lookup)) == expected) }
    }

    @Test(arguments: [
        (#"{"seq":1,"id":"a","changes":[{"rev":"2-b"},{"rev":"2-a"}]}"#, ["2-b", "2-a"]),
        (#"{"seq":1,"id":"a","deleted":true,"changes":[{"rev":"3-c"}]}"#, ["3-c"]),
        (#"{"seq":1,"id":"a","removed":["A"],"changes":[{"rev":"2-b"}]}"#, []),
        (#"{"seq":1,"id":"a","removed":["A"],"deleted":true,"changes":[{"rev":"2-b"}]}"#, ["2-b"]),
        (#"{"seq":1,"id":"_user/amy","changes":[]}"#, []),
    ])
    func allLeavesOfChangeAreRead(row: String, revisions: [String]) throws {
        #expect(RevisionsReader.leaves(of: try Self.change(row)).map(\.revision?.text) == revisions)
    }
}
