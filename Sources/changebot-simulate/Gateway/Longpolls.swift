/// Requests that wait for the next change.
struct Longpolls {
    private var waiting: [(number: Int, wake: () -> Void)] = []
    private var count = 0

    /// - Returns: The number of the request.
    mutating func add(_ wake: @escaping () -> Void) -> Int {
        count += 1
        waiting.append((count, wake))
        return count
    }

    /// Nil if it does not wait any more.
    mutating func remove(_ number: Int) -> (() -> Void)? {
        waiting.firstIndex { $0.number == number }.map { waiting.remove(at: $0).wake }
    }

    mutating func removeAll() -> [() -> Void] {
        defer { waiting = [] }
        return waiting.map(\.wake)
    }
}
