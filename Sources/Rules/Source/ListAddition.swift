/// Adds elements to a list at the top of a YAML file. All other lines stay as they are.
struct ListAddition {
    /// Why elements can't be added.
    struct Refusal: Error {
        let position: SourcePosition
        let reason: String
    }

    /// The file, for the errors of its text.
    let path: String
    let bytes: [UInt8]
    /// The name of the list: `rules` or `tests`.
    let key: String
    /// One element, for messages: `test`.
    let noun: String

    /// The content of the file with more elements at the end of the list.
    ///
    /// - Parameter elements: For each element its lines, without indentation.
    func adding(_ elements: [[String]]) throws(Refusal) -> [UInt8] {
        let text = String(decoding: bytes, as: UTF8.self)
        let ending = text.contains("\r\n") ? "\r\n" : "\n"
        var lines = text.split(separator: ending[...], omittingEmptySubsequences: false).map(String.init)
        if lines.last == "" { lines.removeLast() }
        let (line, indentation) = try place(lines)
        let added = elements.flatMap { element in
            zip(element.indices, element).map { index, line in
                line.isEmpty ? "" : indentation + (index == 0 ? "- " : "  ") + line
            }
        }
        lines.insert(contentsOf: (line == nil ? ["", "\(key):"] : []) + added, at: line ?? lines.count)
        return Array((lines.joined(separator: ending) + ending).utf8)
    }

    /// Where new elements belong, and their indentation. No index: the file has no such list.
    private func place(_ lines: [String]) throws(Refusal) -> (line: Int?, indentation: String) {
        guard !path.hasSuffix(".json") else {
            throw Refusal(position: .start, reason: "\(noun)s can be added only to YAML files")
        }
        let root = YAMLSource.read(String(decoding: bytes, as: UTF8.self), errors: SourceErrors(path: path))
        guard case .object(let members)? = root?.content else {
            throw Refusal(position: .start, reason: "\(noun)s can be added only to a YAML object")
        }
        guard let list = members.first(where: { $0.name == key }) else { return (nil, "  ") }
        guard case .list(let elements) = list.value.content, let first = elements.first,
            lines.indices.contains(first.position.line - 1),
            let dash = lines[first.position.line - 1].prefixMatch(of: /( *)-\s/)
        else {
            throw Refusal(
                position: list.value.position, reason: "'\(key)' must be a list with one '- ' for each \(noun)")
        }
        let next = members.map(\.position.line).filter { $0 > list.position.line }.min()
        var line = next.map { $0 - 1 } ?? lines.count
        while line > first.position.line, Self.isComment(lines[line - 1]) { line -= 1 }
        return (line, String(dash.1))
    }

    /// Whether the line is empty or a comment.
    private static func isComment(_ line: String) -> Bool {
        let text = line.drop { $0 == " " }
        return text.isEmpty || text.hasPrefix("#")
    }
}

extension ListAddition {
    /// The elements of the list, each as its lines without indentation. For files in which each begins with `- ` on a
    /// line of its own. Empty if there is no such list.
    func elements() -> [[String]] {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        let root = YAMLSource.read(String(decoding: bytes, as: UTF8.self), errors: SourceErrors(path: path))
        guard case .object(let members)? = root?.content, let list = members.first(where: { $0.name == key }),
            case .list(let elements) = list.value.content
        else { return [] }
        let end = members.map(\.position.line).filter { $0 > list.position.line }.min() ?? lines.count + 1
        let starts = elements.map(\.position.line) + [end]
        return zip(starts, starts.dropFirst()).map { start, next in
            let indentation = lines[start - 1].prefix { $0 == " " }.count + 2
            var element = lines[(start - 1)..<(next - 1)].map { String($0.dropFirst(indentation)) }
            while element.last?.isEmpty == true { element.removeLast() }
            return element
        }
    }
}
