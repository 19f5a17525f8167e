/// Adds elements to a list at the top of a YAML file. All other lines stay as they are.
struct ListAddition {
    let file: YAMLText
    /// The name of the list: `rules` or `tests`.
    let key: String

    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    /// The content of the file with more elements at the end of the list.
    ///
    /// - Parameter block: The lines of the elements, with `- ` at the beginning of each first line.
    /// - Throws: ``RuleFileAddition/Refusal`` if the elements don't fit. Otherwise the YAML reader finds exactly what was
    ///   in the file and the new elements.
    func adding(_ block: [String]) throws(RuleFileAddition.Refusal) -> [UInt8] {
        let new = try YAMLText(path: file.path, bytes: Array((key + ":\n" + block.joined(separator: "\n") + "\n").utf8))
        let added = new.elements(of: key).map(\.json)
        for place in try places() {
            let changed = inserted(block, at: place)
            if let found = try? YAMLText(path: file.path, bytes: changed), hasAdded(added, found) { return changed }
        }
        throw file.refusal(
            at: file.member(key)?.value.position ?? .start,
            "nothing can be added after the last \(key.dropLast()) of '\(key)'; remove '...' and aliases (*name) there")
    }

    private struct Place {
        /// The index of the line that comes after the new elements.
        let line: Int
        /// The column of the dashes.
        let indentation: Int
        /// Whether the list is new.
        var isNew = false
    }

    /// Where new elements may belong, best first. A comment before the next member of the file is about that member, but
    /// a line that looks like a comment may be a part of a text.
    private func places() throws(RuleFileAddition.Refusal) -> [Place] {
        let lines = lines
        guard let list = file.member(key) else { return [Place(line: lines.count, indentation: 2, isNew: true)] }
        if list.value.isNull { return [Place(line: list.position.line, indentation: 2)] }
        guard case .list(let elements) = list.value.content, let first = elements.first,
            lines.indices.contains(first.position.line - 1), let dash = Self.dash(lines[first.position.line - 1])
        else {
            throw file.refusal(
                at: list.value.position,
                "'\(key)' must be a list with one '- ' for each \(key.dropLast()); write it without brackets")
        }
        let end =
            file.members.map(\.position.line).filter { $0 > list.position.line }.min().map { $0 - 1 }
            ?? lines.count
        var line = end
        while line > first.position.line, Self.isComment(lines[line - 1], upTo: dash) { line -= 1 }
        return [Place(line: line, indentation: dash), Place(line: end, indentation: dash)]
    }

    /// The lines of the file without line feeds.
    private var lines: [ArraySlice<UInt8>] {
        var lines = file.bytes.split(separator: Self.lineFeed, omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines
    }

    /// The column of the dash that a line begins with.
    private static func dash(_ line: ArraySlice<UInt8>) -> Int? {
        let text = line.drop { $0 == UInt8(ascii: " ") }
        guard text.first == UInt8(ascii: "-") else { return nil }
        let isDash = text.dropFirst().first.map { $0 == UInt8(ascii: " ") || $0 == carriageReturn } ?? true
        return isDash ? line.count - text.count : nil
    }

    /// Whether the line is empty, or a comment that is not indented further than a column.
    private static func isComment(_ line: ArraySlice<UInt8>, upTo column: Int) -> Bool {
        let text = line.drop { $0 == UInt8(ascii: " ") }
        guard let first = text.first, first != carriageReturn else { return true }
        return first == UInt8(ascii: "#") && line.count - text.count <= column
    }

    private func inserted(_ block: [String], at place: Place) -> [UInt8] {
        var lines = lines
        let ending = lines.first?.last == Self.carriageReturn ? "\r" : ""
        if file.bytes.last != Self.lineFeed, let last = lines.last, last.last != Self.carriageReturn {
            lines[lines.count - 1] = last + ArraySlice(ending.utf8)
        }
        let indentation = String(repeating: " ", count: place.indentation)
        let added = (place.isNew ? ["", "\(key):"] : []) + block.map { $0.isEmpty ? "" : indentation + $0 }
        lines.insert(contentsOf: added.map { ArraySlice(($0 + ending).utf8) }, at: place.line)
        return Array(lines.joined(separator: [Self.lineFeed])) + [Self.lineFeed]
    }

    /// Whether a text has the same members as the file, and these elements more in the list.
    private func hasAdded(_ added: [[UInt8]], _ changed: YAMLText) -> Bool {
        let names = file.members.map(\.name) + (file.member(key) == nil ? [key] : [])
        guard changed.members.map(\.name) == names else { return false }
        return changed.members.allSatisfy { member in
            member.name == key
                ? changed.elements(of: key).map(\.json) == file.elements(of: key).map(\.json) + added
                : member.value.json == file.member(member.name)?.value.json
        }
    }
}
