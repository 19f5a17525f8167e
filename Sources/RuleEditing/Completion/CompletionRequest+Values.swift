internal import LosslessJSON

// Values: those of the schema, rules, and files.

extension CompletionRequest {
    /// The scalars that can be at a place.
    func scalars(
        _ view: SchemaView, _ path: [OutlineStep], _ word: Range<Int>, isQuoted: Bool, prefix: String = ""
    ) -> [RuleCompletion] {
        let range = file.lines.range(isQuoted ? word : replacedValue(word))
        func completion(_ text: String, _ kind: RuleCompletion.Kind, _ documentation: String) -> RuleCompletion {
            RuleCompletion(
                label: text, kind: kind, documentation: documentation,
                text: prefix + (isQuoted || kind == .file || kind == .folder ? text : scalar(text, kind)), range: range)
        }
        if path.namesRule { return file.ruleNames.map { completion($0.name, .rule, "A rule of this file.") } }
        var found: [RuleCompletion] = []
        var seen: Set<String> = []
        let isCode = path.dropLast().last == .member("allow")
        for (value, description) in view.values {
            guard let text = value.scalarText, seen.insert(text).inserted else { continue }
            found.append(completion(text, isCode ? .warningCode : .value, description ?? view.documentation))
        }
        if view.allows("boolean") {
            for text in ["true", "false"] where seen.insert(text).inserted {
                found.append(completion(text, .value, view.documentation))
            }
        }
        for value in view.examples {
            guard let text = value.scalarText, seen.insert(text).inserted else { continue }
            found.append(completion(text, .value, view.documentation))
        }
        if path.last == .member("fired"), word.isEmpty { found.append(completion("[]", .value, "No rule fires.")) }
        return found + files(path, word, isQuoted: isQuoted, range, prefix)
    }

    /// A value as it is written in the file.
    private func scalar(_ text: String, _ kind: RuleCompletion.Kind) -> String {
        if text == "[]" { return text }
        if file.isJSON {
            let isLiteral = ["true", "false", "null"].contains(text) || Int(text) != nil
            return isLiteral ? text : "\"\(text)\""
        }
        return SnippetText.isPlain(text) || kind == .value && ["true", "false", "null", "1"].contains(text)
            || Int(text) != nil
            ? text : "'\(text.replacing("'", with: "''"))'"
    }

    /// The range of a value: to the end of the path or the word.
    private func replacedValue(_ word: Range<Int>) -> Range<Int> {
        let bytes = file.lines.bytes
        var end = replaced(word).upperBound
        if end < bytes.count, bytes[end] == UInt8(ascii: "/") {
            end = bytes[end...].firstIndex { " \t\r\n,]}'\"".utf8.contains($0) } ?? bytes.count
        }
        return word.lowerBound..<end
    }

    // MARK: - Files

    /// The names in the folder that the beginning of a path leads to.
    private func files(
        _ path: [OutlineStep], _ word: Range<Int>, isQuoted: Bool, _ range: TextRange, _ prefix: String
    ) -> [RuleCompletion] {
        guard file.isOnDisk, let place = FilePlace(path) else { return [] }
        let written = String(decoding: file.lines.bytes[word], as: UTF8.self)
        let slash = written.lastIndex(of: "/").map { written.index(after: $0) } ?? written.startIndex
        let (folder, start) = (String(written[..<slash]), written[slash...])
        let base = place.isInFolder ? siblingFolder(path) : nil
        return file.entries(of: folder, in: base).compactMap { entry in
            guard entry.name.hasPrefix(start), !entry.name.hasPrefix(".") || start.hasPrefix(".") else { return nil }
            guard entry.isFolder || !place.isFolder else { return nil }
            let text = folder + entry.name + (entry.isFolder ? "/" : "")
            let isPlain = isQuoted || SnippetText.isPlain(text)
            let quote = file.isJSON && !isQuoted ? "\"" : isPlain ? "" : "'"
            return RuleCompletion(
                label: text, kind: entry.isFolder ? .folder : .file, documentation: "",
                text: prefix + quote + text + quote, range: range)
        }
    }

    /// The `folder` next to a `file`.
    private func siblingFolder(_ path: [OutlineStep]) -> String? {
        let whole = file.outline
        guard let node = whole.node(at: path.dropLast()),
            let folder = whole.member("folder", of: node), whole[folder].content == .scalar
        else { return nil }
        return file.text(of: folder)
    }
}

/// A place of a rule file that has the path of a file.
struct FilePlace {
    let isFolder: Bool
    /// Whether the path is relative to a `folder` next to it.
    let isInFolder: Bool

    private static let webhookNames: Set = [
        "secret_files", "token_file", "password_file", "ca_file", "certificate_file", "key_file",
        "body_file",
    ]
    /// The names of the members that may have paths.
    static let names = webhookNames.union(["file", "folder"])

    /// Nil if the value at this place is not a path.
    init?(_ path: [OutlineStep]) {
        guard let last = path.last(where: { $0.name != nil })?.name else { return nil }
        let names = path.compactMap(\.name)
        let isRule = names.first == "rules"
        let isExpected = names.prefix(2) == ["tests", "expect"]
        isFolder = last == "folder" && isRule && names.dropLast().last == "attach"
        switch last {
        case "file":
            guard isRule && ["attach", "emit", "headers"].contains(where: names.contains) || isExpected else {
                return nil
            }
        case "folder": guard isFolder else { return nil }
        case _ where Self.webhookNames.contains(last):
            guard isRule else { return nil }
        default: return nil
        }
        isInFolder = isRule && last == "file" && names.dropLast().last == "attach"
    }
}

extension [OutlineStep] {
    /// Whether the value at this place is the name of a rule.
    var namesRule: Bool {
        let names = compactMap(\.name)
        if names == ["tests", "expect", "fired"] { return last?.name == nil }
        return names == ["tests", "expect", "effects", "rule"] || names == ["tests", "only"] && last?.name == nil
    }
}

extension JSONValue {
    /// The text of a string, a number, a boolean or null.
    var scalarText: String? {
        switch kind {
        case .string: string
        case .number, .true, .false, .null: String(decoding: bytes, as: UTF8.self)
        case .array, .object: nil
        }
    }
}
