/// A time as Go's `time.Parse` reads it with the layout `time.RFC3339`, with its messages.
///
/// More lenient than RFC 3339: the hour may have one digit, and a comma may begin the fraction. Stricter: `T` and `Z`
/// must be capitals.
///
/// - Note: Source: `parse` in Go's `src/time/format.go`; tried on Sync Gateway 4.1.1, which reads `_exp` with it.
struct GoTime {
    /// Why a text is not a time.
    struct Failure: Error {
        let message: String
    }

    private static let layout = "2006-01-02T15:04:05Z07:00"

    /// Since 1970-01-01 00:00:00 UTC, without the fraction.
    let seconds: Int

    init(_ text: String) throws(Failure) {
        var reader = Reader(text)
        let year = try reader.year()
        let month = try reader.number("01", after: "-", 1...12, "month")
        let day = try reader.number("02", after: "-", 0...99, "day")
        let hour = try reader.number("15", after: "T", 0...23, "hour", allowsOneDigit: true)
        let minute = try reader.number("04", after: ":", 0...59, "minute")
        let second = try reader.number("05", after: ":", 0...59, "second")
        reader.skipFraction()
        let offset = try reader.offset()
        try reader.checkEnd()
        guard let date = CalendarDay(year: year, month: month, day: day) else {
            throw reader.failure(": day out of range")
        }
        seconds = date.daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second - offset
    }

    private struct Reader {
        private let text: [UInt8]
        private var rest: ArraySlice<UInt8>

        init(_ text: String) {
            self.text = Array(text.utf8)
            rest = self.text[...]
        }

        private func digit(_ index: Int) -> Int? {
            guard index < rest.count, case let byte = rest[rest.startIndex + index], 0x30...0x39 ~= byte else {
                return nil
            }
            return Int(byte - 0x30)
        }

        mutating func year() throws(Failure) -> Int {
            let digits = (0..<4).compactMap(digit)
            guard digits.count == 4 else { throw unexpected("2006", rest) }
            rest = rest.dropFirst(4)
            return digits.reduce(0) { $0 * 10 + $1 }
        }

        /// Two digits.
        mutating func number(
            _ element: String, after prefix: Unicode.Scalar, _ range: ClosedRange<Int>, _ name: String,
            allowsOneDigit: Bool = false
        ) throws(Failure) -> Int {
            guard rest.first == UInt8(ascii: prefix) else { throw unexpected(String(Character(prefix)), rest) }
            rest.removeFirst()
            guard let first = digit(0) else { throw unexpected(element, rest) }
            let second = digit(1)
            guard second != nil || allowsOneDigit else { throw unexpected(element, rest) }
            rest = rest.dropFirst(second == nil ? 1 : 2)
            let number = second.map { first * 10 + $0 } ?? first
            guard range.contains(number) else { throw failure(": \(name) out of range") }
            return number
        }

        mutating func skipFraction() {
            guard let first = rest.first, ".,".utf8.contains(first), digit(1) != nil else { return }
            rest = rest.dropFirst().drop { 0x30...0x39 ~= $0 }
        }

        /// In seconds east of UTC. Up to 24 hours and 60 minutes.
        mutating func offset() throws(Failure) -> Int {
            if rest.first == UInt8(ascii: "Z") {
                rest.removeFirst()
                return 0
            }
            let start = rest
            let digits = [1, 2, 4, 5].compactMap(digit)
            guard rest.count >= 6, rest[rest.startIndex + 3] == UInt8(ascii: ":"), digits.count == 4 else {
                throw unexpected("Z07:00", start)
            }
            let (hours, minutes) = (digits[0] * 10 + digits[1], digits[2] * 10 + digits[3])
            rest = rest.dropFirst(6)
            guard minutes <= 60 else { throw failure(": time zone offset minute out of range") }
            guard hours <= 24 else { throw failure(": time zone offset hour out of range") }
            switch start.first {
            case UInt8(ascii: "+"): return (hours * 60 + minutes) * 60
            case UInt8(ascii: "-"): return -(hours * 60 + minutes) * 60
            default: throw unexpected("Z07:00", start)
            }
        }

        func checkEnd() throws(Failure) {
            guard rest.isEmpty else { throw failure(": extra text: \(quoted(rest))") }
        }

        private func unexpected(_ element: String, _ place: ArraySlice<UInt8>) -> Failure {
            failure(" as \"\(GoTime.layout)\": cannot parse \(quoted(place)) as \"\(element)\"")
        }

        func failure(_ message: String) -> Failure { Failure(message: "parsing time \(quoted(text[...]))\(message)") }

        private func quoted(_ bytes: ArraySlice<UInt8>) -> String {
            bytes.reduce(into: "\"") { quoted, byte in
                switch byte {
                case 0x22, 0x5C: quoted += "\\\(Character(Unicode.Scalar(byte)))"
                case 0x20...0x7F: quoted.unicodeScalars.append(Unicode.Scalar(byte))
                default: quoted += "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
                }
            } + "\""
        }
    }
}
