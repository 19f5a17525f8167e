internal import Logging
internal import Monitoring
internal import Pipeline
internal import Rules
internal import ServiceLifecycle

/// Runs the bots of a process, each by itself, and reads rules and configuration anew when asked.
///
/// Returns when all bots have ended.
struct BotGroup: Service {
    private let plan: RunPlan
    private let readAnew: @Sendable () throws -> RunPlan

    init(_ plan: RunPlan, readAnew: @escaping @Sendable () throws -> RunPlan) {
        self.plan = plan
        self.readAnew = readAnew
    }

    private enum Event: Sendable {
        case ended(String, CommandError?)
        case reload
        /// Nobody asks for a reload any more.
        case listenerEnded
    }

    /// A bot that runs.
    private struct Running {
        let plan: BotPlan
        let rules: RuleSource
        let group: ServiceGroup
        /// Its next plan, once it has ended; nil: it is not started again.
        var next: BotPlan?
    }

    /// - Throws: ``CommandError`` of the first bot that failed.
    func run() async throws {
        var bots: [String: Running] = [:]
        var failures: [(name: String, error: CommandError)] = []
        var plan = plan
        try await withThrowingTaskGroup(of: Event.self) { tasks in
            func start(_ bot: BotPlan) {
                let rules = RuleSource(bot.rules)
                let group = StoppableService.part(BotService(plan: bot, rules: rules), logger: plan.logger)
                bots[bot.name] = Running(plan: bot, rules: rules, group: group)
                tasks.addTask {
                    do { try await group.run() } catch { return .ended(bot.name, CommandError(error)) }
                    return .ended(bot.name, nil)
                }
            }
            for bot in plan.bots { start(bot) }
            let reloads = ReloadRequests(files: plan.files)
            if !plan.isOneShot { listen(for: reloads, &tasks) }
            defer { tasks.cancelAll() }
            while !bots.isEmpty, let event = try await tasks.next() {
                switch event {
                case .ended(let name, let failure):
                    let ended = bots.removeValue(forKey: name)
                    if let failure { failures.append((name, failure)) }
                    if let next = ended?.next, !Task.isShuttingDownGracefully {
                        start(next)
                    } else if let failure, plan.bots.count > 1 {
                        report(failure, of: name, plan.logger)
                        if plan.onBotFailure == .stop {
                            for bot in bots.values { await bot.group.triggerGracefulShutdown() }
                        }
                    }
                case .reload:
                    if let next = read(plan) {
                        var changes = await replace(&bots, by: next)
                        plan = next
                        for bot in next.bots where bots[bot.name] == nil {
                            start(bot)
                            changes.append("\(bot.name) starts")
                        }
                        plan.logger.notice(
                            "rules and configuration were read anew",
                            metadata: [
                                "changed": "\(changes.isEmpty ? "nothing" : changes.sorted().joined(separator: ", "))"
                            ])
                    }
                    reloads.watch(plan.files)
                    tasks.addTask { await reloads.next() ? .reload : .listenerEnded }
                case .listenerEnded: break
                }
            }
        }
        guard let (name, failure) = failures.first else { return }
        guard plan.bots.count > 1 else { throw failure }
        let names = failures.map(\.name).joined(separator: ", ")
        throw CommandError(failure.code, "failed: \(names); the first, \(name): \(failure)")
    }

    private func listen(for reloads: ReloadRequests, _ tasks: inout ThrowingTaskGroup<Event, any Error>) {
        tasks.addTask {
            await reloads.listenForSignals()
            return .listenerEnded
        }
        if plan.watchesFiles {
            tasks.addTask {
                await reloads.watchFiles()
                return .listenerEnded
            }
        }
        tasks.addTask { await reloads.next() ? .reload : .listenerEnded }
    }

    private func report(_ failure: CommandError, of name: String, _ logger: Logger) {
        logger.error(
            "a bot has ended",
            metadata: ["bot": "\(name)", "reason": "\(failure)", "exit": "\(failure.code.rawValue)"])
    }

    /// Reads rules and configuration anew; nil if something is wrong with them, and the old ones stay.
    private func read(_ plan: RunPlan) -> RunPlan? {
        do {
            let next = try readAnew()
            plan.process.noteReload(failure: nil)
            if next.processSettings != plan.processSettings {
                plan.logger.warning(
                    "settings of the whole process have changed; they need a new start of the process")
            }
            return next
        } catch {
            let failure = CommandError(error)
            plan.process.noteReload(failure: failure.description)
            for message in failure.messages {
                plan.logger.error(
                    "rules and configuration were read anew, and are not valid: the old ones stay in force",
                    metadata: ["reason": "\(message)"])
            }
            return nil
        }
    }

    /// Gives running bots their new rules, and stops those that must start anew or are gone.
    ///
    /// - Returns: What happens to which, for the log.
    private func replace(_ bots: inout [String: Running], by plan: RunPlan) async -> [String] {
        var changed: [String] = []
        for (name, bot) in bots {
            guard let next = plan.bots.first(where: { $0.name == name }) else {
                changed.append("\(name) stops")
                self.plan.process.hide(name)
                bots[name]?.next = nil
                await bot.group.triggerGracefulShutdown()
                continue
            }
            if next.signature != bot.plan.signature {
                changed.append("\(name) starts anew")
                bots[name]?.next = next
                await bot.group.triggerGracefulShutdown()
            } else if next.rules.ruleSet.hash != bot.rules.current.ruleSet.hash {
                changed.append("\(name) has new rules")
                bot.rules.replace(by: next.rules)
            }
        }
        return changed
    }
}

/// One bot of the process, from its first contact to its summary.
private struct BotService: Service {
    let plan: BotPlan
    let rules: RuleSource

    func run() async throws {
        try await plan.job.run { parts in
            ReloadingBot(parts: parts, rules: rules, settings: plan.settings, fixState: plan.fixState)
        }
    }
}
