internal import Locking
internal import Logging
internal import Monitoring
internal import Pipeline
internal import Rules
internal import ServiceLifecycle

/// Runs the bots of a process, each by itself, and reads rules and configuration anew when asked.
///
/// Returns when all bots have ended.
struct BotGroup: Service {
    private let process: ProcessPlan
    /// Until they are started: what is kept here would keep old rules, and their jq programs, alive.
    private let first: Locked<RunPlan?>
    private let readAnew: @Sendable () throws -> RunPlan

    init(_ plan: RunPlan, readAnew: @escaping @Sendable () throws -> RunPlan) {
        process = plan.process
        first = Locked(plan)
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
        let signature: [String: [String]]
        let rules: RuleSource
        let group: ServiceGroup
        var isStopping = false
        /// Its next plan, once it has ended; nil: it is not started again.
        var next: BotPlan?

        mutating func stop(next: BotPlan?) async {
            (isStopping, self.next) = (true, next)
            await group.triggerGracefulShutdown()
        }
    }

    /// - Throws: ``CommandError`` of the first bot that failed.
    func run() async throws {
        guard
            let plan = first.withLock({ plan in
                defer { plan = nil }
                return plan
            })
        else { return }
        let failures = try await run(plan.bots, files: plan.files)
        guard let (name, failure) = failures.first else { return }
        guard process.hasSeveralBots else { throw failure }
        let names = failures.map(\.name).joined(separator: ", ")
        throw CommandError(failure.code, "failed: \(names); the first, \(name): \(failure)")
    }

    private func run(
        _ first: [BotPlan], files: [String]
    ) async throws -> [(name: String, error: CommandError)] {
        var bots: [String: Running] = [:]
        var failures: [(name: String, error: CommandError)] = []
        try await withThrowingTaskGroup(of: Event.self) { tasks in
            func start(_ bot: BotPlan) {
                failures.removeAll { $0.name == bot.name }
                let rules = RuleSource(bot.rules)
                let service = BotService(job: bot.job, rules: rules, settings: bot.settings, fixState: bot.fixState)
                let group = StoppableService.part(service, logger: process.logger)
                bots[bot.name] = Running(signature: bot.signature, rules: rules, group: group)
                tasks.addTask { [name = bot.name] in
                    do { try await group.run() } catch { return .ended(name, CommandError(error)) }
                    return .ended(name, nil)
                }
            }
            for bot in first { start(bot) }
            let reloads = ReloadRequests(files: files)
            if !process.isOneShot { listen(for: reloads, &tasks) }
            defer { tasks.cancelAll() }
            while !bots.isEmpty, let event = try await tasks.next() {
                switch event {
                case .ended(let name, let failure):
                    let ended = bots.removeValue(forKey: name)
                    if let failure { failures.append((name, failure)) }
                    if let next = ended?.next, !Task.isShuttingDownGracefully {
                        start(next)
                    } else if let failure, process.hasSeveralBots {
                        report(failure, of: name)
                        if process.onBotFailure == .stop { for name in bots.keys { await bots[name]?.stop(next: nil) } }
                    }
                case .reload:
                    if let plan = read() {
                        var changes = await replace(&bots, by: plan.bots)
                        for bot in plan.bots where bots[bot.name] == nil {
                            start(bot)
                            changes.append("\(bot.name) starts")
                        }
                        reloads.watch(plan.files)
                        process.logger.notice(
                            "rules and configuration were read anew",
                            metadata: [
                                "changed": "\(changes.isEmpty ? "nothing" : changes.sorted().joined(separator: ", "))"
                            ])
                    }
                    tasks.addTask { await reloads.next() ? .reload : .listenerEnded }
                case .listenerEnded: break
                }
            }
        }
        return failures
    }

    private func listen(for reloads: ReloadRequests, _ tasks: inout ThrowingTaskGroup<Event, any Error>) {
        tasks.addTask {
            await reloads.listenForSignals()
            return .listenerEnded
        }
        if process.watchesFiles {
            tasks.addTask {
                await reloads.watchFiles()
                return .listenerEnded
            }
        }
        tasks.addTask { await reloads.next() ? .reload : .listenerEnded }
    }

    private func report(_ failure: CommandError, of name: String) {
        process.logger.error(
            "a bot has ended",
            metadata: ["bot": "\(name)", "reason": "\(failure)", "exit": "\(failure.code.rawValue)"])
    }

    /// Reads rules and configuration anew; nil if something is wrong with them, and the old ones stay.
    private func read() -> RunPlan? {
        do {
            let plan = try readAnew()
            process.monitored.noteReload(failure: nil)
            if plan.process.settings != process.settings {
                process.logger.warning(
                    "settings of the whole process have changed; they need a new start of the process")
            }
            return plan
        } catch {
            let failure = CommandError(error)
            process.monitored.noteReload(failure: failure.description)
            for message in failure.messages {
                process.logger.error(
                    "rules and configuration were read anew, and are not valid: the old ones stay in force",
                    metadata: ["reason": "\(message)"])
            }
            return nil
        }
    }

    /// Gives running bots their new rules, and stops those that must start anew or are gone.
    ///
    /// - Returns: What happens to which, for the log.
    private func replace(_ bots: inout [String: Running], by plans: [BotPlan]) async -> [String] {
        var changes: [String] = []
        for (name, bot) in bots {
            let next = plans.first { $0.name == name }
            switch next {
            case nil:
                changes.append("\(name) stops")
                process.monitored.hide(name)
                await bots[name]?.stop(next: nil)
            case let next? where bot.isStopping || next.signature != bot.signature:
                changes.append("\(name) starts anew")
                await bots[name]?.stop(next: next)
            case let next? where next.rules.ruleSet.hash != bot.rules.current.ruleSet.hash:
                changes.append("\(name) has new rules")
                bot.rules.replace(by: next.rules)
            case _?: break
            }
        }
        return changes
    }
}

/// One bot of the process, from its first contact to its summary.
private struct BotService: Service {
    let job: Job
    let rules: RuleSource
    let settings: BotSettings
    let fixState: StateLocation?

    func run() async throws {
        try await job.run { parts in
            ReloadingBot(parts: parts, rules: rules, settings: settings, fixState: fixState)
        }
    }
}
