internal import Encodings
package import LosslessJSON

/// An event about a change, in the format of CloudEvents 1.0. Its id and time are set when it is sent.
///
/// - Note: Source: CloudEvents 1.0.2; its JSON event format and its HTTP protocol binding.
package struct CloudEvent: Sendable {
    /// What happened, such as `changebot.document.changed`.
    package let type: String
    /// A URI reference. Nil: `/` and the keyspace.
    package let source: String?
    /// What the event happened to. Nil if the event has no subject.
    package let subject: String?
    /// A JSON value: the document, unless a program gives something else.
    package let data: JSONText

    /// What identifies an event: repeats of one event have the same identity.
    package struct Identity: Sendable {
        /// The key of the effect.
        package let id: String
        /// Seconds since 1970.
        package let time: Int
        /// The name of the followed keyspace, percent-encoded. The default source of events.
        package let keyspace: String

        /// - Parameters:
        ///   - id: The key of the effect.
        ///   - time: Seconds since 1970.
        ///   - keyspace: The name of the followed keyspace, percent-encoded.
        package init(id: String, time: Int, keyspace: String) {
            self.id = id
            self.time = time
            self.keyspace = keyspace
        }

        fileprivate var source: String { "/" + keyspace }
    }

    /// The media type of ``json(_:)``.
    package static let mediaType = "application/cloudevents+json"
    /// The media type of ``data``.
    package static let dataMediaType = "application/json"

    /// The event in JSON. On one line, unless the document itself, whose bytes are kept, spans several.
    ///
    /// - Parameter identity: Nil for a preview, which lacks `id`, `time` and a default source.
    package func json(_ identity: Identity?) -> [UInt8] {
        var writer = JSONWriter(minimumCapacity: data.bytes.count + 400)
        writer.object { writer in
            for (name, value) in attributes(identity) { writer.member(name, string: value) }
            writer.member("datacontenttype", string: Self.dataMediaType)
            writer.member("data", raw: data.root.bytes)
        }
        return writer.bytes
    }

    /// The headers of the binary mode, without `Content-Type` (``dataMediaType``). The body is ``data``.
    ///
    /// - Parameter identity: As for ``json(_:)``.
    package func headers(_ identity: Identity?) -> [(name: String, value: String)] {
        attributes(identity).map { ("ce-" + $0.name, URIText.headerValue($0.value)) }
    }

    private func attributes(_ identity: Identity?) -> [(name: String, value: String)] {
        let all: [(name: String, value: String?)] = [
            ("specversion", "1.0"), ("id", identity?.id), ("source", source ?? identity?.source), ("type", type),
            ("subject", subject), ("time", identity.map { Timestamp.text($0.time) }),
        ]
        return all.compactMap { name, value in value.map { (name, $0) } }
    }

    /// Whether an attribute may have this value: control characters are forbidden.
    static func isValid(_ text: String) -> Bool {
        !text.isEmpty && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
    }
}
