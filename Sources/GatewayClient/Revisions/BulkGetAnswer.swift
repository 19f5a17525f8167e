internal import HTTPTransport
internal import LosslessJSON

/// The answer to one `_bulk_get` request, read as it arrives.
///
/// Memory holds one revision or attachment, and the data that the transfer has read ahead. Dropping the answer unread,
/// or cancelling the reading task, closes the connection.
public struct BulkGetAnswer {
    private let body: HTTPBody
    private let url: GatewayURL
    /// Reads a multipart answer; nil for JSON. Both parsers are changed in place: copying one would copy its buffer
    /// with each chunk.
    private var parts: BulkGetParts?
    private var rows = RowsParser<BulkGetRow>()
    private var items: ArraySlice<BulkGetItem> = []

    init(_ response: HTTPResponse, url: GatewayURL) {
        body = response.body
        self.url = url
        parts = MultipartReader(contentType: response.headers["Content-Type"]).map { BulkGetParts($0) }
    }

    /// The next revision, attachment or refusal; nil at the proper end of the answer.
    ///
    /// - Throws: `.connectionLost` if the answer is truncated, `.malformedAnswer` if this is not an answer of
    ///   `_bulk_get`.
    public mutating func next() async throws(GatewayError) -> BulkGetItem? {
        while true {
            if let item = try nextItem() { return item }
            let chunk: [UInt8]?
            do throws(HTTPTransportError) { chunk = try await body.next() } catch { throw GatewayError(error) }
            guard let chunk else {
                guard isComplete else {
                    throw GatewayError(.connectionLost, "\(url): the answer to _bulk_get is cut short")
                }
                return nil
            }
            append(chunk)
        }
    }

    private var isComplete: Bool { parts?.isComplete ?? rows.isComplete }

    private mutating func append(_ chunk: [UInt8]) {
        if parts == nil { rows.append(chunk) } else { parts?.append(chunk) }
    }

    private mutating func nextItem() throws(GatewayError) -> BulkGetItem? {
        if let item = items.popFirst() { return item }
        guard parts == nil else {
            do throws(BulkGetParts.PartError) { return try parts?.next() } catch { throw malformed(error) }
        }
        do throws(JSONError) {
            items = try rows.nextBatch()?.items()[...] ?? []
            return items.popFirst()
        } catch { throw malformed(error) }
    }

    private func malformed(_ error: any Error) -> GatewayError {
        GatewayError(.malformedAnswer, "\(url): the answer to _bulk_get is not a list of revisions: \(error)")
    }
}

extension Gateway {
    /// Reads revisions by id. Returns when the answer begins.
    ///
    /// - Parameters:
    ///   - keys: A key may occur more than once, with different revisions.
    ///   - includesHistory: Whether to add `_revisions`, the ancestors of each.
    ///   - includesAttachments: Whether to add the attachments' bytes, inline or as ``BulkGetItem/attachment(_:)``.
    /// - Throws: Errors before the answer begins: a refusal of the whole request (`.notFound` if the keyspace does not
    ///   exist, `.unauthorized`, `.forbidden`), `.connectionLost` and others as for every request. A retry makes sense
    ///   if ``GatewayError/isRetryable`` is true. ``BulkGetAnswer/next()`` throws later errors; an unreadable revision
    ///   is an item, not an error.
    /// - Note: Source: `POST /{keyspace}/_bulk_get`. Sync Gateway answers only in multipart, and with 406 to a request
    ///   for JSON; CouchDB answers in JSON on request.
    public func bulkGet(
        _ keys: [BulkGetKey], includesHistory: Bool = false, includesAttachments: Bool = false
    ) async throws(GatewayError) -> BulkGetAnswer {
        var body = JSONWriter()
        body.object { body in
            body.name("docs")
            body.array { body in
                for key in keys {
                    body.object { body in
                        body.member("id", string: key.id.text)
                        if let revision = key.revision { body.member("rev", string: revision.text) }
                    }
                }
            }
        }
        var query: [(name: String, value: String)] = []
        if includesHistory { query.append(("revs", "true")) }
        if includesAttachments { query.append(("attachments", "true")) }
        let request = GatewayRequest(
            method: "POST", place: .keyspace("_bulk_get"), query: query, body: .json(body.bytes),
            deadline: settings.deadlines.stream, silence: settings.deadlines.silence,
            accept: dialect.bulkGetType, gatheringTime: GatewayRequest.listGatheringTime)
        return BulkGetAnswer(try await open(request), url: url)
    }
}
