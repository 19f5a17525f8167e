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
