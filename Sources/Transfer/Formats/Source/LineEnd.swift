/// Ends broken text at the first line break after an offset.
struct LineEnd: BrokenTextEnd {
    private var left: Int
    let doubtful = 0

    init(after offset: Int) { left = offset }

    mutating func look(at byte: UInt8) -> Int? {
        left -= 1
        return left < 0 && byte == UInt8(ascii: "\n") ? 1 : nil
    }
}
