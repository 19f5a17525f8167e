/// One of the five fields of a cron line: a set of numbers below 64.
struct CronField: Sendable, Equatable {
    /// What a field may hold.
    struct Kind {
        let name: String
        let range: ClosedRange<Int>
        /// Names for the numbers from `range.lowerBound` on, in lower case.
        var names: [String] = []

        static let minute = Kind(name: "minute", range: 0...59)
        static let hour = Kind(name: "hour", range: 0...23)
        static let day = Kind(name: "day of the month", range: 1...31)
        static let month = Kind(
            name: "month", range: 1...12,
            names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"])
        /// 7 is also Sunday.
        static let weekday = Kind(
            name: "day of the week", range: 0...7, names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"])
        static let all = [minute, hour, day, month, weekday]

        var isWeekday: Bool { range.upperBound == 7 }
    }

    private var bits: UInt64 = 0
    /// Whether it has a `*`, as in `*` and `*/5`.
    private(set) var hasStar = false

    func contains(_ number: Int) -> Bool { bits >> UInt64(number) & 1 == 1 }

    /// The numbers, ascending.
    var numbers: [Int] { (0..<64).filter(contains) }

    /// - Parameter text: A list of numbers, names, ranges and `*`, each with an optional step: `1-5,*/10`.
    init(_ text: Substring, _ kind: Kind) throws(CronError) {
        for part in text.split(separator: ",", omittingEmptySubsequences: false) { try add(part, kind) }
        guard kind.isWeekday, contains(7) else { return }
        bits = bits & ~(1 << 7) | 1
    }

    private mutating func add(_ part: Substring, _ kind: Kind) throws(CronError) {
        let pieces = part.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let range = pieces.first ?? ""
        var step = 1
        if pieces.count == 2 {
            guard let number = Int(pieces[1]), number > 0, pieces[1].utf8.allSatisfy(Self.isDigit) else {
                throw CronError("the step in '\(part)' must be a number of at least 1")
            }
            step = number
        }
        let numbers = try Self.range(range, part, kind)
        if pieces.count == 2, range != "*", !range.contains("-") {
            throw CronError(
                "a step needs a range or a star before it; for '\(part)' write "
                    + "\(range)-\(kind.isWeekday ? 6 : kind.range.upperBound)/\(step)")
        }
        if range == "*" { hasStar = true }
        for number in stride(from: numbers.lowerBound, through: numbers.upperBound, by: step) {
            bits |= 1 << UInt64(number)
        }
    }

    private static func range(_ text: Substring, _ part: Substring, _ kind: Kind) throws(CronError) -> ClosedRange<Int>
    {
        if text == "*" { return kind.isWeekday ? 0...6 : kind.range }
        let ends = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let first = try number(ends[0], part, kind)
        guard ends.count == 2 else { return first...first }
        var last = try number(ends[1], part, kind)
        if kind.isWeekday, last == 0, first > 0 { last = 7 }
        guard first <= last else {
            throw CronError("the range '\(text)' runs backwards; write two ranges with a comma between them")
        }
        return first...last
    }

    private static func number(_ text: Substring, _ part: Substring, _ kind: Kind) throws(CronError) -> Int {
        if let place = kind.names.firstIndex(of: text.lowercased()) { return place + kind.range.lowerBound }
        if text.utf8.allSatisfy(isDigit), let number = Int(text), kind.range.contains(number) { return number }
        let names = kind.names.isEmpty ? "" : ", or the first three letters of its name"
        throw CronError(
            "'\(part)' is not a valid \(kind.name); write \(kind.range.lowerBound) to \(kind.range.upperBound)\(names)")
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}

/// Why a text is not a cron line.
struct CronError: Error, Equatable {
    /// What is wrong and what to do, for the user.
    let message: String

    init(_ message: String) { self.message = message }
}
