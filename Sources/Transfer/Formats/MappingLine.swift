internal import LosslessJSON

/// An action of a mapping, to paste into a rule file. For messages.
enum MappingLine {
    /// `merge: { price: { net: { jq: '.price.net | tonumber' } } }`
    ///
    /// - Parameters:
    ///   - path: The names that lead to the member.
    ///   - program: What follows the member's path in the program. It must not contain `'`.
    static func convert(_ path: [String], _ program: String) -> String {
        let value = "{ jq: '\(pathExpression(path).doublingQuotes)\(program)' }"
        return "merge: " + path.reversed().reduce(value) { inner, name in "{ \(key(name)): \(inner) }" }
    }

    /// `merge: { _id: { jq: .ID }, ID: null }`
    ///
    /// - Parameters:
    ///   - name: The member that has the id.
    ///   - isText: Whether the member is a string.
    static func renameToID(_ name: String, isText: Bool) -> String {
        let path = pathExpression([name])
        let program = isText ? path : "\(path) | tostring"
        let isPlain = isText && name.isIdentifier
        return "merge: { _id: { jq: \(isPlain ? program : "'\(program.doublingQuotes)'") }, \(key(name)): null }"
    }

    /// A key of a YAML object, in quotes where it needs them.
    private static func key(_ name: String) -> String {
        name.isIdentifier && !["true", "false", "null"].contains(name.lowercased()) ? name : literal(name)
    }

    /// The path in jq: `.price["the net"]`.
    static func pathExpression(_ path: [String]) -> String {
        path.enumerated().map { index, name in
            name.isIdentifier ? ".\(name)" : "\(index == 0 ? "." : "")[\(literal(name))]"
        }.joined()
    }

    private static func literal(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.appendJSONString(Array(text.utf8))
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension String {
    fileprivate var isIdentifier: Bool {
        guard let first = utf8.first, !(0x30...0x39).contains(first) else { return false }
        return utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || byte == UInt8(ascii: "_")
        }
    }

    /// As the content of a text in single quotes of YAML.
    fileprivate var doublingQuotes: String {
        split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
    }
}
