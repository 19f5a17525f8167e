/// The text of a program, and the variables that get values with each of its calls.
package struct JQProgram: Hashable, Sendable {
    /// jq, as in the rule file.
    package let text: String
    /// The names, without the `$`, of variables besides ``JQBinding/common``: the members of ``JQCall/locals``. A member
    /// that a call does not have is null.
    package let locals: [String]

    /// Checks nothing: see ``JQCompiler/check(_:variables:)``.
    package init(_ text: String, locals: [String] = []) {
        self.text = text
        self.locals = locals
    }

    /// Strings are equal only if their bytes are.
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
    /// A program without further variables.
    package init(stringLiteral text: String) { self.init(text) }
}
