internal import Encodings

/// Texts in selectors that are compared as they are, but look like a condition or a time.
enum ComparisonText {
    /// `"> 21"`, `"!= done"`, `loan || lend`. Nil if it looks like a value.
    static func message(_ text: String) -> String? {
        if let match = text.wholeMatch(of: /\s*(<=|>=|!=|<>|==|<|>)\s*(\S+)\s*/), !match.2.contains(">") {
            let names = ["<=": "$lte", ">=": "$gte", "!=": "$ne", "<>": "$ne", "==": "$eq", "<": "$lt", ">": "$gt"]
            return "'\(DisplayText.plain(text))' is a string, not a condition; write "
                + "{ \(names[String(match.1)] ?? "$eq"): \(DisplayText.plain(String(match.2))) }"
        }
        guard text.wholeMatch(of: /\s*[A-Za-z_][\w-]*(\s*\|\|?\s*[A-Za-z_][\w-]*)+\s*/) != nil else { return nil }
        let values = text.split(separator: "|").map { String(String($0).trimmed) }
        return "'\(DisplayText.plain(text))' is one string; for any of these values write "
            + "{ $in: [\(DisplayText.plain(values.joined(separator: ", ")))] }"
    }

    /// A duration, the name of a day or a local date in an order comparison, which compares characters. Nil for other
    /// texts.
    static func timeMessage(_ text: String) -> String? {
        let value = text.trimmed
        let isDuration = value.wholeMatch(of: /(?i)-?\d+\s*(s|m|h|d|w|min|days?|weeks?|months?|hours?)/) != nil
        if isDuration || ["now", "now()", "today", "yesterday", "tomorrow"].contains(value.lowercased()) {
            return "'\(DisplayText.plain(text))' is compared as text, not as a time; compare in a program: "
                + "if: (.field | fromdate) < $now - 86400"
        }
        do throws(ISODateError) { _ = try ISODate(String(value)) } catch {
            guard case .localForm = error else { return nil }
            return "'\(DisplayText.plain(text))' is compared as text, from the left, so not by time; only dates such "
                + "as 2026-11-20 are in the order of time"
        }
        return nil
    }
}
