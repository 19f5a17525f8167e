internal import Encodings
internal import FoundationEssentials
internal import Transfer

extension ExportChain.Limit {
    /// The value of `--at`: a time, a date, or the manifest of one of the exports.
    ///
    /// - Throws: ``CommandError`` with 64; `TransferError` if the manifest is not valid.
    init(argument text: String) throws {
        if let time = PointInTimeArgument(argument: text) {
            // A date means the whole day.
            let isDate = text.wholeMatch(of: /\d{4}-\d\d-\d\d/) != nil
            self = .time(Timestamp.text(time.seconds + (isDate ? 86_399 : 0)))
            return
        }
        guard FileManager.default.fileExists(atPath: text) else {
            throw CommandError(
                .usage,
                "--at '\(text)': expected \(PointInTimeArgument.expected), or the manifest of one of the exports")
        }
        self = .export(try ExportManifest.read(text))
    }
}
