internal import GatewayClient
internal import Pipeline

/// A table of dead letters for people.
struct DeadLetterTable {
    private static let names = ["NUMBER", "DEAD-LETTERED AT", "DOCUMENT", "REVISION", "RULE", "REASON"]
    /// Of a reason.
    private static let reasonLimit = 100
    /// One long id must not push all other columns off the screen.
    private static let widthLimit = 60

    private var widths = names.map(\.count)

    /// Makes the columns wide enough for these.
    mutating func measure(_ deadLetters: [DeadLetter]) {
        for deadLetter in deadLetters {
            for (column, cell) in Self.cells(deadLetter).enumerated() {
                widths[column] = max(widths[column], min(cell.count, Self.widthLimit))
            }
        }
    }

    var header: String { padded(Self.names) }

    func line(_ deadLetter: DeadLetter) -> String { padded(Self.cells(deadLetter)) }

    private func padded(_ cells: [String]) -> String {
        zip(cells, widths).dropLast().map { cell, width in
            cell + String(repeating: " ", count: max(0, width - cell.count) + 2)
        }.joined() + (cells.last ?? "")
    }

    private static func cells(_ deadLetter: DeadLetter) -> [String] {
        let reason =
            deadLetter.reason.prefix(reasonLimit + 1).count > reasonLimit
            ? deadLetter.reason.prefix(reasonLimit) + "…" : deadLetter.reason[...]
        return [
            deadLetter.filing.map { "\($0.number)" } ?? "", deadLetter.filing?.deadLetteredAt ?? "",
            deadLetter.id.text.visible,
            (deadLetter.revision?.text ?? "-").visible, (deadLetter.rule ?? "-").visible, String(reason).visible,
        ]
    }
}
