internal import LosslessJSON
internal import Yams

/// Reads a YAML file into a source tree.
///
/// Yams builds the nodes; ``YAMLCoreSchema`` decides what a scalar means.
struct YAMLSource {
    private let errors: SourceErrors
    private var count = 0
    /// Whether everything in the file was read, except for duplicate keys.
    private var isComplete = true
    private var isTooDeep = false
    /// Whether the file may repeat values by aliases: a star before a name, where a value begins.
    private let hasAliases: Bool

    private init(_ text: String, errors: SourceErrors) {
        self.errors = errors
        hasAliases = text.contains(/[:,\[{\-]\s*\*\w/)
    }

    /// Nil, with errors, if the text is not one YAML document or contains a value that JSON can't represent. A
    /// duplicate key is also an error, but the rest is read.
    ///
    /// - Parameter beginning: What to do about an empty file, for its error.
    static func read(
        _ text: String, errors: SourceErrors, beginning: String = SourceErrors.beginningOfRules
    ) -> SourceNode? {
        let root: Node?
        do {
            root = try Yams.compose(yaml: text, .basic, .default, .utf8)
        } catch {
            report(error, errors)
            return nil
        }
        guard let root else {
            errors.reportEmpty(beginning)
            return nil
        }
        var source = YAMLSource(text, errors: errors)
        let node = source.node(root, depth: 1)
        return source.isComplete ? node : nil
    }

    /// Nil, with an error, for an unreadable value. The file is then incomplete, and the rest is read only to find more
    /// errors.
    private mutating func node(_ node: Node, depth: Int) -> SourceNode? {
        let result = content(of: node, depth: depth)
        if result == nil { isComplete = false }
        return result
    }

    private mutating func content(of node: Node, depth: Int) -> SourceNode? {
        let position = Self.position(node.mark)
        count += 1
        guard count <= SourceNode.countLimit else {
            // Reported once, because all levels above also stop here.
            if count == SourceNode.countLimit + 1 {
                errors.report(
                    at: position,
                    hasAliases
                        ? "with its aliases expanded, the file has more than \(SourceNode.countLimit) values; "
                            + "use fewer aliases (*name)"
                        : "the file has more than \(SourceNode.countLimit) values; split it into several files")
            }
            return nil
        }
        guard depth <= SourceNode.depthLimit else {
            if !isTooDeep {
                errors.report(at: position, "nested deeper than \(SourceNode.depthLimit) levels; flatten it")
            }
            isTooDeep = true
            return nil
        }
        switch node {
        case .scalar(let scalar): return content(of: scalar, at: position)
        case .sequence(let sequence): return list(sequence, at: position, depth: depth)
        case .mapping(let mapping): return object(mapping, at: position, depth: depth)
        case .alias:
            errors.report(at: position, "an alias without a target; write its value out")
            return nil
        }
    }

    private mutating func list(_ sequence: Node.Sequence, at position: SourcePosition, depth: Int) -> SourceNode? {
        guard accepts(sequence.tag, or: .seq, at: position) else { return nil }
        var elements: [SourceNode] = []
        for element in sequence {
            if let element = node(element, depth: depth + 1) { elements.append(element) }
        }
        return SourceNode(content: .list(elements), position: position)
    }

    private mutating func object(_ mapping: Node.Mapping, at position: SourcePosition, depth: Int) -> SourceNode? {
        guard accepts(mapping.tag, or: .map, at: position) else { return nil }
        var members: [SourceNode.Member] = []
        var names: Set<ExactString> = []
        for (key, value) in mapping {
            let keyPosition = Self.position(key.mark)
            guard case .scalar(let scalar) = key else {
                errors.report(at: keyPosition, "a key must be text, not a list or an object; put it in quotes")
                isComplete = false
                continue
            }
            guard scalar.string != "<<" || scalar.style != .plain else {
                errors.report(
                    at: keyPosition,
                    "merge keys ('<<') are YAML 1.1, and this file is read as YAML 1.2: write the members out, or make an "
                        + "alias (*name) of the whole value; '<<' in quotes is a name")
                isComplete = false
                continue
            }
            guard names.insert(ExactString(scalar.string)).inserted else {
                errors.report(at: keyPosition, "the key '\(scalar.string)' appears twice; remove one of the two")
                continue
            }
            guard let value = node(value, depth: depth + 1) else { continue }
            members.append(
                SourceNode.Member(
                    name: scalar.string, position: keyPosition, value: value, isPlain: scalar.style == .plain))
        }
        return SourceNode(content: .object(members), position: position)
    }

    private func accepts(_ tag: Tag, or core: Tag.Name, at position: SourcePosition) -> Bool {
        let name = Tag.Name(rawValue: tag.description)
        if name == .implicit || name == .nonSpecific || name == core { return true }
        errors.report(at: position, "the tag '\(name.rawValue)' is not supported here; remove it")
        return false
    }

    private func content(of scalar: Node.Scalar, at position: SourcePosition) -> SourceNode? {
        let text = scalar.string
        let tag = Tag.Name(rawValue: scalar.tag.description)
        do throws(YAMLCoreSchema.ValueError) {
            if let content = try content(of: text, tag: tag, isPlain: scalar.style == .plain) {
                return SourceNode(content: content, position: position, isPlain: scalar.style == .plain)
            }
            errors.report(at: position, "'\(text)' can't be read as the tag '\(tag.rawValue)'; remove the tag")
        } catch {
            switch error {
            case .notJSON:
                errors.report(at: position, "'\(text)' is not a JSON number; put it in quotes if it is text")
            case .tooLarge:
                errors.report(at: position, "'\(text)' is longer than 64 bits; write it in decimal")
            }
        }
        return nil
    }

    /// Nil if the text does not match the tag, or the tag is not a standard YAML tag.
    private func content(
        of text: String, tag: Tag.Name, isPlain: Bool
    ) throws(YAMLCoreSchema.ValueError) -> SourceNode.Content? {
        switch tag {
        case .implicit: return isPlain ? try YAMLCoreSchema.resolve(text) : .string(text)
        case .str, .nonSpecific: return .string(text)
        case .null, .bool, .int, .float: break
        default: return nil
        }
        let content = try YAMLCoreSchema.resolve(text)
        switch (content, tag) {
        case (.null, .null), (.bool, .bool), (.number, .float): return content
        case (.number(let number), .int):
            return number.utf8.allSatisfy { $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) } ? content : nil
        default: return nil
        }
    }

    private static func position(_ mark: Mark?) -> SourcePosition {
        SourcePosition(line: mark?.line ?? 1, column: mark?.column ?? 1)
    }

    private static func report(_ error: any Error, _ errors: SourceErrors) {
        guard let error = error as? YamlError else { return errors.report(at: .start, "not YAML: \(error)") }
        switch error {
        case .scanner(let context, let problem, let mark, let text),
            .parser(let context, let problem, let mark, let text):
            let error = YAMLSyntaxError(
                problem, at: position(mark), from: context.map { position($0.mark) }, in: text)
            errors.report(at: error.position, error.message, isSyntax: true)
        case .composer(_, let problem, let mark, _) where problem.contains("undefined alias"):
            errors.report(
                at: position(mark), "the alias (*name) has no anchor (&name) before it; write the value out")
        case .composer(_, _, let mark, _):
            errors.report(
                at: position(mark),
                "a second YAML document begins here, but a file can have only one; remove the "
                    + "'---'")
        case .duplicatedKeysInMapping(let keys, let context):
            errors.report(
                at: position(context.mark),
                "the key '\(keys.first ?? "")' appears twice in one object; remove one of the two")
        case .reader(let problem, _, _, let text):
            guard let refused = OddCharacter.firstRefused(in: text) else {
                return errors.report(at: .start, "not YAML: \(problem); remove control characters")
            }
            let name = OddCharacter.name(of: refused.character)
            errors.report(at: refused.position, "not YAML: \(name), is not allowed here; remove it")
        case .no, .memory, .writer, .emitter, .representer, .dataCouldNotBeDecoded:
            errors.report(at: .start, "not YAML: \(error)")
        }
    }
}
