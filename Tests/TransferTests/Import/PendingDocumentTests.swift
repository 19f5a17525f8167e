import GatewayClient
import LosslessJSON
import Testing

@testable import Transfer

/// The next step after a write's answer, and the decision which documents are read first.
@Suite struct PendingDocumentTests {
    private static func document(
        _ text: String = #"{"_id":"a"}"#, isDeletion: Bool = false, isStreamed: Bool = false
    ) throws -> ImportDocument {
        let text = try JSONText(text)
        return ImportDocument(
            origin: ImportOrigin(ordinal: 0, line: 1, source: .json(text.bytes)), id: "a", text: text, revision: nil,
            isDeletion: isDeletion, attachments: try ImportAttachment.all(of: text.root, store: nil), isShared: false,
            isStreamed: isStreamed, byteCount: text.bytes.count)
    }

    private enum End: Equatable {
        case inserted, conflict, rejected
        case again(failures: Int)
    }

    @Test(
        arguments: [
            (.written(RevisionID("1-a")), 0, false, .inserted), (.written(RevisionID("1-a")), 9, true, .inserted),
            (.rejected(status: 403, reason: "no"), 0, false, .rejected),
            // The retry policy of the run counts these.
            (.undecided(reason: "busy"), 9, false, .again(failures: 9)),
            (.conflict, 0, false, .again(failures: 1)), (.conflict, 8, false, .again(failures: 9)),
            (.conflict, 9, false, .rejected), (.conflict, 0, true, .conflict), (.conflict, 9, true, .conflict),
            (.failed(reason: "x"), 0, true, .again(failures: 1)), (.failed(reason: "x"), 9, true, .rejected),
            (.unmentioned, 8, true, .again(failures: 9)), (.unmentioned, 9, false, .rejected),
        ] as [(BulkOutcome, Int, Bool, End)])
    private func answerSettlesDocumentOrItIsRetried(
        outcome: BulkOutcome, failures: Int, isConflictFinal: Bool, end: End
    ) throws {
        let open = PendingDocument(index: 3, document: try Self.document(), failures: failures)
        let found: End
        switch open.nextStep(outcome, wanted: .inserted, ifConflict: isConflictFinal ? .alreadyExists : nil) {
        case .ended(.inserted): found = .inserted
        case .ended(.alreadyExists): found = .conflict
        case .ended: found = .rejected
        case .retry(let next): found = .again(failures: next.failures)
        }
        #expect(found == end)
    }

    @Test(
        arguments: [
            (.insert, false, false, false), (.upsert, false, false, false), (.merge, false, false, true),
            (.delete, false, false, true), (.insert, true, false, true), (.upsert, false, true, true),
        ] as [(ImportMode, Bool, Bool, Bool)])
    func documentsAreReadFirstWhereNecessary(
        mode: ImportMode, isDryRun: Bool, isAgain: Bool, isRead: Bool
    ) throws {
        let policy = LookupPolicy(mode, isDryRun: isDryRun)
        #expect(policy.needsLookup(try Self.document(), isFirstAttempt: !isAgain) == isRead)
    }

    @Test func documentsThatNeedLookupAreReadFirst() throws {
        let policy = LookupPolicy(.upsert, isDryRun: false)
        let stub = #"{"_id":"a","_attachments":{"i":{"stub":true,"length":3}}}"#
        let documents = [
            try Self.document(stub), try Self.document(isDeletion: true), try Self.document(isStreamed: true),
        ]
        for document in documents { #expect(policy.needsLookup(document, isFirstAttempt: true)) }
    }

    @Test(
        arguments: [
            (.upsert, 100, 51, true), (.upsert, 100, 50, false), (.upsert, 1, 1, true),
            // A conflict is final for these.
            (.insert, 100, 100, false),
        ] as [(ImportMode, Int, Int, Bool)])
    func importLearnsThatDocumentsExist(mode: ImportMode, documents: Int, again: Int, expects: Bool) {
        var policy = LookupPolicy(mode, isDryRun: false)
        policy.noteFirstAttempt(of: documents, again: again)
        #expect(policy.expectsDocuments == expects)
    }

    /// No conflict can show this, because all documents are read first.
    @Test func importLearnsThatDocumentsAreNewAgain() {
        var policy = LookupPolicy(.upsert, isDryRun: false)
        policy.noteFirstAttempt(of: 1, again: 1)
        policy.noteFirstAttempt(of: 100, again: 0, isTrial: false)
        #expect(policy.expectsDocuments)
        policy.noteFirstAttempt(of: 100, again: 0, isTrial: true)
        #expect(!policy.expectsDocuments)
    }
}
