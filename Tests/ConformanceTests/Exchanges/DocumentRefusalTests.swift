import HTTPTransport
import LosslessJSON
import TestKit
import Testing

/// Refused requests for single documents.
@Suite(.limitedParallelism) struct DocumentRefusalTests {
    static let cases: [RequestCase] = [
        .init("an update without a revision", "PUT", "/{doc}", #"{"n":2}"#, goes: KnownDifferences.noRevision),
        .init("a stale revision in the query", "PUT", "/{doc}?rev=1-abc", "{}", goes: KnownDifferences.staleRevision),
        .init(
            "a stale revision in the body", "PUT", "/{doc}", #"{"_rev":"1-abc"}"#, goes: KnownDifferences.staleRevision),
        .init(
            "a stale revision in the header", "PUT", "/{doc}", "{}", headers: [("If-Match", #""1-abc""#)],
            goes: KnownDifferences.staleRevision),
        .init("an invalid revision", "PUT", "/{doc}?rev=xyz", "{}", goes: KnownDifferences.malformedRevision),
        .init("deleting without a revision", "DELETE", "/{doc}", goes: KnownDifferences.noRevision),
        .init("deleting a stale revision", "DELETE", "/{doc}?rev=1-abc", goes: KnownDifferences.staleRevision),
        .init(
            "deleting a missing document", "DELETE", "/{new}?rev=1-abc", goes: KnownDifferences.deletingMissingDocument),
        .init("reading a missing document", "GET", "/{new}", always: .refused(404, "not_found", "missing")),
        .init(
            "reading a missing revision", "GET", "/{doc}?rev=9-0123456789abcdef0123456789abcdef",
            always: .refused(404, "not_found", "missing")),
        .init("half a document", "PUT", "/{new}", #"{"a":"#, goes: KnownDifferences.badJSON),
        .init("an array", "PUT", "/{new}", "[1]", goes: KnownDifferences.documentIsArray),
        .init(
            "a document as text", "PUT", "/{new}", #"{"a":1}"#, headers: [("Content-Type", "text/plain")],
            goes: KnownDifferences.documentAsText),
        .init("another id in the body", "PUT", "/{new}", #"{"_id":"{doc}"}"#, goes: KnownDifferences.otherIDInBody),
        .init("the same id in the body", "PUT", "/{new}", #"{"_id":"{new}"}"#, always: .done(201)),
        .init(
            "an unknown reserved member", "PUT", "/{new}", #"{"_foo":1}"#,
            goes: KnownDifferences.unknownReservedMember),
        .init("an internal member", "PUT", "/{new}", #"{"_sync":{}}"#, goes: KnownDifferences.internalMember),
        .init("a reserved id", "PUT", "/_foo", #"{"a":1}"#, goes: KnownDifferences.reservedID),
        .init("an unknown page", "GET", "/_nope", goes: KnownDifferences.unknownPage),
        .init("a wrong method", "DELETE", "/_changes", goes: KnownDifferences.wrongMethod),
        .init(
            "a client that does not accept JSON", "GET", "/{doc}", headers: [("Accept", "text/html")],
            goes: KnownDifferences.wantsNoJSON),
        .init(
            "a client that has the document", "GET", "/{doc}", headers: [("If-None-Match", #""{rev}""#)],
            goes: KnownDifferences.unchangedDocument),
    ]

    @Test(arguments: cases) func exchangeHasTheExpectedAnswer(_ request: RequestCase) async throws {
        try await request.run()
    }

    @Test func refusedWriteChangesNothing() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let revision = try await workspace.put(id, #"{"n":1}"#)
            #expect(try await workspace.send("PUT", workspace.path(id), #"{"n":2}"#).status == 409)
            #expect(try await workspace.send("DELETE", workspace.path(id)).status == 409)
            let reply = try await workspace.send("GET", workspace.path(id))
            #expect(reply["_rev"]?.string == revision)
            #expect(reply["n"]?.integer == 1)
        }
    }

    @Test func wrongMethodListsTheAllowedOnes() async throws {
        try await Workspace.with { workspace in
            let reply = try await workspace.send("DELETE", "/_changes")
            #expect(reply.headers["Allow"] == KnownDifferences.allowedMethods[workspace.kind])
        }
    }

    /// - Note: Source: recorded; 250 bytes are accepted, 251 are not.
    @Test(arguments: [250, 251]) func idLengthIsLimited(_ length: Int) async throws {
        try await Workspace.with { workspace in
            let name = String(repeating: "i", count: length - workspace.prefix.utf8.count)
            let reply = try await workspace.send("PUT", workspace.path(workspace.id(name)), #"{"a":1}"#)
            let expected = length <= 250 ? .done(201) : KnownDifferences.longID[workspace.kind] ?? .done(201)
            #expect(reply.outcome.fits(expected), "\(reply.outcome) instead of \(expected)")
        }
    }
}
