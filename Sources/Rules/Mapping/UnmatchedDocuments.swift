/// What to do with documents on which no rule of a mapping fires: `otherwise` in its file.
package enum UnmatchedDocuments: String, Sendable, CaseIterable {
    /// They are written unchanged.
    case pass
    /// They are omitted.
    case drop
    /// They are rejected.
    case reject
}

extension UnmatchedDocuments {
    /// Nil, with an error, for any other value.
    static func read(_ node: SourceNode, _ errors: SourceErrors) -> UnmatchedDocuments? {
        if case .string(let text) = node.content, let value = UnmatchedDocuments(rawValue: text) { return value }
        let found = if case .string(let text) = node.content { "'\(text)'" } else { node.kindName }
        errors.report(
            at: node.position, "'otherwise' must be pass (the default), drop or reject, not \(found); correct it")
        return nil
    }
}

extension Decision {
    /// Completes the decision about a document on which no rule fired.
    mutating func finishUnmatched(_ otherwise: UnmatchedDocuments) throws(DecisionError) {
        switch otherwise {
        case .pass: break
        case .drop: result = .deleted(last: nil)
        case .reject:
            throw DecisionError(rule: nil, reason: "no rule of the mapping matches it (otherwise: reject)")
        }
    }
}

extension RuleFileSet {
    /// The common value of all files: documents pass through the rules of all of them.
    ///
    /// - Throws: ``RuleFilesError`` if two files have different values.
    func otherwise() throws(RuleFilesError) -> UnmatchedDocuments {
        var first: (file: RuleFile, value: UnmatchedDocuments)?
        for file in files {
            guard let (value, position) = file.otherwise else { continue }
            guard let other = first else {
                first = (file, value)
                continue
            }
            guard other.value == value else {
                let message =
                    "'otherwise' is '\(value.rawValue)' here but '\(other.value.rawValue)' in \(other.file.path), "
                    + "and the mappings are applied together; correct one of the two"
                throw RuleFilesError(
                    kind: .invalid, errors: [RuleFileError(path: file.path, position: position, message: message)])
            }
        }
        return first?.value ?? .pass
    }
}
