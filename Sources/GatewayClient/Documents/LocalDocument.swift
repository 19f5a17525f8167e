internal import LosslessJSON

/// A document that is not replicated and not in the feed, for a client's own data.
public struct LocalDocument: Sendable, Equatable {
    /// A revision such as `0-3`; the next write must contain it.
    public let revision: RevisionID
    /// How often it was written, as both servers count: `0-3` is the third write. Nil for a revision in another form.
    public var writes: Int? { revision.text.split(separator: "-").last.flatMap { Int($0) } }
    /// The JSON object, without `_id` and `_rev`.
    public let body: [UInt8]

    /// Does not write: see ``Gateway/saveLocalDocument(_:body:revision:)``.
    public init(revision: RevisionID, body: [UInt8]) {
        self.revision = revision
        self.body = body
    }
}

extension Gateway {
    /// Reads a `_local` document; nil if there is none. Each collection has its own, shared by all users of the
    /// keyspace. Sync Gateway drops one after 90 days without a write.
    ///
    /// - Throws: `.notFound` if the keyspace is missing; `.notOffered` if this gateway has no `_local` documents, or
    ///   none for this user.
    /// - Note: Source: `GET /{keyspace}/_local/{name}`.
    public func localDocument(_ name: String) async throws(GatewayError) -> LocalDocument? {
        let found: JSONText?
        do throws(GatewayError) { found = try await optional(Self.place(ofLocal: name)) } catch {
            throw Self.refusal(ofLocal: error)
        }
        guard let found else { return nil }
        guard let revision = found.root["_rev"]?.string else {
            throw GatewayError(.malformedAnswer, "\(url): a _local document has no revision")
        }
        return LocalDocument(revision: RevisionID(revision), body: Self.body(found, revision: nil))
    }

    /// Writes a `_local` document. If the call throws, it may still have been written: read it again.
    ///
    /// - Parameters:
    ///   - body: A JSON object; its `_id` and `_rev` are omitted.
    ///   - revision: The revision to replace; nil if there is none.
    /// - Throws: `.conflict` (``GatewayError/Cause/localDocumentConflict``) on Sync Gateway if `revision` is not the
    ///   current one. CouchDB accepts any revision: there, two writers overwrite each other. `.invalidRequest` if
    ///   `body` is not an object; `.notFound` and `.notOffered` as ``localDocument(_:)``.
    /// - Returns: The new revision.
    /// - Note: Source: `PUT /{keyspace}/_local/{name}`.
    @discardableResult
    public func saveLocalDocument(
        _ name: String, body: [UInt8], revision: RevisionID? = nil
    ) async throws(GatewayError) -> RevisionID {
        guard let text = try? JSONText(body), text.root.kind == .object else {
            throw GatewayError(.invalidRequest, "the _local document '\(name)' must be a JSON object")
        }
        do throws(GatewayError) {
            return try await put(Self.place(ofLocal: name), Self.body(text, revision: revision))
        } catch {
            throw Self.refusal(ofLocal: error)
        }
    }

    /// Deletes a `_local` document.
    ///
    /// - Parameter revision: The current one.
    /// - Throws: `.conflict` if it is not; `.notFound` if there is no such document or keyspace; `.notOffered` as
    ///   ``localDocument(_:)``.
    /// - Note: Source: `DELETE /{keyspace}/_local/{name}?rev=`. Sync Gateway answers without a body.
    package func deleteLocalDocument(_ name: String, revision: RevisionID) async throws(GatewayError) {
        let request = GatewayRequest(
            method: "DELETE", place: Self.place(ofLocal: name), query: [("rev", revision.text)],
            deadline: settings.deadlines.small)
        do throws(GatewayError) { _ = try await collect(request) } catch { throw Self.refusal(ofLocal: error) }
    }

    private static func place(ofLocal name: String) -> GatewayRequest.Place {
        .keyspace("_local/\(name.percentEncoded)")
    }

    private static func body(_ text: JSONText, revision: RevisionID?) -> [UInt8] {
        var body = JSONWriter()
        body.object { body in
            if let revision { body.member("_rev", string: revision.text) }
            for member in text.root.members where !["_id", "_rev"].contains(member.name.string) {
                body.raw(text.bytes[member.range])
            }
        }
        return body.bytes
    }

    /// Restricted users may get 403, 404 or 405 for `_local` documents alone.
    private static func refusal(ofLocal error: GatewayError) -> GatewayError {
        guard [403, 404, 405].contains(error.status), !error.concernsAllDocuments, error.code != .malformedAnswer else {
            return error
        }
        var refusal = error
        refusal.code = .notOffered
        refusal.message = "can't use _local documents: \(error.message)"
        return refusal
    }
}
