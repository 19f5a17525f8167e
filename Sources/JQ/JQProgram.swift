/// The text of a program, and the names of its local variables.
package struct JQProgram: Hashable, Sendable {
    /// The jq text, as in the rule file.
    package let text: String
    /// The names, without the `$`, of variables in addition to ``JQBinding/common``: the members of ``JQCall/locals``.
    /// A member that a call lacks is null.
    package let locals: [String]

    /// Does not check the program: see ``JQCompiler/check(_:variables:)``.
    package init(_ text: String, locals: [String] = []) {
        self.text = text
        self.locals = locals
    }

    /// Compares strings byte by byte.
    package static func == (left: JQProgram, right: JQProgram) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8) && left.locals == right.locals
    }

    /// Hashes the bytes of the text.
    package func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
        hasher.combine(locals)
    }
}

extension JQProgram: ExpressibleByStringLiteral {
    /// A program without local variables.
    package init(stringLiteral text: String) { self.init(text) }
}
