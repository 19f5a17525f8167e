internal import GatewayClient

/// What is to be done about a document.
enum ImportNeed {
    case nothing(ImportOutcome)
    /// A body to be sent, and what has become of the document if that is accepted.
    case write(ImportBody, ImportOutcome)
    /// The same, with attachments that are sent while they are read.
    case stream(ImportBody, [StreamedAttachment], ImportOutcome)

    var outcome: ImportOutcome {
        switch self {
        case .nothing(let outcome), .write(_, let outcome), .stream(_, _, let outcome): outcome
        }
    }

    var body: ImportBody? {
        switch self {
        case .nothing: nil
        case .write(let body, _), .stream(let body, _, _): body
        }
    }
}

/// An attachment whose bytes were found to be right.
struct StreamedAttachment: Sendable {
    let name: String
    let contentType: String
    let digest: AttachmentDigest
    let byteCount: Int
    /// Each attempt to send it needs another one.
    let source: @Sendable () -> ByteSource?
}

extension ImportBody {
    var bytes: [UInt8] { Array(segments.joined()) }
}
