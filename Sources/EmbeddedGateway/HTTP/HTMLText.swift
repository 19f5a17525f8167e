enum HTMLText {
    /// - Note: Source: Go's `htmlEscape`, for what a client sent and gets back in a page.
    static func escaped(_ text: some StringProtocol) -> String {
        text.reduce(into: "") { escaped, character in
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&#34;"
            case "'": escaped += "&#39;"
            default: escaped.append(character)
            }
        }
    }
}
