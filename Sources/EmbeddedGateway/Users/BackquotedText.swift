internal import LosslessJSON

/// A configuration file whose strings may be in backquotes, with literal line breaks and quotes.
///
/// - Note: Source: Sync Gateway's configuration files, for the text of functions.
struct BackquotedText {
    /// The same file as JSON.
    let json: [UInt8]
    /// The ends in `json` of strings in backquotes, each with the number of bytes added up to there.
    private var shifts: [(end: Int, added: Int)] = []

    init(_ text: [UInt8]) {
        guard text.contains(UInt8(ascii: "`")) else {
            json = text
            return
        }
        var json: [UInt8] = []
        var at = 0
        while at < text.count {
            let end: Int
            switch text[at] {
            case UInt8(ascii: "\""):
                end = Self.endOfString(text, at)
                json += text[at..<end]
            case UInt8(ascii: "`"):
                let close = text[(at + 1)...].firstIndex(of: UInt8(ascii: "`")) ?? text.count
                json.appendJSONString(text[(at + 1)..<close])
                end = min(close + 1, text.count)
                shifts.append((json.count, json.count - end))
            default:
                end = at + 1
                json.append(text[at])
            }
            at = end
        }
        self.json = json
    }

    private static func endOfString(_ text: [UInt8], _ start: Int) -> Int {
        var at = start + 1
        while at < text.count, text[at] != UInt8(ascii: "\"") { at += text[at] == UInt8(ascii: "\\") ? 2 : 1 }
        return min(at + 1, text.count)
    }

    /// The position in the file for a position in ``json`` outside of strings in backquotes.
    func place(_ offset: Int) -> Int { offset - (shifts.last { $0.end <= offset }?.added ?? 0) }
}
