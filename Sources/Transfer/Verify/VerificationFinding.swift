internal import LosslessJSON

/// Something that is not as it should be: one object of the output.
package struct VerificationFinding: Sendable, Equatable {
    package enum Kind: String, Sendable {
        /// The file as a whole is not the one that the manifest describes.
        case length, digest, count, framing
        /// A line that is no document.
        case line
        /// An attachment whose bytes are not there, or are others.
        case attachment
        /// Between an export and a gateway.
        case missing, extra, different
        /// The gateway does not hand the document out: nothing can be said.
        case unreadable
    }

    package let kind: Kind
    package var id: String?
    package var revision: String?
    /// Counts from 1.
    package var line: Int?
    /// Where in the document: a JSON Pointer.
    package var path: String?
    package var message: String?

    package init(
        _ kind: Kind, id: String? = nil, revision: String? = nil, line: Int? = nil, path: String? = nil,
        message: String? = nil
    ) {
        self.kind = kind
        self.id = id
        self.revision = revision
        self.line = line
        self.path = path
        self.message = message
    }

    /// JSON text on one line, without a line feed.
    package var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("finding", string: kind.rawValue)
            if let line { writer.member("line", integer: line) }
            if let id { writer.member("id", string: id) }
            if let revision { writer.member("revision", string: revision) }
            if let path { writer.member("path", string: path) }
            if let message { writer.member("message", string: message) }
        }
        return writer.bytes
    }
}
