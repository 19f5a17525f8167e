/// The longest common subsequence of two lists of lines.
struct CommonLines {
    /// Which list to take the next line from.
    enum Step {
        case both, old, new
    }

    private let old: [Int]
    private let new: [Int]
    /// The length of the longest common subsequence of the remaining lines, for each pair of positions, row by row.
    private var lengths: [UInt16]

    /// - Parameters: At most 65,535 lines each. The table has as many entries as the product of both counts.
    init(_ old: [String], _ new: [String]) {
        // Equal lines get the same number, so the bytes of each line are compared only once.
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

    /// The next step after `left` lines of the old list and `right` lines of the new one. At least one list must have
    /// lines left.
    func step(_ left: Int, _ right: Int) -> Step {
        if left == old.count { return .new }
        if right == new.count { return .old }
        if old[left] == new[right] { return .both }
        return lengths[place(left + 1, right)] >= lengths[place(left, right + 1)] ? .old : .new
    }

    private func place(_ left: Int, _ right: Int) -> Int { left * (new.count + 1) + right }
}
