internal import Encodings
internal import GRDB

/// Generates document versions, `_cv` in the API: `TIME@SOURCE`. The time is in nanoseconds since 1970, hexadecimal,
/// with its last 16 bits zero. Each version is later than all before.
///
/// - Note: Source: recorded, Sync Gateway 4.1.1: `18e9dd7a4cc30000@ejcE9k+qkA14tJdVuT53uQ`. There the time is that of
///   the bucket's write, and the source identifies the bucket.
struct DocumentVersions {
    private static let step: Int64 = 1 << 16
    private let source: String
    private let first: Int64
    private var time: Int64

    init(_ db: Database) throws {
        let row = try Row.fetchOne(db.cachedStatement(sql: "SELECT source, time FROM versions"))
        source = row?[0] ?? ""
        time = row?[1] ?? 0
        first = time
    }

    /// 128 random bits.
    static func makeSource() -> String {
        let bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        return String(decoding: Base64.encode(bytes).prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
    }

    /// Whether a text given as a revision is a version.
    static func isVersion(_ text: String) -> Bool { text.contains("@") && !text.contains("-") }

    /// - Parameter now: Nanoseconds since 1970.
    mutating func next(now: Int64) -> String {
        time = max(now & -Self.step, time + Self.step)
        return "\(String(time, radix: 16))@\(source)"
    }

    /// Saves the time of the newest version. Must be called once, at the end of the transaction.
    func finish(_ db: Database) throws {
        guard time != first else { return }
        try db.cachedStatement(sql: "UPDATE versions SET time = ?").execute(arguments: [time])
    }
}

/// The result of a write.
struct WrittenRevision: Sendable {
    let id: StoredRevisionID
    /// Nil if the revision already existed and nothing was written.
    let version: String?
}
