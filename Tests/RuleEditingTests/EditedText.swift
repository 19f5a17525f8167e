import Foundation
import RuleEditing

/// The schema and what is remembered, for all tests.
let context: EditingContext = {
    let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "assets/rule-file.schema.json")
    do {
        return try EditingContext(schema: Array(try Data(contentsOf: file)))
    } catch {
        fatalError("\(error)")
    }
}()

/// A rule file that is not on disk.
func edited(_ text: String, path: String = "r.yaml", isOnDisk: Bool = false) -> EditedRuleFile {
    EditedRuleFile(path: path, text: text, isOnDisk: isOnDisk, in: context)
}

/// A text with `‸` at the cursor.
struct CursorText {
    let file: EditedRuleFile
    let position: TextPosition

    init(_ marked: String, path: String = "r.yaml", columns: ColumnUnit = .utf16, isOnDisk: Bool = false) {
        let parts = marked.split(separator: "‸", maxSplits: 1, omittingEmptySubsequences: false)
        file = EditedRuleFile(
            path: path, text: parts.joined(), columns: columns, isOnDisk: isOnDisk, in: context)
        let lines = parts[0].split(separator: "\n", omittingEmptySubsequences: false)
        let last = lines.last ?? ""
        position = TextPosition(line: lines.count - 1, column: columns == .utf16 ? last.utf16.count : last.utf8.count)
    }

    var completions: [RuleCompletion] { file.completions(at: position) }
    var labels: [String] { completions.map(\.label) }

    /// The text after the completion with this label was chosen.
    func text(choosing label: String) -> String? {
        guard let chosen = completions.first(where: { $0.label == label }) else { return nil }
        let range = file.lines.range(of: chosen.range)
        return file.lines.text(0..<range.lowerBound) + chosen.text
            + file.lines.text(range.upperBound..<file.lines.bytes.count)
    }
}

let beginning = "version: 1\nrules:\n"
