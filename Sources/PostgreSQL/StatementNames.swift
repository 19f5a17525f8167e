/// The statements that are prepared on a connection.
struct StatementNames {
    /// Above this number, statements are sent with their text each time: libpq can't close prepared ones.
    static let limit = 300

    private var names: [String: String] = [:]
    private var count = 0

    /// The name of a statement that is prepared.
    subscript(sql: String) -> String? { names[sql] }

    /// A name for a statement to be prepared; nil if there are too many.
    mutating func newName() -> String? {
        guard count < Self.limit else { return nil }
        count += 1
        return "s\(count)"
    }

    mutating func add(_ sql: String, as name: String) { names[sql] = name }

    /// Call when the statement must be prepared again, under a new name.
    mutating func remove(_ sql: String) { names[sql] = nil }
}
