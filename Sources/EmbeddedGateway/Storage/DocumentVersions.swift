internal import Encodings
internal import GRDB

/// Makes the versions of documents, `_cv` on the wire: `TIME@SOURCE`, the time in nanoseconds since 1970 and in
/// hexadecimal, its last 16 bits zero. Each is later than all before.
///
/// - Note: Source: recorded, Sync Gateway 4.1.1: `18e9dd7a4cc30000@ejcE9k+qkA14tJdVuT53uQ`. There the time is the one
///   at which the bucket wrote the document, and the source names the bucket.
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

    /// Whether a text that should name a revision names a version.
    static func isVersion(_ text: String) -> Bool { text.contains("@") && !text.contains("-") }

    /// - Parameter now: Nanoseconds since 1970.
    mutating func next(now: Int64) -> String {
        time = max(now & -Self.step, time + Self.step)
        return "\(String(time, radix: 16))@\(source)"
    }

    /// Keeps the time of the newest. Call once, at the end of the transaction.
    func finish(_ db: Database) throws {
        guard time != first else { return }
        try db.cachedStatement(sql: "UPDATE versions SET time = ?").execute(arguments: [time])
    }
}

/// What a write made.
struct WrittenRevision: Sendable {
    let id: RevisionID
    /// Nil if the revision was known already: nothing was written.
    let version: String?
}
