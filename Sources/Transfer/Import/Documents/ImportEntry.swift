internal import GatewayClient
internal import LosslessJSON

/// What of the input a document came from.
struct ImportOrigin: Sendable {
    enum Source: Sendable {
        case document(JSONText)
        /// What could not be read; nil for what is no JSON, such as the row of a table.
        case broken([UInt8], isJSON: Bool)
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

    /// Appends the document as it came, on one line. What is no JSON is one string: the text that stood there.
    func appendSource(to output: inout [UInt8]) {
        switch origin.source {
        case .document(let text): ExportFraming.append(text.root.bytes, to: &output)
        case .broken(let bytes, isJSON: true): ExportFraming.append(bytes[...], to: &output)
        case .broken(let bytes, isJSON: false): output.appendJSONString(String(decoding: bytes, as: UTF8.self).utf8)
        }
    }
}

extension ImportOrigin {
    fileprivate var byteCount: Int {
        switch source {
        case .document(let text): text.bytes.count
        case .broken(let bytes, _): bytes.count
        }
    }

    init(_ fault: SourceFault, ordinal: Int) {
        let isJSON =
            switch fault.reason {
            case .cell, .cellCount, .textBehindQuote, .openQuote: false
            case .json, .notAnObject, .noDocument, .extendedJSON: true
            }
        self.init(ordinal: ordinal, line: fault.line, source: .broken(fault.text, isJSON: isJSON))
    }
}
