import Compression
import Testing

@testable import Transfer

/// Backups of couchbackup: a line about the backup, then an array of documents on each line.
@Suite struct BackupTests {
    private static let metadata = #"{"name":"@cloudant/couchbackup","version":"2.11.2","mode":"full"}"#
    private static let cut = "the line ends inside its array; if the backup was resumed, a later line has the documents"

    @Test(arguments: [InputFormat.json, .ndjson, nil])
    func documentsOfAllLinesAreRead(format: InputFormat?) {
        let lines = [#"[{"_id":"a"},{"_id":"b"}]"#, "", #"[{"_id":"c"}]"#, "[]", ""]
        #expect(
            read(([Self.metadata] + lines).joined(separator: "\n"), as: format) == [
                document(#"{"_id":"a"}"#, 2), document(#"{"_id":"b"}"#, 2), document(#"{"_id":"c"}"#, 4),
            ])
        #expect(
            read(lines.joined(separator: "\n"), as: format) == [
                document(#"{"_id":"a"}"#, 1), document(#"{"_id":"b"}"#, 1), document(#"{"_id":"c"}"#, 3),
            ])
    }

    @Test func concatenatedBackupsAreRead() {
        let backup = "\(Self.metadata)\n[{}]\n"
        #expect(read(backup + backup) == [document("{}", 2), document("{}", 4)])
    }

    /// All ways in which the first line of a resumed backup can end.
    @Test(arguments: [true, false])
    func resumedBackupLosesNoDocumentAfterTruncatedLine(hasMetadata: Bool) {
        let first = #"[{"_id":"a","t":"x,]"},{"_id":"b","n":[1,{"m":true}]}]"#
        let head = hasMetadata ? Self.metadata + "\n" : ""
        for kept in 1..<first.count {
            let input = head + String(first.prefix(kept)) + "\n\n" + first + "\n[{}]\n"
            let found = read(input, as: .json)
            let line = hasMetadata ? 4 : 3
            let tail = [
                document(#"{"_id":"a","t":"x,]"}"#, line), document(#"{"_id":"b","n":[1,{"m":true}]}"#, line),
                document("{}", line + 1),
            ]
            #expect(Array(found.suffix(3)) == tail, "\(kept) \(found)")
            let errors = found.filter { if case .document = $0 { false } else { true } }
            #expect(errors.count == 1, "\(kept) \(found)")
            #expect(read(Array(input.utf8), as: .json, pieces: { 3 }) == found)
        }
    }

    @Test func truncatedLastLineIsOneError() {
        #expect(
            read(Self.metadata + "\n[{\"a\":1},") == [document(#"{"a":1}"#, 2), error("2:9: \(Self.cut)", "")])
        #expect(
            read(Self.metadata + "\n[{\"a\":1},{\"b") == [
                document(#"{"a":1}"#, 2), error("2:13: the text ends inside a value", #"{"b"#),
            ])
    }

    @Test func restOfBrokenLineIsSkipped() {
        #expect(
            read(Self.metadata + "\nass']){}\n[{}]\n") == [
                error("2:1: expected the end of the text, found 'a'", "ass']){}"), document("{}", 3),
            ])
    }
}
