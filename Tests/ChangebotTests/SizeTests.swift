import Foundation
import Testing

/// The code that a change passes is readable: functions are short, and no type stores too much. Depends on the
/// indentation that `swift format` checks.
@Suite struct SizeTests {
    private static let targets = [
        "BotState", "Bots", "Delivery", "DocumentFlow", "Fleet", "FleetEngine", "LanguageServer", "Outside",
        "Revisions", "RuleEditing", "RulePlay", "Rules",
    ]

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// One line of a file.
    private struct Line {
        let indentation: Int
        let words: [Substring]
        let text: Substring

        init(_ line: Substring) {
            text = line.drop { $0 == " " }
            indentation = line.utf8.count - text.utf8.count
            words = text.split(separator: " ", maxSplits: 8)
        }

        private static let modifiers: Set<Substring> = [
            "private", "fileprivate", "internal", "package", "public", "final", "mutating", "nonmutating", "static",
            "override", "convenience", "indirect", "private(set)", "package(set)", "fileprivate(set)", "nonisolated",
            "nonisolated(unsafe)", "lazy", "weak", "unowned", "@discardableResult", "@inline(__always)", "@Sendable",
        ]

        /// The first word that is not a modifier.
        var keyword: Substring { words.first { !Self.modifiers.contains($0) } ?? "" }

        var beginsFunction: Bool {
            keyword == "func" || ["init(", "init?(", "init<"].contains { keyword.hasPrefix($0) }
        }

        var beginsType: Bool { ["struct", "class", "enum", "actor"].contains(keyword) && text.hasSuffix("{") }

        var isStoredProperty: Bool {
            guard ["let", "var"].contains(keyword), !words.contains("static") else { return false }
            // In a computed property, the brace comes before any value.
            guard let brace = text.firstIndex(of: "{") else { return true }
            return keyword == "let" || text[..<brace].contains(" = ")
        }
    }

    private static func files() throws -> [(name: String, lines: [Line])] {
        try targets.flatMap { target in
            let folder = root.appending(path: "Sources/\(target)")
            let paths = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
            return try paths.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }.map { file in
                let text = try String(contentsOf: file, encoding: .utf8)
                let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(Line.init)
                return (target + "/" + file.lastPathComponent, lines)
            }
        }
    }

    /// The last line of a declaration: the next brace with the same indentation.
    private static func end(of start: Int, _ lines: [Line]) -> Int? {
        lines[start...].firstIndex { $0.indentation == lines[start].indentation && $0.text.hasPrefix("}") }
    }

    /// Counted from the brace that opens the body to the brace that closes it.
    @Test func noFunctionHasMoreThanFortyLines() throws {
        var count = 0
        for (name, lines) in try Self.files() {
            for start in lines.indices where lines[start].beginsFunction {
                // A function without a body, or on one line, has no such end, or one before the next declaration.
                guard let body = lines[start...].firstIndex(where: { $0.text.hasSuffix("{") }), body - start < 12,
                    let end = Self.end(of: start, lines), end > body
                else { continue }
                let isOwn = lines[start + 1..<end].allSatisfy {
                    $0.text.isEmpty || $0.indentation > lines[start].indentation || $0.text.hasPrefix(")")
                }
                guard isOwn else { continue }
                count += 1
                #expect(end - body + 1 <= 40, "\(name):\(start + 1): \(lines[start].text)")
            }
        }
        #expect(count > 1_000)
    }

    @Test func noTypeHasMoreThanTwelveStoredProperties() throws {
        var count = 0
        for (name, lines) in try Self.files() {
            for start in lines.indices where lines[start].beginsType {
                guard let end = Self.end(of: start, lines) else { continue }
                let properties = lines[start..<end].count {
                    $0.indentation == lines[start].indentation + 4 && $0.isStoredProperty
                }
                count += 1
                #expect(properties <= 12, "\(name):\(start + 1): \(properties)")
                if name == "Delivery/Candidate.swift", lines[start].words.contains("Candidate:") {
                    #expect(properties <= 6, "\(name)")
                }
            }
        }
        #expect(count > 500)
    }
}
