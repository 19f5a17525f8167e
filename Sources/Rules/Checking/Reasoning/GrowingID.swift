/// A program for an id that certainly gives a longer text each time it is applied to a document with that id:
/// `"copy:" + ._id`, `"copy:\(._id)"`.
enum GrowingID {
    static func isCertain(_ program: String) -> Bool {
        let parts = ProgramTokens(program).texts
        guard parts.count % 2 == 1, stride(from: 1, to: parts.count, by: 2).allSatisfy({ parts[$0] == "+" }) else {
            return false
        }
        var (hasID, hasText) = (false, false)
        for part in stride(from: 0, to: parts.count, by: 2).map({ parts[$0] }) {
            guard part != "._id" else {
                hasID = true
                continue
            }
            guard part.count >= 2, part.hasPrefix("\""), part.hasSuffix("\"") else { return false }
            let interpolations = ProgramTokens(part).interpolations
            guard interpolations.allSatisfy({ $0.trimmed == "._id" }) else { return false }
            if !interpolations.isEmpty { hasID = true }
            if part.replacing(/\\\(\s*\._id\s*\)/, with: "").count > 2 { hasText = true }
        }
        return hasID && hasText
    }
}
