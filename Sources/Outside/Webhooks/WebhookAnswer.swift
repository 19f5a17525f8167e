internal import HTTPTransport
internal import LosslessJSON

/// Prepares a receiver's response for rules and messages.
enum WebhookAnswer {
    /// The largest response that a rule may merge: 1 MiB.
    static let lengthLimit = 1 << 20
    /// The maximum number of characters of an error response that a dead letter shows.
    private static let shownCharacters = 200

    /// `$response` of programs: `status`, `headers` with names in lower case, and `body`: JSON, text, or null.
    ///
    /// - Parameter body: In UTF-8.
    static func json(_ response: HTTPResponse, _ body: [UInt8]) -> JSONText? {
        json(status: response.status, response.headers.fields, body)
    }

    static func json(status: Int, _ fields: [(name: String, value: String)], _ body: [UInt8]) -> JSONText? {
        var names: [String] = []
        var values: [String: String] = [:]
        for (name, value) in fields {
            let name = name.lowercased()
            if let earlier = values[name] {
                values[name] = earlier + ", " + value
            } else {
                values[name] = value
                names.append(name)
            }
        }
        var writer = JSONWriter(minimumCapacity: body.count + 1000)
        writer.object { writer in
            writer.member("status", integer: status)
            writer.name("headers")
            writer.object { writer in for name in names { writer.member(name, string: values[name] ?? "") } }
            writer.name("body")
            if body.isEmpty {
                writer.null()
            } else if let json = parsed(body, contentType: values["content-type"]) {
                writer.raw(json.root.bytes)
            } else {
                writer.string(String(decoding: body, as: UTF8.self))
            }
        }
        return try? JSONText(writer.bytes)
    }

    /// Nil if it is text. Many servers send JSON as another type, or without one.
    private static func parsed(_ body: [UInt8], contentType: String?) -> JSONText? {
        let isJSON = contentType?.lowercased().contains("json") ?? true
        let first = body.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        guard isJSON || first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else { return nil }
        return try? JSONText(body)
    }

    /// The beginning of an answer, safe to print; empty if there is none.
    static func excerpt(_ body: [UInt8]) -> String {
        var text = ""
        var count = 0
        for scalar in String(decoding: body.prefix(4 * shownCharacters), as: UTF8.self).unicodeScalars {
            guard count < shownCharacters else { return text + "…" }
            if scalar.isVisible { text.unicodeScalars.append(scalar) } else { text += " " }
            count += 1
        }
        return text
    }
}
