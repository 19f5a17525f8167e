import Foundation
import Testing

/// A text file with the expected result of a test.
///
/// `CHANGEBOT_RECORD_TRACES=1` writes the actual results into the files instead. Read the difference before committing
/// it: users of a gateway, a receiver or a state would notice it.
struct GoldenFile {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Golden")
    private static let isRecording = ProcessInfo.processInfo.environment["CHANGEBOT_RECORD_TRACES"] == "1"

    let name: String

    private var file: URL { Self.folder.appendingPathComponent(name + ".txt") }

    func expect(_ found: String, _ location: SourceLocation = #_sourceLocation) throws {
        if Self.isRecording { return try Data(found.utf8).write(to: file) }
        let wanted = String(decoding: FileManager.default.contents(atPath: file.path) ?? Data(), as: UTF8.self)
        guard found != wanted else { return }
        Issue.record(
            "differs from \(name).txt ('-' is missing, '+' is new):\n\(Self.difference(wanted, found))",
            sourceLocation: location)
    }

    /// All lines; those that only one of the texts has are marked.
    static func difference(_ old: String, _ new: String) -> String {
        let (old, new) = (lines(old), lines(new))
        let difference = new.difference(from: old)
        var removed: Set<Int> = []
        var inserted: Set<Int> = []
        for change in difference {
            switch change {
            case .remove(let offset, _, _): removed.insert(offset)
            case .insert(let offset, _, _): inserted.insert(offset)
            }
        }
        var result: [String] = []
        var (from, to) = (0, 0)
        while from < old.count || to < new.count {
            if removed.contains(from) {
                result.append("- " + old[from])
                from += 1
            } else if inserted.contains(to) {
                result.append("+ " + new[to])
                to += 1
            } else {
                result.append("  " + new[to])
                (from, to) = (from + 1, to + 1)
            }
        }
        return result.joined(separator: "\n")
    }

    private static func lines(_ text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
    }
}
