import GatewayClient
import LosslessJSON
import Testing

@testable import TypedDocuments

/// The effect of a change on the matching documents.
@Suite struct LiveQueryTests {
    private struct Note: DocumentCodable {
        var origin = DocumentOrigin()
        var text: String
    }

    private func row(_ id: DocumentID, _ revision: String, _ text: String? = "\"x\"") throws -> FeedRow {
        let document = try text.map { try JSONText(#"{"_id":"\#(id)","_rev":"\#(revision)","text":\#($0)}"#) }
        return FeedRow(
            sequence: .start, id: id, revision: RevisionID(revision),
            content: document.map { .document($0.root) } ?? .deleted)
    }

    private func describe(_ changes: [LiveChange<Note>]) -> [String] {
        changes.map { change in
            switch change {
            case .inserted(let note): "+\(note.text)"
            case .updated(let note): "=\(note.text)"
            case .removed(let id): "-\(id)"
            case .upToDate: "."
            case .undecodable(let error): "!\(error.keyPath)"
            }
        }
    }

    @Test func matchingDocumentsAreTracked() throws {
        var query = LiveQuery(DocumentReading<Note>(isCollection: false))
        for (row, isMatch, expected) in [
            (try row("a", "1-a"), false, []), (try row("a", "2-a"), true, ["+x"]),
            // The feed delivers it again.
            (try row("a", "2-a"), true, []),
            (try row("a", "3-a", "\"y\""), true, ["=y"]), (try row("a", "4-a"), false, ["-a"]),
            (try row("a", "5-a"), false, []), (try row("b", "1-b"), true, ["+x"]),
            (try row("b", "2-b", nil), false, ["-b"]), (try row("c", "1-c", nil), false, []),
            // The document does not fit the type.
            (try row("d", "1-d", "5"), true, ["!text"]), (try row("d", "2-d"), true, ["+x"]),
            (try row("d", "3-d", "5"), true, ["-d", "!text"]),
        ] as [(FeedRow, Bool, [String])] {
            #expect(describe(query.take(row, isMatch: isMatch)) == expected)
        }
    }
}
