internal import Encodings
internal import Locking
package import LosslessJSON

/// The result of reading a document's expiry.
public enum ExpiryLookup: Sendable {
    /// The winning revision, and the JSON text of `_exp`, a date in UTC; nil if the document does not expire.
    case found(RevisionID, [UInt8]?)
    /// The document is missing or deleted.
    case missing
    /// This user may not read it.
    case refused(reason: String)

    /// The JSON text of `_exp`, if the document expires.
    public var expiry: [UInt8]? { if case .found(_, let expiry) = self { expiry } else { nil } }
}

extension Gateway {
    /// Whether ``currentDocuments(_:includesBodies:limit:)`` reads `_exp`. Never on CouchDB, which has no expiry.
    public var keepsExpiry: Bool { dialect.expiresDocuments && wantsExpiry.withLock { $0 } }

    /// Enables ``GatewaySettings/keepsExpiry`` from now on, including for siblings.
    public func keepExpiry() { wantsExpiry.withLock { $0 = true } }

    /// The expiry of a document, regardless of the settings.
    ///
    /// - Throws: The same errors as ``document(_:)``, except for a document that this user may not read.
    /// - Note: Source: `GET /{keyspace}/{id}?show_exp=true`. No other request shows `_exp` (Sync Gateway 4.1.1, 3.3.7).
    public func expiry(of id: DocumentID) async throws(GatewayError) -> ExpiryLookup {
        do throws(GatewayError) {
            let document = try await optional(place(of: id), query: [("show_exp", "true")])
            guard let root = document?.root else { return .missing }
            guard root["_id"]?.string == id.text else {
                throw GatewayError(.malformedAnswer, "\(url): the gateway answered with a document other than '\(id)'")
            }
            let expiry = root[DocumentExpiry.member].flatMap { $0.kind == .null ? nil : Self.inUTC($0) }
            return .found(RevisionID(root["_rev"]?.string ?? ""), expiry)
        } catch {
            // A 403 concerns this document alone. If it concerns the keyspace, the next request shows it.
            guard error.status == 403, !error.concernsAllDocuments else { throw error }
            return .refused(reason: error.description)
        }
    }

    /// The expiries of several documents. Requests a few at a time, because each answer contains a whole document.
    ///
    /// - Parameter documents: The documents, with the lengths of their bodies where known.
    /// - Returns: One lookup per document, in their order.
    public func expiries(
        of documents: [(id: DocumentID, byteCount: Int)]
    ) async throws(GatewayError) -> [ExpiryLookup] {
        var result: [ExpiryLookup] = []
        var rest = documents[...]
        while !rest.isEmpty {
            let part = rest.prefix(Self.concurrentLookups(rest))
            rest = rest.dropFirst(part.count)
            let lookups = await withTaskGroup(of: IndexedExpiry.self) { group in
                for (index, document) in part.enumerated() {
                    group.addTask {
                        // Not within the initializer: Swift 6.3 with -O loses an index that is stored before it waits.
                        let lookup = await self.expiryResult(of: document.id)
                        return IndexedExpiry(index: index, result: lookup)
                    }
                }
                return await group.reduce(into: [Int: Result<ExpiryLookup, GatewayError>]()) {
                    $0[$1.index] = $1.result
                }
            }
            for index in 0..<part.count { if let lookup = lookups[index] { result.append(try lookup.get()) } }
        }
        return result
    }

    private struct IndexedExpiry: Sendable {
        let index: Int
        let result: Result<ExpiryLookup, GatewayError>
    }

    private func expiryResult(of id: DocumentID) async -> Result<ExpiryLookup, GatewayError> {
        do throws(GatewayError) { return .success(try await expiry(of: id)) } catch { return .failure(error) }
    }

    /// At most 8, and 1 MiB of documents together; at least one.
    private static func concurrentLookups(_ documents: ArraySlice<(id: DocumentID, byteCount: Int)>) -> Int {
        var bytes = 0
        let small = documents.prefix(8).prefix { document in
            bytes += document.byteCount
            return bytes <= 1 << 20
        }
        return max(1, small.count)
    }

    /// Servers write dates in their own time zone.
    private static func inUTC(_ expiry: JSONValue) -> [UInt8] {
        guard let date = expiry.string.flatMap({ UTCDate(rfc3339: $0) }) else { return Array(expiry.bytes) }
        var writer = JSONWriter()
        writer.string(Timestamp.text(date.secondsRoundedUp))
        return writer.bytes
    }

    // MARK: - With documents

    /// How often a constantly changing document is read again.
    private static let expiryAttempts = 5

    /// Adds `_exp` to documents that expire and were just read.
    func withExpiry(
        _ ids: [DocumentID], _ documents: [DocumentLookup], limit: Int
    ) async throws(GatewayError) -> [DocumentLookup] {
        var result = documents
        var open = documents.indices.filter { documents[$0].isFound }
        for _ in 0..<Self.expiryAttempts where !open.isEmpty {
            let expiries = try await expiries(of: open.map { (ids[$0], result[$0].byteCount) })
            var changed: [Int] = []
            for (index, expiry) in zip(open, expiries) {
                guard case .found(let revision, let document) = result[index] else { continue }
                switch expiry {
                case .found(revision, let expiry):
                    if let expiry { result[index] = .found(revision, document.expiring(expiry)) }
                case .found: changed.append(index)
                case .missing: result[index] = .missing
                case .refused(let reason): result[index] = .refused(reason: reason)
                }
            }
            guard !changed.isEmpty else { return result }
            // They have changed between the two requests.
            let again = try await listed(changed.map { ids[$0] }, includesBodies: true, limit: limit)
            for (index, lookup) in zip(changed, again) { result[index] = lookup }
            open = changed.filter { result[$0].isFound }
        }
        guard let index = open.first else { return result }
        throw GatewayError(
            .unavailable, "\(url): the document '\(ids[index])' keeps changing, so its expiry can't be read")
    }
}

extension JSONText {
    /// The same document with this `_exp`; unchanged if it has two members of that name.
    ///
    /// - Parameter expiry: JSON text.
    package func expiring(_ expiry: [UInt8]) -> JSONText {
        (try? setting(JSONPointer(tokens: [DocumentExpiry.member]), to: expiry)) ?? self
    }
}

extension JSONValue {
    /// The time of an `_exp`, in seconds since 1970; nil if it is not a time.
    ///
    /// - Parameter now: Seconds since 1970.
    package func expiryTime(now: Int) -> Int? {
        if let text = string { return DocumentExpiry.time(ofText: text, now: now) }
        guard kind == .number, let number = Double(String(decoding: bytes, as: UTF8.self)) else { return nil }
        return DocumentExpiry.time(ofNumber: number, now: now)
    }
}

extension DocumentLookup {
    fileprivate var isFound: Bool { if case .found = self { true } else { false } }
}
