internal import HTTPTransport
internal import LosslessJSON

/// Collects the revisions and attachments of a multipart answer of `_bulk_get`, one at a time.
///
/// A part is a revision, an error (`error="true"` in its type), or `multipart/related`: a revision and its attachments.
struct BulkGetParts {
    /// In bytes. No document on a gateway is longer, including inline attachments.
    static let partLimit = 256 << 20

    enum PartError: Error {
        case multipart(MultipartReader.FormatError)
        case nestedPartCutShort
    }

    private var outer: MultipartReader
    private var inner: MultipartReader?
    private var headers = HTTPHeaders()
    private var bytes: [UInt8] = []
    /// Whether the part exceeds the limit, so that its bytes were discarded.
    private var isTooLong = false
    /// Whether the inner body's first part, the revision, has been read.
    private var hasRevision = false

    init(_ outer: MultipartReader) { self.outer = outer }

    var isComplete: Bool { outer.isComplete }

    mutating func append(_ chunk: [UInt8]) { outer.append(chunk) }

    mutating func next() throws(PartError) -> BulkGetItem? {
        while true {
            if let item = try nextInner() { return item }
            guard let piece = try Self.next(of: &outer) else { return nil }
            switch piece {
            case .part(let headers):
                inner = MultipartReader(contentType: headers["Content-Type"])
                begin(headers)
                hasRevision = false
            case .data(let data):
                if inner == nil { gather(data) } else { inner?.append(data) }
            case .partEnd where inner != nil:
                guard inner?.isComplete == true else { throw .nestedPartCutShort }
                inner = nil
            case .partEnd: return item()
            }
        }
    }

    private mutating func nextInner() throws(PartError) -> BulkGetItem? {
        guard inner != nil else { return nil }
        while true {
            let piece: MultipartReader.Piece?
            do throws(MultipartReader.FormatError) { piece = try inner?.next() } catch { throw .multipart(error) }
            switch piece {
            case .part(let headers)?: begin(headers)
            case .data(let data)?: gather(data)
            case .partEnd?: return item()
            case nil: return nil
            }
        }
    }

    private static func next(of reader: inout MultipartReader) throws(PartError) -> MultipartReader.Piece? {
        do throws(MultipartReader.FormatError) { return try reader.next() } catch { throw .multipart(error) }
    }

    private mutating func begin(_ headers: HTTPHeaders) {
        self.headers = headers
        bytes = []
        isTooLong = false
    }

    private mutating func gather(_ data: [UInt8]) {
        guard !isTooLong, bytes.count + data.count <= Self.partLimit else {
            bytes = []
            isTooLong = true
            return
        }
        if bytes.isEmpty { bytes = data } else { bytes += data }
    }

    private mutating func item() -> BulkGetItem {
        let content = bytes
        bytes = []
        guard !isTooLong else {
            hasRevision = true
            return .malformed(BulkGetDamage(id: documentID, reason: "it is longer than \(Self.partLimit) bytes"))
        }
        guard inner == nil || !hasRevision else { return .attachment(attachment(content)) }
        hasRevision = true
        let text: JSONText
        do throws(JSONError) { text = try JSONText(content) } catch {
            let reason = "it is not JSON: \(error), at byte \(error.offset)"
            return .malformed(BulkGetDamage(id: documentID, reason: reason))
        }
        let isRefusal = headers["Content-Type"]?.lowercased().contains("error=\"true\"") == true
        return isRefusal ? .unavailable(BulkGetRefusal(text.root)) : .revision(text)
    }

    /// Sync Gateway sends the id for revisions with attachments.
    private var documentID: DocumentID? { headers["X-Doc-ID"].map { DocumentID($0) } }

    private func attachment(_ content: [UInt8]) -> BulkGetAttachment {
        BulkGetAttachment(
            name: headers["Content-Disposition"].flatMap(Self.filename), contentType: headers["Content-Type"],
            contentEncoding: headers["Content-Encoding"], bytes: content)
    }

    /// `attachment; filename="f.txt"`
    private static func filename(in disposition: String) -> String? {
        guard let start = disposition.range(of: "filename=\"")?.upperBound else { return nil }
        return String(disposition[start...].prefix { $0 != "\"" })
    }
}
