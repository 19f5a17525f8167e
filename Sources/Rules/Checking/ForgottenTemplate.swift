/// Finds placeholders of template languages in a text that is used as it is, such as `r.{{_id}}`.
enum ForgottenTemplate {
    /// A kind of placeholder. The group is what is filled in, in the syntax of programs.
    private struct Placeholder {
        let pattern: Regex<(Substring, Substring)>
        /// Before the group in a program.
        let prefix: String
    }

    /// These alone show that a text is a template.
    private static var certain: [Placeholder] {
        [
            // {{_id}}, ${_id}, #{_id}, %{_id}
            Placeholder(pattern: /\{\{\s*[.$]?([A-Za-z_][A-Za-z0-9_.]*)\s*\}\}/, prefix: "."),
            Placeholder(pattern: /[$#%]\{\s*[.$]?([A-Za-z_][A-Za-z0-9_.]*)\s*\}/, prefix: "."),
            // {_id}, <_id>, $_id
            Placeholder(pattern: /\{(_(?:id|rev))\}/, prefix: "."),
            Placeholder(pattern: /<(_(?:id|rev))>/, prefix: "."),
            Placeholder(pattern: /\$(_(?:id|rev))(?![A-Za-z0-9_])/, prefix: "."),
            // <%= petId %>
            Placeholder(pattern: /<%[=-]?\s*[.$@]?([A-Za-z_][A-Za-z0-9_.]*)\s*-?%>/, prefix: "."),
            // $index, $item.name
            Placeholder(
                pattern: /(\$(?:index|item)(?:\.[A-Za-z_][A-Za-z0-9_]*)*)(?![A-Za-z0-9_])/, prefix: ""),
        ]
    }

    /// `$now`, in one word with other text: alone, it may be a name in a sentence.
    private static var attachedVariable: Regex<(Substring, Substring)> {
        /[^\s$\\](\$(?:now|change|match|source|response|ENV)(?:\.[A-Za-z_][A-Za-z0-9_]*)*)(?![A-Za-z0-9_])/
    }

    /// `r.(._id)`; `(.pdf)` is the ending of a file.
    private static var attachedPath: Regex<(Substring, Substring)> {
        /[A-Za-z0-9_.:\/-]\((\.[A-Za-z_][A-Za-z0-9_.]*)\)/
    }

    static func hasPlaceholder(_ text: String) -> Bool {
        guard text.contains(where: { "{$<(".contains($0) }) else { return false }
        return certain.contains { text.firstMatch(of: $0.pattern) != nil }
            || text.firstMatch(of: attachedVariable) != nil || hasAttachedPath(text)
            || text.firstMatch(of: /\\\(\s*[.$][^()]+\)/) != nil
    }

    private static func hasAttachedPath(_ text: String) -> Bool {
        text.matches(of: attachedPath).contains { !FileEnding.isFileName($0.1) }
    }

    /// The program that was probably intended: `"r.\(._id)"`. Nil if the text has characters that need escaping.
    static func program(_ text: String) -> String? {
        guard !text.contains(where: { "'\"\\\n".contains($0) }) else { return nil }
        var program = text
        for placeholder in certain {
            program.replace(placeholder.pattern) { "\\(\(placeholder.prefix)\($0.1))" }
        }
        if hasAttachedPath(text) {
            program.replace(/(^|[^\\])\((\.[A-Za-z_][A-Za-z0-9_.]*)\)/) { "\($0.1)\\(\($0.2))" }
        }
        program.replace(/([^\s$\\(])(\$(?:now|change|match|source|response|ENV)(?:\.[A-Za-z_][A-Za-z0-9_]*)*)/) {
            "\($0.1)\\(\($0.2))"
        }
        program.replace(/\{\s*([A-Za-z_][A-Za-z0-9_.]*)\s*\}/) { "\\(.\($0.1))" }
        return "\"\(program)\""
    }
    /// Like ``program(_:)``, for a URL's path: values of the document are percent-encoded.
    static func pathProgram(_ path: String) -> String? {
        program(path)?.replacing(/\\\(([^()]+)\)/) { "\\(\($0.1) | @uri)" }
    }
}
