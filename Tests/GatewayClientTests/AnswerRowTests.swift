import LosslessJSON
import Testing

@testable import GatewayClient

@Suite struct BulkOutcomeTests {
    @Test(
        arguments: [
            (#"{"id":"a","rev":"1-x","cv":"18@y"}"#, .written(RevisionID("1-x"))),
            (#"{"ok":true,"id":"a","rev":"1-x"}"#, .written(RevisionID("1-x"))),
            (#"{"error":"conflict","id":"a","reason":"Document exists","status":409}"#, .conflict),
            (#"{"id":"a","error":"conflict","reason":"Document update conflict."}"#, .conflict),
            (
                #"{"error":"forbidden","id":"a","reason":"sg missing role","status":403}"#,
                .rejected(status: 403, reason: "forbidden: sg missing role")
            ),
            (#"{"id":"a","error":"timeout","reason":"slow"}"#, .undecided(reason: "timeout: slow")),
            (#"{"id":"a","error":"doc_validation","reason":"x"}"#, .rejected(status: 400, reason: "doc_validation: x")),
            (#"{"id":"a","error":"forbidden","reason":"no"}"#, .rejected(status: 403, reason: "forbidden: no")),
            (
                #"{"error":"413","id":"a","reason":"Attachment too large","status":413}"#,
                .rejected(status: 413, reason: "Attachment too large")
            ),
            (
                #"{"error":"Service Unavailable","id":"a","reason":"busy","status":503}"#,
                .undecided(reason: "Service Unavailable: busy")
            ),
        ] as [(String, BulkOutcome)])
    func outcomeIsReadFromBothServersRows(row: String, outcome: BulkOutcome) throws {
        #expect(BulkOutcome(row: try JSONText(row).root) == outcome)
    }
}

@Suite struct DocumentLookupTests {
    private func lookup(_ row: String) throws -> DocumentLookup { DocumentLookup(row: try JSONText(row).root) }

    @Test func foundDocumentKeepsItsBytes() throws {
        let row = #"{"key":"a","id":"a","value":{"rev":"1-x"},"doc":{"z":1.10,"a":12345678901234567890123,"_id":"a"}}"#
        guard case .found(let revision, let document) = try lookup(row) else {
            Issue.record("not found")
            return
        }
        #expect(revision.text == "1-x")
        #expect(String(decoding: document.bytes, as: UTF8.self) == #"{"z":1.10,"a":12345678901234567890123,"_id":"a"}"#)
    }

    @Test func couchDBReportsDeletedDocuments() throws {
        guard
            case .deleted(let revision) = try lookup(
                #"{"id":"t3","key":"t3","value":{"rev":"2-15","deleted":true},"doc":null}"#)
        else {
            Issue.record("not deleted")
            return
        }
        #expect(revision.text == "2-15")
    }

    @Test(arguments: [#"{"key":"a","error":"not_found","status":404}"#, #"{"key":"a","error":"not_found"}"#])
    func missing(row: String) throws {
        guard case .missing = try lookup(row) else {
            Issue.record("not missing")
            return
        }
    }

    @Test func refusedRowNamesTheCause() throws {
        guard case .refused(let reason) = try lookup(#"{"key":"a","error":"forbidden","reason":"no","status":403}"#)
        else {
            Issue.record("not refused")
            return
        }
        #expect(reason == "no")
    }

    /// Sync Gateway says only "bad_request".
    @Test func refusedDesignDocumentNamesTheCause() throws {
        let refused = try lookup(#"{"key":"_design/x","error":"bad_request","reason":"bad_request","status":400}"#)
        guard case .refused(let reason) = refused.explained(for: "_design/x", .syncGateway) else {
            Issue.record("not refused")
            return
        }
        #expect(reason.contains("does not accept design documents; remove the rule"))
        for (id, dialect) in [("t1", GatewayDialect.syncGateway), ("_design/x", .couchDB)] {
            guard case .refused("bad_request") = refused.explained(for: DocumentID(id), dialect) else {
                Issue.record("\(id) is explained")
                continue
            }
        }
    }
}
