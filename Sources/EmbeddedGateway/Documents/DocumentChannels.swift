internal import LosslessJSON

/// The channels of a document: its member `channels`, a string or a list of strings.
///
/// - Note: Source: Sync Gateway's default sync function, `channel(doc.channels)`.
enum DocumentChannels {
    /// - Returns: Sorted and without duplicates.
    static func read(_ object: JSONValue) -> [String] {
        guard let value = object["channels"] else { return [] }
        let names = value.string.map { [$0] } ?? value.elements.compactMap(\.string)
        return Set(names.filter { !$0.utf8.contains(0) }).sorted()
    }

    /// The stored form. Nil for none.
    static func write(_ channels: [String]) -> [UInt8]? {
        guard !channels.isEmpty else { return nil }
        var text = JSONWriter()
        text.array { text in for channel in channels { text.string(channel) } }
        return text.bytes
    }

    static func read(stored text: [UInt8]?) -> [String] {
        guard let text, let list = try? JSONText(text).root else { return [] }
        return list.elements.compactMap(\.string)
    }
}
