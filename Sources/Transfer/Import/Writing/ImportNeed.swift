internal import GatewayClient

/// What must be done for a document.
enum ImportNeed {
    case nothing(ImportOutcome)
    /// Send this body; the outcome if it is accepted.
    case write(ImportBody, ImportOutcome)
    /// Send this body with streamed attachments; the outcome if it is accepted.
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

/// An attachment to stream; its bytes were checked.
struct StreamedAttachment: Sendable {
    let name: String
    let contentType: String
    let digest: AttachmentDigest
    let byteCount: Int
    /// Makes a new source for each attempt to send it.
    let source: @Sendable () -> ByteSource?
}

extension ImportBody {
    var bytes: [UInt8] { Array(segments.joined()) }
}
