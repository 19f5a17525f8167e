internal import DocumentFlow
internal import Locking
internal import Logging
internal import Monitoring
internal import ServiceLifecycle

/// Runs the bots of a process independently, and reloads rules and configuration on request.
///
/// Returns when all bots have ended. ``BotTable`` decides which bots start, stop and get new rules.
struct BotGroup: Sendable {
    /// The options, which name the files that a reload reads again.
    private let command: RunCommand
    private let process: ProcessPlan
    /// The first plan; nil once its bots are started, because it would keep old rules and their jq programs alive.
    private let first: Locked<RunPlan?>
    private let reloads: ReloadRequests

    /// - Parameter reloads: Has watched the files since before they were read.
    init(_ command: RunCommand, _ plan: RunPlan, _ reloads: ReloadRequests) {
        (self.command, process, first, self.reloads) = (command, plan.process, Locked(plan), reloads)
    }

    private enum Event: Sendable {
        case ended(String, CommandError?)
        case reload
        /// No reload can be requested any more.
        case listenerEnded
    }

    /// A running bot.
    private struct Running {
        let host: BotHost
        let group: ServiceGroup
    }

    /// The current state of all bots.
    private struct GroupState {
        var table: BotTable
        /// The plans from the latest configuration.
        var plans: [BotPlan]
        var running: [String: Running] = [:]
        var failures: [String: CommandError] = [:]
    }

    /// - Throws: ``CommandError`` of the first bot that failed.
    func run() async throws {
        try await withGracefulShutdownHandler {
            try await runBots()
        } onGracefulShutdown: { [process] in
            process.notifier?.noteStopping(within: process.grace)
        }
    }

    private func runBots() async throws {
        let plan = first.withLock { plan in
            defer { plan = nil }
            return plan
        }
        guard let plan else { return }
        reloads.watch(plan.files)
        process.notifier?.expect(plan.bots.map(\.name))
        let state = try await run(
            GroupState(table: BotTable(plan.bots.map(\.entry), policy: process.onBotFailure), plans: plan.bots))
        guard let name = state.table.failed.first, let failure = state.failures[name] else { return }
        guard state.table.hasSeveral else { throw failure }
        let names = state.table.failed.joined(separator: ", ")
        throw CommandError(failure.code, "failed: \(names); the first, \(name): \(failure)")
    }

    private func run(_ state: GroupState) async throws -> GroupState {
        try await withThrowingTaskGroup(of: Event.self) { tasks in
            var state = state
            await carryOut(state.table.begin(), &state, &tasks)
            if !process.isOneShot { listen(&tasks) }
            defer { tasks.cancelAll() }
            while !state.table.isDone, let event = try await tasks.next() {
                switch event {
                case .ended(let name, let failure):
                    state.running[name] = nil
                    state.failures[name] = failure
                    let actions = state.table.ended(
                        name, failed: failure != nil, isShuttingDown: Task.isShuttingDownGracefully)
                    await carryOut(actions, &state, &tasks)
                    if !state.table.isDone { process.notifier?.noteStarted(name, of: process.monitored) }
                case .reload:
                    process.notifier?.noteReloading()
                    let isValid = await reload(&state, &tasks)
                    process.notifier?.noteReloaded(isValid: isValid, of: process.monitored)
                    tasks.addTask { await reloads.next() ? .reload : .listenerEnded }
                case .listenerEnded: break
                }
            }
            return state
        }
    }

    private func carryOut(
        _ actions: [BotTable.Action], _ state: inout GroupState, _ tasks: inout ThrowingTaskGroup<Event, any Error>
    ) async {
        for action in actions {
            switch action {
            case .start(let name):
                guard let plan = state.plans.first(where: { $0.name == name }) else { continue }
                state.running[name] = start(plan, &tasks)
            case .stop(let name): await state.running[name]?.group.triggerGracefulShutdown()
            case .replaceRules(let name):
                guard let plan = state.plans.first(where: { $0.name == name }) else { continue }
                state.running[name]?.host.replaceRules(by: plan.rules)
            case .hide(let name): process.monitored.hide(name)
            case .report(let name):
                guard let failure = state.failures[name] else { continue }
                process.logger.error(
                    "a bot has ended",
                    metadata: ["bot": "\(name)", LogKey.reason: "\(failure)", "exit": "\(failure.code.rawValue)"])
            }
        }
    }

    private func start(_ plan: BotPlan, _ tasks: inout ThrowingTaskGroup<Event, any Error>) -> Running {
        let host = BotHost(plan)
        let group = StoppableService.part(logger: process.logger) { try await host.run() }
        tasks.addTask { [name = plan.name] in
            do { try await group.run() } catch { return .ended(name, CommandError(error)) }
            return .ended(name, nil)
        }
        return Running(host: host, group: group)
    }

    // MARK: - Reloads

    private func listen(_ tasks: inout ThrowingTaskGroup<Event, any Error>) {
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

    /// Reloads rules and configuration. If anything in them is invalid, the old ones stay in force.
    ///
    /// - Returns: Whether they are valid.
    private func reload(_ state: inout GroupState, _ tasks: inout ThrowingTaskGroup<Event, any Error>) async -> Bool {
        // Watch files that are newly named before reading them.
        reloads.watch(RunPlan.namedFiles(command), keepingOthers: true)
        let plan: RunPlan
        do {
            plan = try RunPlan(command, try command.config.file(Environment()), continuing: process)
        } catch {
            let failure = CommandError(error)
            process.monitored.noteReload(failure: failure.description)
            for message in failure.messages {
                process.logger.error(
                    "the reload failed: rules or configuration are not valid; the old ones stay in force",
                    metadata: [LogKey.reason: "\(message)"])
            }
            return false
        }
        reloads.watch(plan.files)
        process.monitored.noteReload(failure: nil)
        if !plan.changedProcessKeys.isEmpty {
            process.logger.warning(
                "settings of the whole process have changed; restart the process to apply them",
                metadata: ["settings": "\(plan.changedProcessKeys.joined(separator: ", "))"])
        }
        let removed = Set(state.plans.map(\.name)).subtracting(plan.bots.map(\.name))
        state.plans = plan.bots
        let actions = state.table.reload(
            plan.bots.map(\.entry), isShuttingDown: Task.isShuttingDownGracefully)
        let changes =
            removed.sorted().map { "\($0) is removed" }
            + actions.compactMap { $0.description(unlessRemoved: removed) }
        process.logger.notice(
            "reloaded rules and configuration",
            metadata: ["changed": "\(changes.isEmpty ? "nothing" : changes.joined(separator: ", "))"])
        await carryOut(actions, &state, &tasks)
        return true
    }
}

extension BotTable.Action {
    /// The action for the log; nil if it is not logged.
    ///
    /// - Parameter removed: The names of the bots that are no longer configured, which the log names anyway.
    fileprivate func description(unlessRemoved removed: Set<String>) -> String? {
        switch self {
        case .stop(let name) where removed.contains(name): nil
        case .start(let name): "\(name) starts"
        case .stop(let name): "\(name) stops"
        case .replaceRules(let name): "\(name) has new rules"
        case .hide, .report: nil
        }
    }
}

extension BotPlan {
    fileprivate var entry: BotTable.Bot {
        BotTable.Bot(name: name, signature: signature, rulesHash: rules.fingerprint, file: embeddedFile)
    }
}
