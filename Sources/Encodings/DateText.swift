/// Parses the text of a date from its start.
struct DateText {
    enum Colon { case required, optional }

    private var rest: ArraySlice<UInt8>

    init(_ characters: [UInt8]) { rest = characters[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    /// Two digits.
    mutating func number(_ range: ClosedRange<Int>) -> Int? {
        guard let number = number(width: 2), range.contains(number) else { return nil }
        return number
    }

    /// Four digits, or a sign and six.
    mutating func year() -> Int? {
        if take("+") { return number(width: 6) }
        if take("-") { return number(width: 6).map { -$0 } }
        return number(width: 4)
    }

    /// The rest of a date after its year: `-11-20`.
    mutating func day(_ year: Int?) -> CalendarDay? {
        guard let year, take("-"), let month = number(1...12), take("-"), let day = number(1...31) else { return nil }
        return CalendarDay(year: year, month: month, day: day)
    }

    /// `10:30`, in minutes.
    mutating func hoursAndMinutes() -> Int? {
        guard let hour = number(0...23), take(":"), let minute = number(0...59) else { return nil }
        return hour * 60 + minute
    }

    var next: UInt8? { rest.first }

    /// How many digits follow here.
    var digitCount: Int { rest.prefix { (0x30...0x39).contains($0) }.count }

    /// The digits after a decimal point; empty if there is no point, nil if no digit follows it.
    mutating func fraction(allowsComma: Bool = false) -> String? {
        guard take(".") || allowsComma && take(",") else { return "" }
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        rest = rest.dropFirst(digits.count)
        return digits.isEmpty ? nil : String(decoding: digits, as: UTF8.self)
    }

    /// `+01:00`, in minutes east of UTC.
    mutating func offset(colon: Colon) -> Int? {
        let isEast = take("+")
        guard isEast || take("-"), let hours = number(0...23) else { return nil }
        guard take(":") || colon == .optional, let minutes = number(0...59) else { return nil }
        return (isEast ? 1 : -1) * (hours * 60 + minutes)
    }

    mutating func number(width: Int) -> Int? {
        let digits = rest.prefix(width)
        guard digits.count == width, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        rest = rest.dropFirst(width)
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
}
