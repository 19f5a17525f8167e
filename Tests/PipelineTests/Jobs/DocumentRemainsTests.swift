import GatewayClient
import LosslessJSON
import Testing

@testable import Pipeline

/// What is left of a document that the gateway does not return.
@Suite struct DocumentRemainsTests {
    /// The content as text, to compare.
    private static func text(_ content: RetriedDocument.Content?) -> String? {
        switch content {
        case .tombstone(let revision): "tombstone \(revision.text)"
        case .gone: "gone"
        case .unreadable(let reason): "unreadable: \(reason)"
        case .document: "document"
        case .unknown: "unknown"
        case nil: nil
        }
    }

    @Test(arguments: [
        ([], "gone"), ([#"{"_rev":"2-b","_deleted":true}"#], "tombstone 2-b"),
        // The winner is the leaf with the highest generation, by number, then the greater digest.
        ([#"{"_rev":"9-a","_deleted":true}"#, #"{"_rev":"10-a","_deleted":true}"#], "tombstone 10-a"),
        ([#"{"_rev":"2-b","_deleted":true}"#, #"{"_rev":"2-c","_deleted":true}"#], "tombstone 2-c"),
        ([#"{"_rev":"2-c","_deleted":true}"#, #"{"_rev":"2-b","_deleted":true}"#], "tombstone 2-c"),
        // What is not deleted is no tombstone, nor what has no revision.
        ([#"{"_rev":"3-c"}"#, #"{"_rev":"2-b","_deleted":true}"#], "tombstone 2-b"),
        ([#"{"_rev":"3-c","_deleted":false}"#], "gone"), ([#"{"_rev":"3-c","_deleted":1}"#], "gone"),
        ([#"{"_deleted":true}"#], "gone"),
    ])
    func leavesTellWhatIsLeft(leaves: [String], content: String) throws {
        let leaves = try leaves.map { OpenRevision.found(try JSONText($0)) } + [.missing(RevisionID("99-z"))]
        #expect(Self.text(DocumentRemains.content(of: leaves)) == content)
    }

    @Test(
        arguments: [
            (.notFound, ["gone"]), (.badRequest, ["unreadable: x"]), (.tooLarge, ["unreadable: x"]),
            // An invalid answer may be a gateway's that is just starting.
            (.malformedAnswer, [nil, nil, "unreadable: x"]),
            // The retry policy decides how long these are borne.
            (.unavailable, [nil, nil, nil, nil]), (.unauthorized, [nil, nil, nil, nil]),
            (.forbidden, [nil, nil, nil, nil]),
        ] as [(GatewayError.Code, [String?])])
    func errorsTellItLater(code: GatewayError.Code, contents: [String?]) {
        var remains = DocumentRemains()
        for content in contents { #expect(Self.text(remains.content(after: GatewayError(code, "x"))) == content) }
    }

    @Test func otherErrorsAreNoInvalidAnswers() {
        var remains = DocumentRemains()
        for code in [.malformedAnswer, .unavailable, .malformedAnswer, .timedOut] as [GatewayError.Code] {
            #expect(remains.content(after: GatewayError(code, "x")) == nil)
        }
        #expect(Self.text(remains.content(after: GatewayError(.malformedAnswer, "x"))) == "unreadable: x")
    }
}
