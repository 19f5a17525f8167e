/// A YAML file whose content is an object, with its bytes.
struct YAMLText {
    /// The path, for messages.
    let path: String
    let bytes: [UInt8]
    let members: [SourceNode.Member]

    /// - Throws: ``RuleFileAddition/Refusal`` if it is JSON, is not valid YAML, or is not an object.
    init(path: String, bytes: [UInt8]) throws(RuleFileAddition.Refusal) {
        (self.path, self.bytes) = (path, bytes)
        let errors = SourceErrors(path: path)
        let root = SourceFile.read(path: path, bytes, errors, as: nil)
        if let error = errors.errors.first {
            throw RuleFileAddition.Refusal(path: path, position: error.position ?? .start, reason: error.message)
        }
        guard case .object(let members)? = root?.content else {
            throw RuleFileAddition.Refusal(
                path: path, position: .start,
                reason: "rules and tests can be added only to a YAML object; begin the file with 'version: 1'")
        }
        self.members = members
    }

    func member(_ name: String) -> SourceNode.Member? { members.first { $0.name == name } }

    /// The elements of a list. Empty if there is none.
    func elements(of key: String) -> [SourceNode] {
        guard case .list(let elements)? = member(key)?.value.content else { return [] }
        return elements
    }

    func refusal(at position: SourcePosition, _ reason: String) -> RuleFileAddition.Refusal {
        RuleFileAddition.Refusal(path: path, position: position, reason: reason)
    }
}
