package import LosslessJSON

/// A value that all programs of a pool can read as `$NAME`.
///
/// It is sent to a process once, at its start, and not with each call.
package struct JQBinding: Sendable {
    /// The name without the `$`.
    package let name: String
    /// Its value.
    package let json: [UInt8]

    /// - Throws: ``JQError/inexactNumber(_:)`` or ``JQError/brokenCharacter(_:)`` for values that jq can't represent,
    ///   because programs would see a different value.
    package init(name: String, _ value: JSONText) throws(JQError) {
        if let parts = InexactParts(of: value) { throw parts.error }
        self.name = name
        json = value.bytes
    }

    /// Binds a name to an empty list.
    package init(emptyListNamed name: String) {
        self.name = name
        json = Array("[]".utf8)
    }

    /// The variables that all programs of rules have.
    package static let common = ["now", "change", "match"]

    private static let taken: Set<String> = [
        "ENV", "change", "match", "now", "and", "as", "catch", "def", "elif", "else", "end", "foreach", "if", "import",
        "include", "label", "module", "or", "reduce", "then", "try",
    ]

    /// Whether a variable can have this name: valid in jq, at most 64 bytes, not beginning with `__`, and neither one
    /// of ``common`` nor a jq keyword.
    package static func isName(_ name: String) -> Bool {
        let isStart = { (byte: UInt8) in byte == UInt8(ascii: "_") || (byte | 0x20) &- UInt8(ascii: "a") < 26 }
        guard let first = name.utf8.first, isStart(first), name.utf8.count <= 64, !name.hasPrefix("__") else {
            return false
        }
        return !taken.contains(name) && name.utf8.allSatisfy { isStart($0) || $0 &- UInt8(ascii: "0") < 10 }
    }
}

/// The data that a process receives before the first request.
struct JQPrograms: Sendable {
    let programs: [JQProgram]
    /// The variables of all programs.
    let bindings: [JQBinding]

    init(_ programs: [JQProgram], bindings: [JQBinding] = []) {
        self.programs = programs
        self.bindings = bindings
    }
}
