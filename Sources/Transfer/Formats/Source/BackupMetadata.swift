internal import LosslessJSON

/// The first line of a backup of couchbackup: an object with the tool's name, its version and the kind of backup.
///
/// - Note: Source: couchbackup 2.10 and later write `{"name":"@cloudant/couchbackup","version":"…","mode":"full"}`;
///   earlier versions write no such line.
enum BackupMetadata {
    /// The maximum number of bytes of the line.
    private static let limit = 64 << 10
    private static let prefix = Array(#"{"name":"@cloudant/couchbackup""#.utf8)

    /// Consumes the line without its line break. Returns false and consumes nothing if the input is not such a backup.
    ///
    /// The window must be at the opening brace.
    static func skip(_ window: inout TextWindow) -> Bool {
        while window.count < prefix.count {
            guard window.slice(0..<window.count).elementsEqual(prefix.prefix(window.count)), window.fill() else {
                return false
            }
        }
        guard window.slice(0..<prefix.count).elementsEqual(prefix) else { return false }
        var values = ValueReader(limit: limit)
        guard case .value(_, let end) = values.read(&window) else { return false }
        window.drop(end)
        return true
    }
}
