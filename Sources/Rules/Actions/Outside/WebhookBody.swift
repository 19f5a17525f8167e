package import LosslessJSON

/// What a webhook sends.
package enum WebhookBody: Sendable {
    /// The values of the key `body`, apart from a literal or computed one.
    enum Kind: String, CaseIterable {
        case cloudEvent = "cloudevents"
        case cloudEventHeaders = "cloudevents-binary"
        case document
        case none
        /// A value: an object, or `{ jq: … }`.
        case value = "{ jq: … }"
        /// A file: the key `body_file`.
        case file = "body_file"
    }

    /// The event as JSON.
    case cloudEvent(CloudEvent)
    /// The event's attributes as headers, its data as the body.
    case cloudEventHeaders(CloudEvent)
    /// The document, or a JSON value that a program made.
    case json(JSONText)
    /// A text sent as it is: that of a file, or of a program if the rule sets a `Content-Type` other than JSON.
    ///
    /// - Parameter type: The `Content-Type`, unless the rule sets one.
    case text(String, type: String)
    case none

    var byteCount: Int {
        switch self {
        case .cloudEvent(let event), .cloudEventHeaders(let event): event.data.bytes.count
        case .json(let json): json.bytes.count
        case .text(let text, _): text.utf8.count
        case .none: 0
        }
    }

    /// The headers that the body needs, and its bytes. Nil bytes: the request has no body.
    ///
    /// - Parameters:
    ///   - identity: Nil for a preview.
    ///   - setsType: Whether the rule sets `Content-Type`.
    package func content(
        _ identity: CloudEvent.Identity?, setsType: Bool
    ) -> (headers: [(name: String, value: String)], bytes: [UInt8]?) {
        func type(_ type: String) -> [(name: String, value: String)] { setsType ? [] : [("Content-Type", type)] }
        switch self {
        case .cloudEvent(let event): return (type(CloudEvent.mediaType), event.json(identity))
        case .cloudEventHeaders(let event):
            return (event.headers(identity) + type(CloudEvent.dataMediaType), Array(event.data.root.bytes))
        case .json(let json): return (type(CloudEvent.dataMediaType), Array(json.root.bytes))
        case .text(let text, let usual): return (type(usual), Array(text.utf8))
        case .none: return ([], nil)
        }
    }
}

/// The body of a webhook, as the rule file describes it.
struct WebhookBodyTemplate: Sendable {
    let kind: WebhookBody.Kind
    private let value: Template?
    private let file: BodyFile?
    private let event: CloudEventTemplate

    var programs: [Int] { (value?.programs ?? []) + (file?.programs ?? []) + event.programs }
    /// SHA-256 of the file. Nil without `body_file`.
    var fileHash: String? { file?.sha256 }

    /// Nil, with errors, if `body` or `event` is wrong.
    init?(_ object: SourceObject, _ reading: RuleReading) {
        guard let kind = Self.kind(object) else { return nil }
        self.kind = kind
        let file = object.node("body_file").flatMap { BodyFile($0, reading) }
        if kind == .file, file == nil { return nil }
        self.file = file
        value = kind == .value ? object.node("body").flatMap { Template($0, reading) } : nil
        guard let node = object.node("event") else {
            event = CloudEventTemplate()
            return
        }
        guard kind == .cloudEvent || kind == .cloudEventHeaders else {
            reading.errors.report(
                at: node.position, "'event' is for CloudEvents only; remove it, or write body: cloudevents")
            return nil
        }
        guard let event = CloudEventTemplate(node, reading) else { return nil }
        self.event = event
    }

    static func kind(_ object: SourceObject) -> WebhookBody.Kind? {
        if let node = object.node("body_file") {
            guard object.node("body") != nil else { return .file }
            object.errors.report(at: node.position, "'body' and 'body_file' both say what to send; remove one")
            return nil
        }
        guard let node = object.node("body") else { return .cloudEvent }
        switch node.content {
        case .object: return .value
        case .string(let text):
            if let kind = WebhookBody.Kind(rawValue: text), kind != .value, kind != .file { return kind }
            fallthrough
        default:
            object.errors.report(
                at: node.position,
                "'body' must be cloudevents (the default), cloudevents-binary, document, none, an object or "
                    + "{ jq: PROGRAM }; write one of them, or body_file: PATH")
            return nil
        }
    }

    /// The body for a document. Nil if a program gives nothing: the request is not sent.
    ///
    /// - Parameters:
    ///   - contentType: The rule's own header, if it has one.
    ///   - outputs: For each of ``programs``, its outputs.
    func body(
        of document: JSONText, contentType: String?, _ outputs: [[JSONText]]
    ) throws(ActionError) -> WebhookBody? {
        switch kind {
        case .cloudEvent: return try event.event(of: document, outputs).map { .cloudEvent($0) }
        case .cloudEventHeaders: return try event.event(of: document, outputs).map { .cloudEventHeaders($0) }
        case .document: return .json(document)
        case .none: return WebhookBody.none
        case .value:
            guard let json = try value?.value(outputs, of: "the body") else { return nil }
            let isText = contentType.map { !$0.lowercased().contains("json") } ?? false
            guard isText else { return .json(json) }
            guard let text = json.root.string else {
                throw .failed("the body must be text, because Content-Type is not JSON; it is \(json.excerpt)")
            }
            return .text(text, type: "text/plain; charset=utf-8")
        case .file:
            guard let file else { return nil }
            let text = try file.text(outputs)
            guard file.form == .json else { return .text(text, type: file.contentType) }
            do throws(JSONError) { return .json(try JSONText(Array(text.utf8))) } catch {
                throw .failed("body_file: the body is not JSON: \(error)")
            }
        }
    }
}
