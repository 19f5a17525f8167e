internal import LosslessJSON

/// Sends an HTTP request about the changed document, and may merge the answer into the document.
struct WebhookAction: Action {
    static let name = "webhook"
    static let synonyms = ["http", "post", "notify", "hook"]
    static let isAllowedInRelated = false
    static let isOutside = true

    static let keys =
        ["url", "path", "method", "body", "body_file", "event", "headers", "timeout", "on_status", "response"]
        + WebhookAccess.keys
    static let untestedKeys = Set(["timeout", "on_status", "response"] + WebhookAccess.keys)

    private let target: OutsideTarget
    private let method: WebhookEffect.Method
    private let headers: WebhookHeaders
    private let body: WebhookBodyTemplate
    let access: WebhookAccess
    private let timeout: Duration
    private let statuses: StatusPolicy
    /// What to merge from the answer. Nil: the answer is ignored.
    let response: WebhookResponse?

    /// The programs that run before the request. Those of ``response`` run after it.
    var programs: [Int] { target.programs + headers.programs + body.programs }
    var outsideFiles: OutsideFiles { access.files }

    /// Nil, with errors, if a value is missing or wrong.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        let errors = reading.errors
        guard let object = SourceObject(node, "webhook", known: Self.keys, errors: errors) else { return nil }
        let before = errors.errors.count
        if reading.kind == .mapping {
            errors.report(at: node.position, "a mapping can't send webhooks; move this rule to a file for 'run'")
        }
        let isNamed = object.required("url", "say where to send it: url: https://example.org/hook") != nil
        let target = isNamed ? OutsideTarget(object, reading, recipient: "the receiver") : nil
        method = Self.method(object)
        let body = WebhookBodyTemplate(object, reading)
        let headers =
            object.node("headers").map { WebhookHeaders($0, body?.kind ?? .cloudEvent, reading) } ?? WebhookHeaders()
        timeout = object.exchangeTimeout(usually: .seconds(10))
        statuses = StatusPolicy(object)
        response = object.node("response").flatMap { WebhookResponse($0, reading) }
        let access = target.flatMap {
            WebhookAccess(object, origin: $0.origin, headers, body?.kind ?? .cloudEvent, reading)
        }
        guard errors.errors.count == before, let target, let body, let access else { return nil }
        self.target = target
        self.headers = headers
        self.body = body
        self.access = access
    }

    private static func method(_ object: SourceObject) -> WebhookEffect.Method {
        guard let node = object.node("method") else { return .post }
        if case .string(let text) = node.content, let method = WebhookEffect.Method(rawValue: text) { return method }
        object.errors.report(
            at: node.position, "'method' must be POST (the default), PUT, PATCH or DELETE; write one of them")
        return .post
    }

    /// Sends nothing if a program of the path, the body or the event gives nothing.
    func apply(to draft: inout Draft, _ outputs: [[JSONText]]) throws(ActionError) {
        var rest = outputs[...]
        func take(_ count: Int) -> [[JSONText]] {
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        guard let path = try target.path(take(target.programs.count), of: "webhook") else { return }
        let values = try headers.values(take(headers.programs.count))
        let contentType = values.first { $0.name.lowercased() == "content-type" }?.value
        guard let content = try body.body(of: draft.document, contentType: contentType, take(body.programs.count))
        else { return }
        draft.effects.append(
            OutsideEffect(
                origin: draft.origin,
                kind: .webhook(
                    WebhookEffect(
                        access: access, method: method, path: path, headers: values,
                        setsType: contentType != nil || headers.contains("content-type"), body: content,
                        timeout: timeout, statuses: statuses, response: response, element: draft.element))))
    }

    func writeCanonical(of element: SourceNode, to writer: inout JSONWriter) {
        writer.raw(element.json)
        if let hash = body.fileHash { writer.string(hash) }
    }
}

// MARK: - Checks

extension WebhookAction {
    func add(_ argument: SourceNode, to prediction: inout RulePrediction) {
        prediction.writesOther = true
        if let response, let patch = argument.member("response")?.member("merge") {
            response.merge.add(patch, to: &prediction)
        }
    }

    func warnings(_ element: SourceNode, of rule: Rule) -> [ActionWarning] {
        guard response != nil, rule.on == .delete else { return [] }
        let message =
            "the rule is for deletions only (on: [delete]), and 'response' would write to a deleted document; "
            + "remove 'response'"
        return [(element.position, .writesDeleted, message)]
    }
}

/// What to do with the answer: `response: { merge: … }`.
package struct WebhookResponse: Sendable {
    /// The programs' variable that holds the answer.
    static let variable = "response"

    let merge: MergeAction

    /// Nil, with errors, if it is not an object with `merge`.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        guard let object = SourceObject(node, "'response'", known: ["merge"], errors: reading.errors),
            let patch = object.required(
                "merge", "say what to write into the document: merge: { id: { jq: $response.body.id } }")
        else { return nil }
        let merge = reading.with(locals: [Self.variable]) { MergeAction(patch, reading) }
        guard let merge else { return nil }
        self.merge = merge
    }
}

/// A request to send before the changed document is written.
package struct WebhookEffect: Sendable {
    /// The HTTP method.
    package enum Method: String, Sendable {
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    package let access: WebhookAccess
    package let method: Method
    /// Path and query; begins with `/`.
    package let path: String
    /// The rule's own headers, without those whose values come from files.
    package let headers: [(name: String, value: String)]
    /// Whether the headers, including those from files, contain `Content-Type`.
    package let setsType: Bool
    package let body: WebhookBody
    /// For the whole exchange.
    package let timeout: Duration
    /// What the answer's status means.
    package let statuses: StatusPolicy
    /// What to merge from the answer. Nil: the answer is ignored.
    package let response: WebhookResponse?
    /// The element of `for_each` that the request is for. Nil without `for_each`.
    let element: RuleElement?

    package var url: String { access.origin + path }

    /// The body of a preview. Nil if there is none, or it is not JSON.
    var content: JSONText? {
        switch body {
        case .cloudEvent, .cloudEventHeaders, .json:
            body.content(nil, setsType: setsType).bytes.flatMap { try? JSONText($0) }
        case .text, .none: nil
        }
    }

    /// The members `method`, `url`, `headers` and `body` of a preview, without secrets: nothing from files.
    func write(to writer: inout JSONWriter) {
        let content = body.content(nil, setsType: setsType)
        writer.member("method", string: method.rawValue)
        writer.member("url", string: url)
        writer.name("headers")
        writer.object { writer in
            for (name, value) in content.headers + headers { writer.member(name, string: value) }
        }
        guard let bytes = content.bytes else { return writer.member("body", optional: nil) }
        if case .text(let text, _) = body {
            writer.member("body", string: text)
        } else {
            writer.member("body", raw: bytes)
        }
    }
}
