internal import Foundation

/// A text table: the first columns are left-aligned, the others contain numbers and are right-aligned.
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
                let space = String(repeating: " ", count: widths[column] - cell.count)
                return column < labels ? cell + space : space + cell
            }
            return "  " + padded.joined(separator: "  ")
        }.joined(separator: "\n")
    }
}

extension Double {
    func formatted(decimals: Int) -> String { String(format: "%.\(decimals)f", self) }
}
