internal import LosslessJSON

/// What a rule file says about its events: `event: { type, source, subject, data }`, each with a default.
struct CloudEventTemplate: Sendable {
    private static let keys = ["type", "source", "subject", "data"]

    private var type: TextTemplate?
    private var source: TextTemplate?
    private var subject: TextTemplate?
    private var data: Template?

    /// In the order in which ``event(of:_:)`` expects their outputs.
    var programs: [Int] {
        [type, source, subject].flatMap { $0?.programs ?? [] } + (data?.programs ?? [])
    }

    /// All defaults.
    init() {}

    /// Nil, with errors, if a value is wrong.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        guard let object = SourceObject(node, "'event'", known: Self.keys, errors: reading.errors) else { return nil }
        let before = reading.errors.errors.count
        type = reading.text(object, "type")
        source = reading.text(object, "source")
        subject = reading.text(object, "subject")
        data = object.node("data").flatMap { Template($0, reading) }
        for (name, template) in [("type", type), ("source", source), ("subject", subject)] {
            guard let text = template?.literal, let error = Self.error(in: text, of: name), let node = object.node(name)
            else { continue }
            reading.errors.report(at: node.position, error + "; correct it")
        }
        guard reading.errors.errors.count == before else { return nil }
    }

    /// The event about a document; nil if the program of its type, source or data gives nothing.
    ///
    /// - Parameters:
    ///   - document: The document as the rules have left it so far.
    ///   - outputs: For each of ``programs``, its outputs.
    func event(of document: JSONText, _ outputs: [[JSONText]]) throws(ActionError) -> CloudEvent? {
        var rest = outputs[...]
        func take(_ count: Int) -> [[JSONText]] {
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        func text(_ template: TextTemplate?, _ name: String) throws(ActionError) -> String? {
            guard let template else { return nil }
            guard let text = try template.text(take(template.programs.count), of: "the event's \(name)") else {
                return nil
            }
            if let error = Self.error(in: text, of: name) { throw .failed(error) }
            return text
        }
        let givenType = try text(type, "type")
        let givenSource = try text(source, "source")
        let givenSubject = try text(subject, "subject")
        guard (type == nil) == (givenType == nil), (source == nil) == (givenSource == nil) else { return nil }
        var content: JSONText? = document
        if let data { content = try data.value(take(data.programs.count), of: "the event's data") }
        guard let content else { return nil }
        return CloudEvent(
            type: givenType ?? Self.defaultType(of: document), source: givenSource,
            subject: subject == nil ? Self.defaultSubject(of: document) : givenSubject, data: content)
    }

    private static func defaultType(of document: JSONText) -> String {
        document.root["_deleted"]?.bool == true ? "changebot.document.deleted" : "changebot.document.changed"
    }

    /// The document's id. Nil if it has characters that an attribute can't have; the data contains the id anyway.
    private static func defaultSubject(of document: JSONText) -> String? {
        document.root["_id"]?.string.flatMap { CloudEvent.isValid($0) ? $0 : nil }
    }

    private static func error(in text: String, of name: String) -> String? {
        if !CloudEvent.isValid(text) { return "the event's \(name) has a control character" }
        if name == "source", !URIText.isReference(text) {
            return "the event's source must be a URI reference such as /orders; '\(DisplayText.plain(text))' is not one"
        }
        return nil
    }
}
