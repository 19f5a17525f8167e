internal import GatewayClient
internal import LosslessJSON

/// What of the input a document came from.
struct ImportOrigin: Sendable {
    enum Source: Sendable {
        /// JSON, or what was meant to be.
        case json([UInt8])
        /// The row of a table; the header names its columns.
        case row([UInt8], header: [UInt8])

        init(_ bytes: [UInt8], header: [UInt8]?) {
            self = header.map { .row(bytes, header: $0) } ?? .json(bytes)
        }

        var bytes: [UInt8] {
            switch self {
            case .json(let bytes), .row(let bytes, _): bytes
            }
        }
    }

    /// Counts documents of the input, broken ones too, from 0.
    let ordinal: Int
    /// Counts from 1.
    let line: Int
    let source: Source
}

/// A document of an import: ready to be written, or refused already.
enum ImportEntry: Sendable {
    case document(ImportDocument)
    case refused(ImportOrigin, id: DocumentID?, reason: String)

    var origin: ImportOrigin {
        switch self {
        case .document(let document): document.origin
        case .refused(let origin, _, _): origin
        }
    }

    /// Whether it says that a document is deleted.
    var isDeletion: Bool {
        if case .document(let document) = self { document.isDeletion } else { false }
    }

    var id: DocumentID? {
        switch self {
        case .document(let document): document.id
        case .refused(_, let id, _): id
        }
    }

    /// Bytes that a request has for it.
    var byteCount: Int {
        switch self {
        case .document(let document): document.byteCount
        case .refused(let origin, _, _): origin.byteCount
        }
    }
}

extension ImportOrigin {
    fileprivate var byteCount: Int { source.bytes.count }
}
