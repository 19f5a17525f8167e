/// The body of a request.
///
/// Segments are sent one after the other and never joined, so a large batch can consist of many documents without a
/// copy. The length is known and sent as `Content-Length`. Segments can be sent again: libcurl does so if a reused
/// connection turns out to be closed before any byte of an answer, unless the request forbids it.
package enum HTTPRequestBody: Sendable {
    case none
    case segments([[UInt8]])
    /// Produced while it is sent; can't be sent again.
    case source(HTTPBodySource)

    /// All of `bytes` as one segment.
    package static func bytes(_ bytes: [UInt8]) -> HTTPRequestBody { .segments([bytes]) }

    /// Bytes to send; nil if there is no body, which is not the same as an empty one.
    package var count: Int? {
        switch self {
        case .none: nil
        case .segments(let segments): segments.reduce(0) { $0 + $1.count }
        case .source(let source): source.count
        }
    }

    /// Nil for a body that can be sent again.
    var source: HTTPBodySource? {
        if case .source(let source) = self { source } else { nil }
    }
}

/// How far a request body has been sent.
struct UploadPosition {
    private let segments: [[UInt8]]
    private var segment = 0
    private var sent = 0

    var isAtStart: Bool { segment == 0 && sent == 0 }

    init(_ body: HTTPRequestBody) {
        switch body {
        case .none, .source: segments = []
        case .segments(let all): segments = all
        }
    }

    /// Copies the next bytes into `target` and returns how many; 0 at the end.
    mutating func read(into target: UnsafeMutableRawBufferPointer) -> Int {
        var filled = 0
        while filled < target.count, segment < segments.count {
            let part = min(target.count - filled, segments[segment].count - sent)
            segments[segment].withUnsafeBytes { bytes in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[sent..<sent + part])
                UnsafeMutableRawBufferPointer(rebasing: target[filled...]).copyMemory(from: rest)
            }
            filled += part
            sent += part
            if sent == segments[segment].count {
                segment += 1
                sent = 0
            }
        }
        return filled
    }

    /// Moves to `place`, in bytes from the start. False if it is beyond the end.
    mutating func seek(to place: Int) -> Bool {
        var rest = place
        guard rest >= 0 else { return false }
        for (index, bytes) in segments.enumerated() {
            if rest < bytes.count {
                (segment, sent) = (index, rest)
                return true
            }
            rest -= bytes.count
        }
        (segment, sent) = (segments.count, 0)
        return rest == 0
    }
}
