internal import LosslessJSON

/// Sends an HTTP request about the changed document, and may merge the answer into the document.
struct WebhookAction: Sendable {
    private static let keys =
        ["url", "path", "method", "body", "event", "headers", "timeout", "response"] + WebhookAccess.keys

    private let address: WebhookAddress
    /// Replaces the address's path and query.
    private let path: TextTemplate?
    private let method: WebhookEffect.Method
    private let headers: WebhookHeaders
    private let body: WebhookBodyTemplate
    let access: WebhookAccess
    private let timeout: Duration
    /// What to merge of the answer; nil: the answer is not read.
    let response: WebhookResponse?

    /// Those that run before the request. The ones of ``response`` run after it.
    var programs: [Int] { (path?.programs ?? []) + headers.programs + body.programs }

    /// Nil, with errors, if a value is missing or wrong.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        let errors = reading.errors
        guard let object = SourceObject(node, "webhook", known: Self.keys, errors: errors) else { return nil }
        let before = errors.errors.count
        if reading.kind == .mapping {
            errors.report(at: node.position, "a mapping sends no webhooks; write this rule into a file for 'run'")
        }
        let address = Self.address(object)
        path = reading.text(object, "path")
        if let path = path?.literal, let node = object.node("path"),
            let error = WebhookAddress.error(inPath: path)
        {
            errors.report(at: node.position, error)
        }
        method = Self.method(object)
        let body = WebhookBodyTemplate(object, reading)
        let headers =
            object.node("headers").map { WebhookHeaders($0, body?.kind ?? .cloudEvent, reading) } ?? WebhookHeaders()
        timeout = Self.timeout(object)
        response = object.node("response").flatMap { WebhookResponse($0, reading) }
        let access = address.flatMap {
            WebhookAccess(
                object, origin: $0.origin, headerFiles: headers.files,
                sendsAuthorization: headers.contains("authorization"), reading)
        }
        guard errors.errors.count == before, let address, let body, let access else { return nil }
        self.address = address
        self.headers = headers
        self.body = body
        self.access = access
    }

    private static func address(_ object: SourceObject) -> WebhookAddress? {
        guard let node = object.required("url", "say where to send it: url: https://example.org/hook") else {
            return nil
        }
        if node.isComputed {
            object.errors.report(
                at: node.position,
                "'url' can't be computed: a document must not choose the receiver; write scheme, host and port, and "
                    + "compute what follows with path: { jq: … }")
            return nil
        }
        guard let text = object.optionalText("url") else { return nil }
        do throws(WebhookAddress.Invalid) { return try WebhookAddress(text) } catch {
            object.errors.report(at: node.position, error.message)
            return nil
        }
    }

    private static func method(_ object: SourceObject) -> WebhookEffect.Method {
        guard let node = object.node("method") else { return .post }
        if case .string(let text) = node.content, let method = WebhookEffect.Method(rawValue: text) { return method }
        object.errors.report(
            at: node.position, "'method' must be POST (the default), PUT, PATCH or DELETE; write one of them")
        return .post
    }

    /// Default: 10 seconds.
    private static func timeout(_ object: SourceObject) -> Duration {
        guard let node = object.node("timeout") else { return .seconds(10) }
        let units: [(name: String, length: Duration)] = [
            ("ms", .milliseconds(1)), ("s", .seconds(1)), ("m", .seconds(60)),
        ]
        if let text = node.text, let unit = units.first(where: { text.hasSuffix($0.name) }),
            let count = Int(text.dropLast(unit.name.count)), (1...300_000).contains(count),
            unit.length * count <= .seconds(300)
        {
            return unit.length * count
        }
        object.errors.report(
            at: node.position, "'timeout' must be a time of at most 5m, such as 500ms, 10s or 1m; correct it")
        return .seconds(10)
    }

    /// Sends nothing if a program of the path, the body or the event gives nothing.
    func apply(to draft: inout Draft, _ outputs: [[JSONText]]) throws(ActionError) {
        var rest = outputs[...]
        func take(_ count: Int) -> [[JSONText]] {
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        var target = address.path
        if let path {
            guard let computed = try path.text(take(path.programs.count), of: "the path") else { return }
            if let error = WebhookAddress.error(inPath: computed) { throw .failed("webhook: \(error)") }
            target = computed
        }
        let values = try headers.values(take(headers.programs.count))
        let contentType = values.first { $0.name.lowercased() == "content-type" }?.value
        guard let content = try body.body(of: draft.document, contentType: contentType, take(body.programs.count))
        else { return }
        draft.outside.append(
            OutsideEffect(
                origin: draft.origin,
                kind: .webhook(
                    WebhookEffect(
                        access: access, method: method, path: target, headers: values,
                        setsType: contentType != nil || headers.contains("content-type"), body: content,
                        timeout: timeout, response: response, element: draft.element))))
    }
}

/// What to do with the answer: `response: { merge: … }`.
package struct WebhookResponse: Sendable {
    /// The name of the programs' variable with the answer.
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

/// A request that a rule wants sent before the changed document is written.
package struct WebhookEffect: Sendable {
    /// What the receiver is asked to do.
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
    /// The rule's own headers, without those whose values are in files.
    package let headers: [(name: String, value: String)]
    /// Whether these, or those in files, have a `Content-Type`.
    package let setsType: Bool
    package let body: WebhookBody
    /// For the whole exchange.
    package let timeout: Duration
    /// What to merge of the answer; nil: the answer does not matter.
    package let response: WebhookResponse?
    /// For which element of `for_each` it is; nil: for none.
    let element: RuleElement?

    package var url: String { access.origin + path }

    /// The body as it is previewed; nil if there is none, or it is not JSON.
    var content: JSONText? {
        switch body {
        case .cloudEvent, .cloudEventHeaders, .json:
            body.content(nil, setsType: setsType).bytes.flatMap { try? JSONText($0) }
        case .text, .none: nil
        }
    }

    /// The members `method`, `url`, `headers` and `body` of a preview: nothing from files, so no secrets.
    func write(to writer: inout JSONWriter) {
        let content = body.content(nil, setsType: setsType)
        writer.member("method", string: method.rawValue)
        writer.member("url", string: url)
        writer.name("headers")
        writer.object { writer in
            for (name, value) in content.headers + headers { writer.member(name, string: value) }
        }
        guard let bytes = content.bytes else { return writer.member("body", optional: nil) }
        if case .text(let text) = body {
            writer.member("body", string: text)
        } else {
            writer.member("body", raw: bytes)
        }
    }
}
