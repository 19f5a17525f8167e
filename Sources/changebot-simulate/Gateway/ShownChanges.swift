/// What the feed of a simulated gateway shows.
struct ShownChanges {
    /// The newest sequence of each shard, now and recently.
    var visible: [Int]
    var history: [(time: Int64, visible: [Int])] = []
    /// Sequences that the feed passes before it can show them, because they arrive very late.
    var skipped: Set<Int> = []
    /// The sequences that the feed knows, but can't show before earlier ones.
    var arrived: [Set<Int>]

    /// - Parameter newest: The newest sequence of each shard.
    init(_ newest: [Int]) { (visible, arrived) = (newest, newest.map { _ in [] }) }
}
