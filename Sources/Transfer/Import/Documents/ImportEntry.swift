internal import GatewayClient
internal import LosslessJSON

/// The part of the input that a document came from.
struct ImportOrigin: Sendable {
    enum Source: Sendable {
        /// JSON, or text meant to be JSON.
        case json([UInt8])
        /// The row of a table, with the table's header.
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

    /// Position among the documents of the input, broken ones included, from 0.
    let ordinal: Int
    /// From 1.
    let line: Int
    let source: Source
}

/// A document of an import: ready to be written, or already refused.
enum ImportEntry: Sendable {
    case document(ImportDocument)
    case refused(ImportOrigin, id: DocumentID?, reason: String)

    var origin: ImportOrigin {
        switch self {
        case .document(let document): document.origin
        case .refused(let origin, _, _): origin
        }
    }

    /// Whether it is a tombstone.
    var isDeletion: Bool {
        if case .document(let document) = self { document.isDeletion } else { false }
    }

    var id: DocumentID? {
        switch self {
        case .document(let document): document.id
        case .refused(_, let id, _): id
        }
    }

    /// Bytes that it adds to a request; for a refused one, those of its input.
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
