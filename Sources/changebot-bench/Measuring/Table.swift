/// A table of text: the first columns to the left, the others, which are numbers, to the right.
struct Table {
    private var rows: [[String]]
    private let labels: Int

    /// - Parameter labels: How many columns are text.
    init(_ columns: [String], labels: Int = 1) {
        rows = [columns]
        self.labels = labels
    }

    /// Adds a row. It may have fewer cells than there are columns.
    mutating func add(_ cells: [String]) { rows.append(cells) }

    /// All rows, indented by two.
    var text: String {
        let widths = rows[0].indices.map { column in
            rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
        }
        return rows.map { cells in
            let padded = cells.enumerated().map { column, cell in
                column < labels ? cell.padded(to: widths[column]) : cell.leftPadded(to: widths[column])
            }
            return "  " + padded.joined(separator: "  ")
        }.joined(separator: "\n")
    }
}
