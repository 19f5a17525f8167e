internal import DocumentFlow
internal import Locking
internal import Logging
internal import Monitoring
internal import ServiceLifecycle

/// Runs the bots of a process, each by itself, and reloads rules and configuration when asked.
///
/// Returns when all bots have ended. ``BotTable`` decides what happens to which.
struct BotGroup: Sendable {
    /// Names what is read again at a reload.
    private let command: RunCommand
    private let process: ProcessPlan
    /// Until they are started: what is kept here would keep old rules, and their jq programs, alive.
    private let first: Locked<RunPlan?>
    private let reloads: ReloadRequests

    /// - Parameter reloads: Watches the files since before they were read.
    init(_ command: RunCommand, _ plan: RunPlan, _ reloads: ReloadRequests) {
        (self.command, process, first, self.reloads) = (command, plan.process, Locked(plan), reloads)
    }

    private enum Event: Sendable {
        case ended(String, CommandError?)
        case reload
        /// No reload can be requested any more.
        case listenerEnded
    }

    /// A bot that runs.
    private struct Running {
        let host: BotHost
        let group: ServiceGroup
    }

    /// What has happened so far.
    private struct Course {
        var table: BotTable
        /// The plans of the bots as configured last, until they are started.
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
        let course = try await run(
            Course(table: BotTable(plan.bots.map(\.entry), policy: process.onBotFailure), plans: plan.bots))
        guard let name = course.table.failed.first, let failure = course.failures[name] else { return }
        guard course.table.hasSeveral else { throw failure }
        let names = course.table.failed.joined(separator: ", ")
        throw CommandError(failure.code, "failed: \(names); the first, \(name): \(failure)")
    }

    private func run(_ course: Course) async throws -> Course {
        try await withThrowingTaskGroup(of: Event.self) { tasks in
            var course = course
            await carryOut(course.table.begin(), &course, &tasks)
            if !process.isOneShot { listen(&tasks) }
            defer { tasks.cancelAll() }
            while !course.table.isDone, let event = try await tasks.next() {
                switch event {
                case .ended(let name, let failure):
                    course.running[name] = nil
                    course.failures[name] = failure
                    let actions = course.table.ended(
                        name, failed: failure != nil, isShuttingDown: Task.isShuttingDownGracefully)
                    await carryOut(actions, &course, &tasks)
                    if !course.table.isDone { process.notifier?.noteStarted(name, of: process.monitored) }
                case .reload:
                    process.notifier?.noteReloading()
                    let isValid = await reload(&course, &tasks)
                    process.notifier?.noteReloaded(isValid: isValid, of: process.monitored)
                    tasks.addTask { await reloads.next() ? .reload : .listenerEnded }
                case .listenerEnded: break
                }
            }
            return course
        }
    }

    private func carryOut(
        _ actions: [BotTable.Action], _ course: inout Course, _ tasks: inout ThrowingTaskGroup<Event, any Error>
    ) async {
        for action in actions {
            switch action {
            case .start(let name):
                guard let plan = course.plans.first(where: { $0.name == name }) else { continue }
                course.running[name] = start(plan, &tasks)
            case .stop(let name): await course.running[name]?.group.triggerGracefulShutdown()
            case .replaceRules(let name):
                guard let plan = course.plans.first(where: { $0.name == name }) else { continue }
                course.running[name]?.host.replaceRules(by: plan.rules)
            case .hide(let name): process.monitored.hide(name)
            case .report(let name):
                guard let failure = course.failures[name] else { continue }
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

    /// Reloads rules and configuration. If something is wrong with them, the old ones stay.
    ///
    /// - Returns: Whether they are valid.
    private func reload(_ course: inout Course, _ tasks: inout ThrowingTaskGroup<Event, any Error>) async -> Bool {
        // A file that is new there is watched since before it is read.
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
        course.plans = plan.bots
        let actions = course.table.reload(
            plan.bots.map(\.entry), isShuttingDown: Task.isShuttingDownGracefully)
        let changes = actions.compactMap(\.description)
        process.logger.notice(
            "reloaded rules and configuration",
            metadata: ["changed": "\(changes.isEmpty ? "nothing" : changes.joined(separator: ", "))"])
        await carryOut(actions, &course, &tasks)
        return true
    }
}

extension BotTable.Action {
    /// For the log; nil if there is nothing to say.
    fileprivate var description: String? {
        switch self {
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
