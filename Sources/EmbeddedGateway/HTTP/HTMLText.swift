enum HTMLText {
    /// - Note: Source: Go's `htmlEscape`, for client input that is repeated in a page.
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
