internal import FoundationEssentials
internal import GRDB

/// A string stored as a blob of UTF-8: GRDB binds text only up to its first U+0000, which ids may contain.
struct WholeText: DatabaseValueConvertible {
    let text: String

    init(_ text: String) { self.text = text }

    init?(_ text: String?) {
        guard let text else { return nil }
        self.text = text
    }

    var databaseValue: DatabaseValue { Data(text.utf8).databaseValue }

    static func fromDatabaseValue(_ value: DatabaseValue) -> WholeText? {
        Data.fromDatabaseValue(value).map { WholeText(String(decoding: $0, as: UTF8.self)) }
    }
}
