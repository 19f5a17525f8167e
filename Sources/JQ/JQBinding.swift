package import LosslessJSON

/// A value that all programs of a pool know by a name: `$NAME`.
///
/// It goes to a process once, when that starts, not with each call.
package struct JQBinding: Sendable {
    /// Without the `$`.
    package let name: String
    let json: [UInt8]

    /// - Throws: ``JQFault/inexactNumber(_:)`` or ``JQFault/brokenCharacter(_:)`` for what jq can't hold: programs
    ///   would work with something else than what stands there.
    package init(name: String, _ value: JSONText) throws(JQFault) {
        if let parts = InexactParts(of: value) { throw parts.fault }
        self.name = name
        json = value.bytes
    }

    /// A name for an empty list.
    package init(nameOfNothing name: String) {
        self.name = name
        json = Array("[]".utf8)
    }

    /// Names that all programs of rules know.
    package static let common = ["now", "change", "match"]

    private static let taken: Set<String> = [
        "ENV", "change", "match", "now", "and", "as", "catch", "def", "elif", "else", "end", "foreach", "if", "import",
        "include", "label", "module", "or", "reduce", "then", "try",
    ]

    /// Whether programs can know a value by this name: a variable's name in jq, and none that is known already or is
    /// a word of the language.
    package static func isName(_ name: String) -> Bool {
        let isStart = { (byte: UInt8) in byte == UInt8(ascii: "_") || (byte | 0x20) &- UInt8(ascii: "a") < 26 }
        guard let first = name.utf8.first, isStart(first), name.utf8.count <= 64, !name.hasPrefix("__") else {
            return false
        }
        return !taken.contains(name) && name.utf8.allSatisfy { isStart($0) || $0 &- UInt8(ascii: "0") < 10 }
    }
}

/// What a process is told before it is asked anything.
struct JQPrograms: Sendable {
    /// The programs' texts.
    let texts: [[UInt8]]
    /// Known to all of them.
    let bindings: [JQBinding]

    init(_ texts: [String], bindings: [JQBinding] = []) {
        self.texts = texts.map { Array($0.utf8) }
        self.bindings = bindings
    }
}
