/// The longest common subsequence of two lists of lines: a table of its length for every pair of their ends.
struct CommonLines {
    /// Which list to take the next line from.
    enum Step {
        case both, old, new
    }

    private let old: [Int]
    private let new: [Int]
    /// Row by row: how many lines the rests of both lists, from here to their ends, have in common.
    private var lengths: [UInt16]

    /// - Parameters: Not more than 65,535 lines each; the table has their product as its size.
    init(_ old: [String], _ new: [String]) {
        // Each different line gets a number, so that lines are compared once, and by their bytes.
        var numbers: [[UInt8]: Int] = [:]
        func number(_ line: String) -> Int {
            let bytes = Array(line.utf8)
            if let known = numbers[bytes] { return known }
            let next = numbers.count
            numbers[bytes] = next
            return next
        }
        self.old = old.map(number)
        self.new = new.map(number)
        lengths = Array(repeating: 0, count: (old.count + 1) * (new.count + 1))
        for left in stride(from: old.count - 1, through: 0, by: -1) {
            for right in stride(from: new.count - 1, through: 0, by: -1) {
                lengths[place(left, right)] =
                    self.old[left] == self.new[right]
                    ? lengths[place(left + 1, right + 1)] + 1
                    : max(lengths[place(left + 1, right)], lengths[place(left, right + 1)])
            }
        }
    }

    /// The next step, once this much of each list is used. At least one list has more.
    func step(_ left: Int, _ right: Int) -> Step {
        if left == old.count { return .new }
        if right == new.count { return .old }
        if old[left] == new[right] { return .both }
        return lengths[place(left + 1, right)] >= lengths[place(left, right + 1)] ? .old : .new
    }

    private func place(_ left: Int, _ right: Int) -> Int { left * (new.count + 1) + right }
}
