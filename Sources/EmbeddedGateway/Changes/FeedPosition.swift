/// A place in the changes feed.
///
/// `SEQUENCE`, or `TRIGGER:SEQUENCE` for what somebody sees since he was given a channel at the sequence `TRIGGER`: all of
/// that comes before the change `TRIGGER` itself.
struct FeedPosition: Sendable, Equatable, Comparable {
    /// The sequence of the grant; nil for a plain position.
    let trigger: Int?
    let sequence: Int

    static let start = FeedPosition(0)

    init(_ sequence: Int, trigger: Int? = nil) {
        self.trigger = trigger
        self.sequence = sequence
    }

    /// Changes above this sequence are due where no grants count.
    var plainSequence: Int { trigger.map { max(0, $0 - 1) } ?? sequence }

    static func < (left: FeedPosition, right: FeedPosition) -> Bool { left.order < right.order }

    private var order: (Int, Int, Int) { (trigger ?? sequence, trigger == nil ? 1 : 0, sequence) }

    /// `16`, `29:13`.
    var text: String { trigger.map { "\($0):\(sequence)" } ?? String(sequence) }

    /// As a row has it: a number, or a string where it can't be one.
    var json: String { trigger == nil ? text : "\"\(text)\"" }

    /// Takes `16`, `"16"`, `29:13`, `10::14` and nothing at all.
    ///
    /// `LOW::SEQUENCE` says that something above `LOW` was still missing. This gateway does not give it out, but starts
    /// where nothing is lost.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1.
    init(_ given: String) throws(GatewayFault) {
        let text = Self.unquoted(given)
        guard !text.isEmpty else {
            self = .start
            return
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 3, let first = UInt64(parts[0]), text.utf8.first != UInt8(ascii: "+") else {
            throw GatewayFault(400, "Invalid sequence: \"\(given)\"")
        }
        var numbers: [Int?] = [Int(clamping: first)]
        for (position, part) in parts.enumerated().dropFirst() {
            if part.isEmpty, position == 1, parts.count == 3 {
                numbers.append(nil)
                continue
            }
            guard let number = UInt64(part) else {
                throw GatewayFault(500, "Internal error: strconv.ParseUint: parsing \"\(part)\": invalid syntax")
            }
            numbers.append(Int(clamping: number))
        }
        self.init(numbers)
    }

    private init(_ numbers: [Int?]) {
        switch (numbers.count, numbers.first ?? nil, numbers.last ?? nil) {
        case (2, let trigger?, let sequence?): self.init(sequence, trigger: trigger)
        case (3, let low?, let sequence?):
            if let trigger = numbers[1] { self.init(sequence, trigger: trigger) } else { self.init(low) }
        case (_, let sequence?, _): self.init(sequence)
        default: self = .start
        }
    }

    static func unquoted(_ text: String) -> String {
        text.count >= 2 && text.hasPrefix("\"") && text.hasSuffix("\"") ? String(text.dropFirst().dropLast()) : text
    }
}
