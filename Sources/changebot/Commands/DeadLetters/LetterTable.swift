internal import GatewayClient
internal import Pipeline

/// A table of letters for people.
struct LetterTable {
    private static let names = ["NUMBER", "DEAD-LETTERED AT", "DOCUMENT", "REVISION", "RULE", "REASON"]
    /// Of a reason.
    private static let reasonLimit = 100
    /// One long id must not push all other columns off the screen.
    private static let widthLimit = 60

    private var widths = names.map(\.count)

    /// Makes the columns wide enough for these.
    mutating func measure(_ letters: [DeadLetter]) {
        for letter in letters {
            for (column, cell) in Self.cells(letter).enumerated() {
                widths[column] = max(widths[column], min(cell.count, Self.widthLimit))
            }
        }
    }

    var header: String { padded(Self.names) }

    func line(_ letter: DeadLetter) -> String { padded(Self.cells(letter)) }

    private func padded(_ cells: [String]) -> String {
        zip(cells, widths).dropLast().map { cell, width in
            cell + String(repeating: " ", count: max(0, width - cell.count) + 2)
        }.joined() + (cells.last ?? "")
    }

    private static func cells(_ letter: DeadLetter) -> [String] {
        let reason =
            letter.reason.prefix(reasonLimit + 1).count > reasonLimit
            ? letter.reason.prefix(reasonLimit) + "…" : letter.reason[...]
        return [
            letter.filing.map { "\($0.number)" } ?? "", letter.filing?.deadLetteredAt ?? "", letter.id.text.visible,
            (letter.revision?.text ?? "-").visible, (letter.rule ?? "-").visible, String(reason).visible,
        ]
    }
}
