internal import LosslessJSON

/// Appends lines to a file or to stdout.
struct EmitAction: Action {
    static let name = "emit"
    static let isAllowedInRelated = false
    static let isOutside = true

    static let keys = ["file", "line", "event", "rotate"]
    static let untestedKeys: Set = ["rotate"]

    private enum Line: Sendable {
        case event(CloudEventTemplate)
        case document
        /// Each value that the program gives is a line.
        case value(Template)
    }

    let target: EmitTarget
    /// As the rule file has it.
    private let file: String
    private let line: Line

    var programs: [Int] {
        switch line {
        case .event(let event): event.programs
        case .document: []
        case .value(let value): value.programs
        }
    }

    /// Nil, with errors, if a value is missing or wrong. Does not access the file: a rule may be written on a machine
    /// other than the one that runs it.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        let errors = reading.errors
        guard let object = SourceObject(node, "emit", known: Self.keys, errors: errors) else { return nil }
        let before = errors.errors.count
        if reading.kind == .mapping {
            errors.report(
                at: node.position, "a mapping can't emit lines: an import only writes documents; remove 'emit'")
        }
        let file = object.requiredText("file", "name the file, or - for stdout: file: ../out/orders.ndjson")
        let rotation = object.node("rotate").flatMap { EmitRotation($0, errors) }
        if file == "-", let node = object.node("rotate") {
            errors.report(at: node.position, "stdout can't be rotated; remove 'rotate', or name a file")
        }
        if let file, file.hasSuffix("/"), let node = object.node("file") {
            errors.report(at: node.position, "'file' is a folder; name a file in it")
        }
        let line = Self.line(object, reading)
        guard let file, let line, errors.errors.count == before else { return nil }
        target =
            file == "-"
            ? .standardOutput : .file(path: RulePath.join(RulePath.folder(of: errors.path), file), rotation)
        self.file = file
        self.line = line
    }

    private static func line(_ object: SourceObject, _ reading: RuleReading) -> Line? {
        let event = object.node("event")
        switch object.node("line")?.content {
        case nil, .string("cloudevents"):
            guard let event else { return .event(CloudEventTemplate()) }
            return CloudEventTemplate(event, reading).map { .event($0) }
        case _ where event != nil:
            object.errors.report(
                at: event?.position, "'event' is for CloudEvents only; remove it, or write line: cloudevents")
            // For its errors.
            if let line = object.node("line"), case .object = line.content { _ = Template(line, reading) }
            return nil
        case .string("document"): return .document
        case .object: return object.node("line").flatMap { Template($0, reading) }.map { .value($0) }
        default:
            object.errors.report(
                at: object.node("line")?.position,
                "'line' must be cloudevents (the default), document, an object or { jq: PROGRAM }; write one of them")
            return nil
        }
    }

    /// Does nothing if a program gives nothing, or null.
    func apply(to draft: inout Draft, _ outputs: [[JSONText]]) throws(ActionError) {
        var lines: [EmitEffect.Line] = []
        switch line {
        case .event(let template):
            if let event = try template.event(of: draft.document, outputs) { lines = [.event(event)] }
        case .document: lines = [.json(draft.document)]
        case .value(let template):
            lines = try template.values(outputs).filter { $0.root.kind != .null }.map { .json($0) }
        }
        for line in lines {
            let effect = EmitEffect(target: target, file: file, line: line)
            draft.effects.append(OutsideEffect(origin: draft.origin, kind: .emit(effect)))
        }
    }
}

/// A line to emit.
package struct EmitEffect: Sendable {
    enum Line: Sendable {
        case event(CloudEvent)
        case json(JSONText)

        var byteCount: Int {
            switch self {
            case .event(let event): event.data.bytes.count
            case .json(let json): json.bytes.count
            }
        }
    }

    /// Where it goes.
    package let target: EmitTarget
    /// The path as in the rule file.
    package let file: String
    let line: Line

    /// The line without its line feed. Numbers and strings keep their spelling.
    ///
    /// - Parameter identity: The identity of an event. Nil for a preview.
    package func bytes(_ identity: CloudEvent.Identity?) -> [UInt8] {
        let bytes =
            switch line {
            case .event(let event): event.json(identity)
            case .json(let json): Array(json.root.bytes)
            }
        // White space between tokens may be line feeds.
        return bytes.contains { $0 == 0x0A || $0 == 0x0D } ? bytes.compactJSON : bytes
    }
}
