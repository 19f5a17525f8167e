internal import LosslessJSON

/// A check of one bot, or of the program.
struct DoctorSlot: Hashable, Sendable {
    /// The bot's index. Nil: the program.
    let bot: Int?
    let check: DoctorCheck
}

/// Puts findings in report order: checks run concurrently and end in any order.
struct FindingOrder {
    private let slots: [DoctorSlot]
    private var waiting: [DoctorSlot: [Finding]] = [:]
    private var next = 0

    init(botCount: Int) {
        slots =
            [DoctorSlot(bot: nil, check: .libraries)]
            + (0..<botCount).flatMap { bot in DoctorCheck.botChecks.map { DoctorSlot(bot: bot, check: $0) } }
    }

    /// Whether all checks have ended.
    var isComplete: Bool { next == slots.count }

    /// Notes the findings of a completed check. Further calls for the same check have no effect.
    ///
    /// - Returns: The checks that can be reported now, in order.
    mutating func finish(_ slot: DoctorSlot, _ findings: [Finding]) -> [(slot: DoctorSlot, findings: [Finding])] {
        if waiting[slot] == nil, slots[next...].contains(slot) { waiting[slot] = findings }
        var ready: [(slot: DoctorSlot, findings: [Finding])] = []
        while next < slots.count, let findings = waiting.removeValue(forKey: slots[next]) {
            ready.append((slots[next], findings))
            next += 1
        }
        return ready
    }
}

/// How findings are printed.
struct FindingLines: Sendable {
    let style: TerminalStyle
    /// The names of the bots, by index.
    let bots: [String]

    /// The finding for people, with the remedy below it.
    func lines(_ slot: DoctorSlot, _ finding: Finding) -> [VisibleLine] {
        let level = finding.level.rawValue.padded(to: Self.levelWidth)
        let check = slot.check.rawValue.padded(to: Self.checkWidth)
        var lines = [colored(level, finding.level) + VisibleLine("  \(check)  \(finding.text)")]
        if let remedy = finding.remedy {
            let indent = String(repeating: " ", count: Self.levelWidth + Self.checkWidth + 4)
            lines.append(VisibleLine(indent) + style.bold("→ ") + VisibleLine(remedy))
        }
        return lines
    }

    /// The lines above the first finding of a bot; empty for the program, or if there is only one bot.
    func heading(_ slot: DoctorSlot) -> [VisibleLine] {
        guard bots.count > 1, let bot = slot.bot else { return [] }
        return ["", style.bold("bot \(bots[bot])")]
    }

    /// One JSON object.
    func json(_ slot: DoctorSlot, _ finding: Finding) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("bot", optional: slot.bot.map { bots[$0] })
            writer.member("check", string: slot.check.rawValue)
            writer.member("level", string: finding.level.rawValue)
            writer.member("text", string: finding.text)
            writer.member("remedy", optional: finding.remedy)
        }
        return writer.bytes
    }

    private static let levelWidth = Finding.Level.allCases.map(\.rawValue.count).max() ?? 0
    private static let checkWidth = DoctorCheck.allCases.map(\.rawValue.count).max() ?? 0

    private func colored(_ text: String, _ level: Finding.Level) -> VisibleLine {
        switch level {
        case .ok: style.green(text)
        case .warning, .unknown: style.yellow(text)
        case .error: style.red(text)
        case .skipped: style.dim(text)
        }
    }
}

/// Prints findings on stdout, in order, as soon as they are available.
actor FindingReport {
    private let lines: FindingLines
    private let isJSON: Bool
    private let isQuiet: Bool
    private var order: FindingOrder
    /// The bot under whose heading the last finding was printed.
    private var botOfLastHeading: Int?
    private var counts: [Finding.Level: Int] = [:]
    /// Why printing failed.
    private var failure: CommandError?

    /// - Parameter isQuiet: Whether to print only warnings and errors. JSON always has all findings.
    init(_ lines: FindingLines, isJSON: Bool, isQuiet: Bool = false) {
        self.lines = lines
        self.isJSON = isJSON
        self.isQuiet = isQuiet
        order = FindingOrder(botCount: lines.bots.count)
    }

    /// Notes the findings of a completed check, and prints what can be printed now.
    func finish(_ slot: DoctorSlot, _ findings: [Finding]) {
        for (slot, findings) in order.finish(slot, findings) {
            for finding in findings {
                counts[finding.level, default: 0] += 1
                if failure == nil { print(slot, finding) }
            }
        }
    }

    private func print(_ slot: DoctorSlot, _ finding: Finding) {
        do throws(CommandError) {
            guard !isJSON else { return try Console.write(lines.json(slot, finding)) }
            guard !isQuiet || finding.level == .warning || finding.level == .error else { return }
            let heading = botOfLastHeading == slot.bot ? [] : lines.heading(slot)
            botOfLastHeading = slot.bot
            try Console.write(heading + lines.lines(slot, finding))
        } catch {
            failure = error
        }
    }

    /// The number of findings with this level.
    func count(_ level: Finding.Level) -> Int { counts[level] ?? 0 }

    /// - Throws: ``CommandError`` with 74 if the findings could not be printed.
    func requirePrinted() throws(CommandError) {
        if let failure { throw failure }
    }
}

/// Collects the findings of one bot.
struct BotReport: Sendable {
    let report: FindingReport
    /// The index of the bot.
    let bot: Int

    func finish(_ check: DoctorCheck, _ findings: [Finding]) async {
        await report.finish(DoctorSlot(bot: bot, check: check), findings)
    }

    func finish(_ check: DoctorCheck, _ finding: Finding) async { await finish(check, [finding]) }

    /// Reports that checks were not run.
    func skip(_ checks: [DoctorCheck], _ reason: String) async {
        for check in checks { await finish(check, .skipped(reason)) }
    }
}
