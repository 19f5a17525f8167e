internal import LosslessJSON

/// The headers of a webhook: texts, programs, and secrets in files.
struct WebhookHeaders: Sendable {
    /// Set by the bot or by the protocol: a rule can't set them.
    private static let reserved: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade", "expect",
        "proxy-authorization", "proxy-connection",
    ]

    private(set) var texts: [(name: String, value: TextTemplate)] = []
    /// With paths as in the rule file.
    private(set) var files: [WebhookAccess.HeaderFile] = []

    /// In the order in which ``values(_:)`` expects their outputs.
    var programs: [Int] { texts.flatMap(\.value.programs) }

    /// Whether a header has this name, in lower case.
    func contains(_ name: String) -> Bool {
        texts.contains { $0.name.lowercased() == name } || files.contains { $0.name.lowercased() == name }
    }

    /// No headers.
    init() {}

    /// Reports errors with their positions.
    ///
    /// - Parameter body: Some kinds set headers themselves.
    init(_ node: SourceNode, _ body: WebhookBody.Kind, _ reading: RuleReading) {
        let errors = reading.errors
        guard case .object(let members) = node.content, !node.isComputed else {
            errors.reportKind(
                of: node, "'headers' must be an object", remedy: "write one header per line: X-Shop: berlin")
            return
        }
        let object = SourceObject(node, "'headers'", known: members.map(\.name), errors: errors)
        var seen: Set<String> = []
        for member in members {
            let name = member.name.lowercased()
            if let error = Self.error(inName: member.name, body) {
                errors.report(at: member.position, error)
            } else if !seen.insert(name).inserted {
                errors.report(
                    at: member.position, "the header '\(DisplayText.plain(member.name))' appears twice; remove one")
            } else if let path = Self.file(member.value) {
                files.append(WebhookAccess.HeaderFile(name: member.name, path: path))
            } else if name == "authorization" {
                errors.report(
                    at: member.position,
                    "a rule file must not contain credentials; write token_file, or user and password_file, or "
                        + "Authorization: { file: PATH }")
            } else if let value = object.flatMap({ reading.text($0, member.name) }) {
                if let text = value.literal, !Self.isValid(text) {
                    errors.report(at: member.value.position, "a header can't contain line breaks or control characters")
                }
                texts.append((member.name, value))
            }
        }
    }

    private static func file(_ node: SourceNode) -> String? {
        guard case .object(let members) = node.content, members.count == 1 else { return nil }
        return node.member("file")?.text
    }

    static func error(inName name: String, _ body: WebhookBody.Kind) -> String? {
        let shown = DisplayText.plain(name)
        let known = name.lowercased()
        guard !name.isEmpty, name.utf8.allSatisfy(isTokenCharacter) else { return "'\(shown)' is not a header name" }
        if reserved.contains(known) { return "the header '\(shown)' is set by the connection; remove it" }
        if known.hasPrefix("webhook-") {
            return "the header '\(shown)' belongs to the signature; write secret_files to sign"
        }
        if known.hasPrefix("ce-"), body == .cloudEventHeaders {
            return "the header '\(shown)' belongs to the event; write event: { type, source, subject }"
        }
        if known == "content-type", body == .cloudEvent || body == .cloudEventHeaders || body == .none {
            return "the header '\(shown)' is set by 'body: \(body.rawValue)'; remove it"
        }
        return nil
    }

    /// - Note: Source: RFC 9110, section 5.6.2.
    private static func isTokenCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    /// A line break would begin another header.
    static func isValid(_ value: String) -> Bool { value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }

    /// Names and values. A header whose program gives nothing, or null, is left out.
    ///
    /// - Parameter outputs: For each of ``programs``, its outputs.
    func values(_ outputs: [[JSONText]]) throws(ActionError) -> [(name: String, value: String)] {
        var rest = outputs[...]
        var values: [(name: String, value: String)] = []
        for (name, template) in texts {
            let own = Array(rest.prefix(template.programs.count))
            rest = rest.dropFirst(own.count)
            guard let value = try template.text(own, of: "the header '\(name)'") else { continue }
            guard Self.isValid(value) else {
                throw .failed("the header '\(name)' would contain line breaks or control characters")
            }
            values.append((name, value))
        }
        return values
    }
}
