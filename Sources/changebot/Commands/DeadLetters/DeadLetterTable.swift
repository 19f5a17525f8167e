internal import BotState
internal import GatewayClient

/// A human-readable table of dead letters.
struct DeadLetterTable {
    private static let names = ["NUMBER", "DEAD-LETTERED AT", "DOCUMENT", "REVISION", "RULE", "REASON"]
    /// The longest reason that is shown, in characters.
    private static let reasonLimit = 100
    /// The widest column, in characters, so that one long id does not push the other columns off the screen.
    private static let widthLimit = 60

    private var widths = names.map(\.count)

    /// Widens the columns so that these dead letters fit.
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
        zip(cells, widths).dropLast().map { cell, width in cell.padded(to: width) + "  " }.joined() + (cells.last ?? "")
    }

    private static func cells(_ deadLetter: DeadLetter) -> [String] {
        [
            deadLetter.ledgerRecord.map { "\($0.number)" } ?? "", deadLetter.ledgerRecord?.deadLetteredAt ?? "",
            deadLetter.id.text.visible,
            (deadLetter.revision?.text ?? "-").visible, (deadLetter.rule ?? "-").visible,
            deadLetter.reason.shortened(to: reasonLimit).visible,
        ]
    }
}
