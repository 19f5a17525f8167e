internal import LosslessJSON

/// A difference found by `verify`: one JSON object of its output.
package struct VerificationFinding: Sendable, Equatable {
    /// The raw value is the member `finding` of the output.
    package enum Kind: String, Sendable {
        /// The file as a whole does not match the manifest.
        case length, digest, count, framing
        /// A line is not a document.
        case line
        /// An attachment's bytes are missing or differ.
        case attachment
        /// A document is missing on the gateway, exists only there, or differs.
        case missing, extra, different
        /// The gateway does not return the document, so it can't be compared.
        case unreadable
    }

    /// Decides which other members are set.
    package let kind: Kind
    /// The document's id; nil if the finding is not about one document.
    package var id: String?
    /// The revision compared, or that of an extra document; otherwise nil.
    package var revision: String?
    /// The document's position in the export, from 1; nil for the file as a whole and in comparisons with a gateway.
    package var line: Int?
    /// JSON Pointer to the difference in the document.
    package var path: String?
    /// What was found and what was expected; nil if the kind says enough.
    package var message: String?
    /// Whether it is about a blob of Couchbase Lite. The output does not have this.
    package var concernsBlob = false

    /// Members that are nil are left out of the output.
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

    /// JSON on one line, without a line feed.
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
