/// The quoted texts of a YAML file that continue on other lines. Approximate, because the file is not valid.
struct YAMLQuotes {
    struct Text {
        let start: SourcePosition
        /// The position after the closing quote.
        let end: SourcePosition
    }

    private(set) var texts: [Text] = []
    private let lines: [[Unicode.Scalar]]
    private var line = 0
    private var column = 0

    init(_ lines: [[Unicode.Scalar]]) {
        self.lines = lines
        while line < lines.count {
            readLine()
            line += 1
            column = 0
        }
    }

    private var position: SourcePosition { SourcePosition(line: line + 1, column: column + 1) }

    /// Reads the rest of a line, and the other lines of a text that begins on it.
    private mutating func readLine() {
        let first = line
        var before: Unicode.Scalar?
        while line < lines.count, column < lines[line].count {
            let scalar = lines[line][column]
            if scalar == "#", column == 0 || lines[line][column - 1] == " " { break }
            if scalar == "\"" || scalar == "'", before.map({ ":,[{-?".unicodeScalars.contains($0) }) ?? true {
                readText(scalar)
            } else {
                column += 1
            }
            if scalar != " " { before = scalar }
        }
        if first == line { skipBlock() }
    }

    private mutating func readText(_ quote: Unicode.Scalar) {
        let start = position
        column += 1
        while line < lines.count {
            while column < lines[line].count {
                let scalar = lines[line][column]
                column += 1
                if scalar == "\\", quote == "\"" {
                    column += 1
                } else if scalar == quote {
                    guard quote == "'", column < lines[line].count, lines[line][column] == quote else {
                        if start.line < line + 1 { texts.append(Text(start: start, end: position)) }
                        return
                    }
                    column += 1
                }
            }
            line += 1
            column = 0
        }
    }

    /// Skips the text after `|` or `>`, in which quotes mean nothing.
    private mutating func skipBlock() {
        guard lines[line].contains(where: { $0 == "|" || $0 == ">" }) else { return }
        var header = ""
        header.unicodeScalars.append(contentsOf: lines[line])
        guard header.firstMatch(of: /[:\-] +[|>][+\-]?[0-9]?[+\-]?\s*(?:#.*)?$/) != nil else { return }
        let indentation = Self.indentation(of: lines[line])
        while line + 1 < lines.count {
            let next = lines[line + 1]
            guard next.allSatisfy({ $0 == " " }) || Self.indentation(of: next) > indentation else { return }
            line += 1
        }
    }

    private static func indentation(of line: [Unicode.Scalar]) -> Int { line.prefix { $0 == " " }.count }
}
