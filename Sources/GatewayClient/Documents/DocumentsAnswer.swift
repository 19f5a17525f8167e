internal import HTTPTransport
internal import LosslessJSON

/// The answer to one `_all_docs` request, read as it arrives.
///
/// The transfer is paused until the next batch is requested. Dropping the answer unread, or cancelling the reading
/// task, closes the connection.
public struct DocumentsAnswer {
    private let body: HTTPBody
    private let url: GatewayURL
    private let includesDocuments: Bool
    /// The longest time in which only blank lines may arrive.
    private let maxWhitespaceTime: Duration
    private var parser = RowsParser<ListedDocument.Fields>()

    init(body: HTTPBody, url: GatewayURL, includesDocuments: Bool, maxWhitespaceTime: Duration) {
        self.body = body
        self.url = url
        self.includesDocuments = includesDocuments
        self.maxWhitespaceTime = maxWhitespaceTime
    }

    /// The next rows, as many as have arrived; nil at the proper end of the answer.
    ///
    /// - Throws: `.connectionLost` if the answer is truncated: earlier rows are valid, request again from the last of
    ///   them. `.malformedAnswer` if this is not an answer of `_all_docs`. `.timedOut` also if only blank lines arrive.
    public mutating func next() async throws(GatewayError) -> DocumentBatch? {
        var blanks = WhitespaceTimer(limit: maxWhitespaceTime)
        while true {
            do throws(JSONError) {
                if let rows = try parser.nextBatch() {
                    return DocumentBatch(rows, includesDocuments: includesDocuments)
                }
            } catch {
                throw GatewayError(.malformedAnswer, "\(url): the answer to _all_docs is not a list: \(error)")
            }
            let chunk: [UInt8]?
            do throws(HTTPTransportError) { chunk = try await body.next() } catch { throw GatewayError(error) }
            guard let chunk else {
                guard parser.isComplete else {
                    throw GatewayError(.connectionLost, "\(url): the answer to _all_docs is cut short")
                }
                return nil
            }
            parser.append(chunk)
            if blanks.isOver(chunk) {
                throw GatewayError(.timedOut, "\(url): _all_docs sends only blank lines")
            }
        }
    }
}

extension Gateway {
    /// Requests live documents in the gateway's own order of ids. Returns when the answer begins.
    ///
    /// Restricted users of Sync Gateway get the documents of their channels. CouchDB includes `_design/` documents.
    ///
    /// - Parameters:
    ///   - first: The first id to return; it need not exist. Nil: from the beginning.
    ///   - limit: The maximum number of rows, at least 1.
    ///   - includesDocuments: Whether rows contain the documents' bodies.
    /// - Throws: `.notOffered` if this user may not list documents, or this gateway has no such list (403, 405, or a
    ///   404 of this path only): the changes feed may still work.
    /// - Note: Source: `GET /{keyspace}/_all_docs`. Ids are ordered by bytes on Sync Gateway, by ICU collation on
    ///   CouchDB.
    public func documents(
        from first: DocumentID? = nil, limit: Int, includesDocuments: Bool = true
    ) async throws(GatewayError) -> DocumentsAnswer {
        var query = [(name: "limit", value: String(Swift.max(1, limit)))]
        if includesDocuments { query.append(("include_docs", "true")) }
        if let first {
            var key: [UInt8] = []
            key.appendJSONString(first.text.utf8)
            query.append(("startkey", String(decoding: key, as: UTF8.self)))
        }
        let request = GatewayRequest(
            place: .keyspace("_all_docs"), query: query, deadline: settings.deadlines.stream,
            silence: settings.deadlines.silence, gatheringTime: GatewayRequest.listGatheringTime)
        let response: HTTPResponse
        do throws(GatewayError) { response = try await open(request) } catch { throw await refusal(of: error) }
        return DocumentsAnswer(
            body: response.body, url: url, includesDocuments: includesDocuments,
            maxWhitespaceTime: settings.deadlines.silence)
    }

    /// Distinguishes "no such list" from "no such database": both are 404.
    private func refusal(of error: GatewayError) async -> GatewayError {
        switch error.status {
        case _ where error.concernsAllDocuments: return error
        case 403, 405: break
        case 404:
            do throws(GatewayError) { _ = try await databaseInfo() } catch { return error }
        default: return error
        }
        var refusal = error
        refusal.code = .notOffered
        refusal.message = "can't list documents: \(error.message)"
        return refusal
    }
}
