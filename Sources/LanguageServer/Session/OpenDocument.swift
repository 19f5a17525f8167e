internal import RuleEditing

/// A document that the editor has open, in its newest version.
struct OpenDocument {
    let uri: String
    private let path: String
    private let isOnDisk: Bool
    private let context: EditingContext
    private let columns: ColumnUnit
    /// The number that the editor gives to this version.
    private(set) var version: Int
    private(set) var text: String {
        didSet {
            known = nil
            (diagnostics, failure) = ([], nil)
        }
    }
    /// The file of this version, once it has been needed.
    private var known: EditedRuleFile?
    /// The errors and warnings of this version, once they are known.
    private(set) var diagnostics: [EditorDiagnostic] = []
    /// The failure of a test that was run on this version.
    private(set) var failure: EditorDiagnostic?

    init(
        uri: String, language: String?, version: Int, text: String, columns: ColumnUnit, _ context: EditingContext
    ) {
        let place = DocumentURI(uri)
        self.uri = uri
        isOnDisk = place.path != nil
        // Without an ending, the editor knows the language.
        let isJSON = place.path == nil && language == "json" && !place.name.hasSuffix(".json")
        path = (place.path ?? place.name) + (isJSON ? ".json" : "")
        self.version = version
        self.text = text
        self.columns = columns
        self.context = context
    }

    var file: EditedRuleFile {
        mutating get {
            if let known { return known }
            let file = EditedRuleFile(path: path, text: text, columns: columns, isOnDisk: isOnDisk, in: context)
            known = file
            return file
        }
    }

    mutating func replace(_ text: String) { self.text = text }

    /// Replaces a part of the text.
    mutating func replace(_ range: TextRange, with newText: String) {
        var bytes = Array(text.utf8)
        let lines = TextLines(bytes, unit: columns)
        bytes.replaceSubrange(lines.range(of: range), with: newText.utf8)
        text = String(decoding: bytes, as: UTF8.self)
    }

    mutating func advance(to version: Int) { self.version = version }

    mutating func know(_ diagnostics: [EditorDiagnostic]) { self.diagnostics = diagnostics }

    /// Shows the failure of a test until the text changes. Nil removes it.
    mutating func show(_ failure: EditorDiagnostic?) { self.failure = failure }
}
