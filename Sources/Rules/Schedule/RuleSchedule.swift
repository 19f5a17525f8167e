/// When the rules of a file run over all documents: its `every` and `time_zone`.
package struct RuleSchedule: Sendable {
    /// The cron line as written.
    package let line: String
    private let cron: CronSchedule
    private let clock: ZoneClock
    /// The position of `every`.
    let position: SourcePosition

    /// The zone of the line's times: `Europe/Berlin`.
    package var zone: String { clock.name }

    /// - Parameters:
    ///   - line: A cron line, as recorded in the state.
    ///   - zone: The name of its time zone. The result is nil if either value can't be parsed.
    package init?(line: String, zone: String) {
        guard let clock = ZoneClock(zone) else { return nil }
        do throws(CronError) { cron = try CronSchedule(line) } catch { return nil }
        self.line = line
        self.clock = clock
        position = .start
    }

    /// Nil if the file has no `every` or, with errors, an invalid one.
    init?(_ object: SourceObject, _ kind: RuleFileKind) {
        let errors = object.errors
        let clock = Self.clock(object)
        guard let node = object.node("every") else {
            if let zone = object.node("time_zone") {
                errors.report(
                    at: zone.position,
                    "'time_zone' is for 'every', which is missing; add every: \"0 3 * * *\"")
            }
            return nil
        }
        guard kind == .rules else {
            errors.report(
                at: node.position,
                "'every' has no meaning in a mapping, whose rules run once for each imported "
                    + "document; remove it")
            return nil
        }
        guard case .string(let line) = node.content else {
            errors.reportKind(of: node, "'every' must be a cron line", remedy: "write every: \"0 3 * * *\"")
            return nil
        }
        do throws(CronError) { cron = try CronSchedule(line) } catch {
            errors.report(at: node.position, "'every': \(DisplayText.plain(error.message, limit: 400))")
            return nil
        }
        guard let clock else { return nil }
        self.line = line
        self.clock = clock
        position = node.position
    }

    /// UTC if there is no `time_zone`. Nil, with an error, if the zone is unknown.
    private static func clock(_ object: SourceObject) -> ZoneClock? {
        guard object.node("time_zone") != nil else { return ZoneClock("UTC") }
        guard let name = object.optionalText("time_zone"), let node = object.node("time_zone") else { return nil }
        if let clock = ZoneClock(name) { return clock }
        let guess = NearestName.of(name, among: ZoneClock.names).map { ": did you mean '\($0)'? Write" } ?? "; write"
        object.errors.report(
            at: node.position,
            "'\(DisplayText.plain(name))' is not the name of a time zone\(guess) a name such as Europe/Berlin or UTC"
        )
        return nil
    }

    /// The first scheduled time after another. Nil if there is none.
    ///
    /// - Parameter seconds: Since 1970.
    package func next(after seconds: Int) -> Int? { cron.next(after: seconds, on: clock) }
}

/// Rules that run over all documents at the same times.
package struct ScheduledRules: Sendable {
    /// The schedule of the rules.
    package let schedule: RuleSchedule
    /// The names of the rules, in order.
    package let names: [String]

    package init(schedule: RuleSchedule, names: [String]) { (self.schedule, self.names) = (schedule, names) }
}

extension RuleFileSet {
    /// The rules of files with `every`, grouped by cron line and time zone.
    package var scheduled: [ScheduledRules] {
        var found: [ScheduledRules] = []
        for file in files where !file.rules.isEmpty {
            guard let schedule = file.schedule else { continue }
            let names = file.rules.map(\.name)
            if let place = found.firstIndex(where: {
                $0.schedule.line == schedule.line && $0.schedule.zone == schedule.zone
            }) {
                found[place] = ScheduledRules(schedule: schedule, names: found[place].names + names)
            } else {
                found.append(ScheduledRules(schedule: schedule, names: names))
            }
        }
        return found
    }
}
